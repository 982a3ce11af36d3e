package engine

import (
	"errors"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

func testRegistry() (*registry, *[]*runner) {
	var begun []*runner
	return newRegistry(
		func(run string) *runner { return &runner{id: run, inbox: newMailbox()} },
		func(a *runner) { begun = append(begun, a) },
	), &begun
}

// A message loads a run once. The runner receives the run as it was created.
func TestRegistryRestoresRuns(t *testing.T) {
	t.Parallel()
	r, begun := testRegistry()
	if r.post("one", timerMsg{}) {
		t.Error("nothing is taken up before the engine opens")
	}
	if !r.open() || r.open() {
		t.Error("it opens once")
	}
	r.creating("one")
	if !r.keepCreated(&domain.Run{ID: "one"}, true) || !r.post("one", timerMsg{}) || !r.post("one", timerMsg{}) {
		t.Fatal("an open registry takes runs up")
	}
	if len(*begun) != 1 || (*begun)[0].created == nil || len((*begun)[0].inbox.mail) != 2 || r.count() != 1 {
		t.Fatalf("begun: %+v", *begun)
	}
	a := (*begun)[0]
	if r.evict(a) {
		t.Error("a runner with messages is not evicted")
	}
	a.inbox.take()
	if !r.evict(a) || r.get("one") != nil {
		t.Error("an idle runner is evicted")
	}
	r.postIfActive("one", timerMsg{})
	if len(*begun) != 1 {
		t.Error("tell brings no run back")
	}
	// A run whose first runner came before its row was stored is not kept.
	r.creating("two")
	r.post("two", timerMsg{})
	r.keepCreated(&domain.Run{ID: "two"}, true)
	if len(r.created) != 0 {
		t.Errorf("kept: %v", r.created)
	}
}

// A run whose runner panicked is loaded again only on a person's request.
func TestRegistryLeavesDefectiveRuns(t *testing.T) {
	t.Parallel()
	r, begun := testRegistry()
	r.open()
	r.setDefective("one")
	if !r.post("one", timerMsg{}) || r.granted(slotGrant{run: "one", token: 1}) || len(*begun) != 0 {
		t.Fatal("a timer or a slot takes it up")
	}
	refused := newReply[done]()
	r.post("one", replanAnswerMsg{reply: refused})
	if a := <-refused; !errors.Is(a.err, ErrFenced) {
		t.Errorf("got %v", a.err)
	}
	r.post("one", actionMsg{reply: newReply[done]()})
	if len(*begun) != 1 {
		t.Error("a person's action takes it up")
	}
}

func TestRegistryStops(t *testing.T) {
	t.Parallel()
	r, begun := testRegistry()
	r.open()
	r.post("one", timerMsg{})
	if list, first := r.stop(); len(list) != 1 || !first || !r.isStopping() {
		t.Errorf("stopped: %v, %v", list, first)
	}
	if _, first := r.stop(); first {
		t.Error("it stops once")
	}
	if r.post("two", timerMsg{}) || !r.granted(slotGrant{run: "two", token: 1}) || len(*begun) != 1 {
		t.Error("a run is taken up while the engine stops")
	}
	if !r.post("one", timerMsg{}) {
		t.Error("a run at work still gets messages")
	}
}

func TestWatchers(t *testing.T) {
	t.Parallel()
	var w watchers
	woken := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	first, _ := w.watch("r", false)
	rest, _ := w.watch("r", true)
	second, forget := w.watch("r", false)
	forget()
	w.changed("r", domain.RunRunning)
	if !woken(first) {
		t.Error("a change wakes those who wait")
	}
	if woken(rest) {
		t.Error("a run that works wakes those who wait for it to be at rest")
	}
	if woken(second) {
		t.Error("a watch that ended is woken")
	}
	if w.changed("r", domain.RunWaiting); !woken(rest) {
		t.Error("a run that waits is at rest")
	}
	forget() // after the change, there is nothing to forget
	if len(w.byRun) != 0 {
		t.Errorf("left: %v", w.byRun)
	}
}
