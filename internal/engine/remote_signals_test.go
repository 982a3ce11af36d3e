package engine_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
)

// Signals end waits of runs that are executed elsewhere as those of runs here: early ones, those for all, and late ones.
func TestSignalsEndWaitsElsewhere(t *testing.T) {
	t.Parallel()
	e, _ := openElsewhere(t, enginetest.NewRegistry())
	v := e.Save(shop)
	early := sendSignal(t, e, domain.Signal{Name: "paid.1", Key: "eu"})
	first := e.Until(e.Begin(v, `{"order": 1}`).ID, domain.RunCompleted, "")
	if string(first.Output) != `{"amount":12,"event":"paid.1"}` {
		t.Errorf("output %s", first.Output)
	}
	if s, err := e.Store.Signal(t.Context(), early.ID); err != nil || len(s.Matches) != 1 || s.Matches[0].Run != first.ID {
		t.Errorf("%+v %v", s.Matches, err)
	}
	var both []string
	for range 2 {
		both = append(both, waits(e, e.Begin(v, `{"order": 2}`).ID).ID)
	}
	one := sendSignal(t, e, domain.Signal{Name: "paid.2", Key: "eu"})
	if one.Status != domain.SignalMatched || len(one.Matches) != 1 || one.Matches[0].Run != both[0] {
		t.Errorf("one of two: %s %+v", one.Status, one.Matches)
	}
	e.Until(both[0], domain.RunCompleted, "")
	if now := waits(e, both[1]); now.Status != domain.RunWaiting {
		t.Errorf("the other is %s", now.Status)
	}
	both[0] = waits(e, e.Begin(v, `{"order": 2}`).ID).ID
	if all := sendSignal(t, e, domain.Signal{Name: "paid.2", Key: "eu", All: true}); len(all.Matches) != 2 {
		t.Errorf("for all: %+v", all.Matches)
	}
	for _, id := range both {
		e.Until(id, domain.RunCompleted, "")
	}
	waiting := waits(e, e.Begin(v, `{"order": 3}`).ID)
	if _, err := e.Do(waiting.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if s := sendSignal(t, e, domain.Signal{Name: "paid.3", Key: "eu"}); s.Status != domain.SignalWaiting {
		t.Errorf("a cancelled run took it: %+v", s.Matches)
	}
}

// A signal that was matched is delivered after a restart, to the same run: whether the run has taken it before the
// restart, or not.
func TestAMatchedSignalSurvivesARestart(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		e, w := openElsewhere(t, enginetest.NewRegistry())
		v := e.Save(`{id: many, nodes: {a: {wait: {event: go}}}}`)
		older := waits(e, e.Begin(v, "").ID)
		other := waits(e, e.Begin(v, "").ID)
		tried, once := make(chan string), sync.Once{}
		w.signal = func(run string, delivered bool) error {
			if delivered == taken {
				once.Do(func() { tried <- run })
				if delivered {
					return nil
				}
			}
			if !taken {
				return errors.New("the run does not respond")
			}
			return nil
		}
		w.mu.Lock()
		w.drop = true
		w.mu.Unlock()
		s, err := storeSignal(t, e.Store, domain.Signal{Name: "go"})
		if err != nil {
			t.Fatal(err)
		}
		go e.SignalStored(t.Context(), s.Name, s.Key)
		run := <-tried
		if run != older.ID {
			t.Fatalf("run %s was first, and not %s", run, older.ID)
		}
		e = w.restart(func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.drop, w.signal = false, nil
		})
		w.mu.Lock()
		lost := w.reports
		w.mu.Unlock()
		for _, rep := range lost { // as its workflow reports until kairosd has acknowledged
			if err := engine.RecordsOf(e.Engine).Add(t.Context(), rep); err != nil {
				t.Fatal(err)
			}
		}
		e.Until(older.ID, domain.RunCompleted, "")
		if s, err = e.Store.Signal(t.Context(), s.ID); err != nil || len(s.Matches) != 1 || s.Matches[0].Run != older.ID {
			t.Errorf("taken %t: %+v %v", taken, s.Matches, err)
		}
		if now := waits(e, other.ID); now.Status != domain.RunWaiting {
			t.Errorf("taken %t: the other run is %s", taken, now.Status)
		}
	}
}

// A signal whose run has stopped waiting meanwhile goes to another wait.
func TestASignalWhoseWaitHasEndedIsMatchedAgain(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry())
	v := e.Save(`{id: many, nodes: {a: {wait: {event: go}}}}`)
	first := waits(e, e.Begin(v, "").ID)
	second := waits(e, e.Begin(v, "").ID)
	once := sync.Once{}
	w.signal = func(run string, delivered bool) error {
		once.Do(func() {
			if _, err := w.engine(run).Do(run, domain.ActionCancel); err != nil {
				t.Errorf("cancel: %v", err)
			}
		})
		return nil
	}
	s := sendSignal(t, e, domain.Signal{Name: "go"})
	e.Until(first.ID, domain.RunCancelled, "")
	e.Until(second.ID, domain.RunCompleted, "")
	if s, err := e.Store.Signal(t.Context(), s.ID); err != nil || len(s.Matches) != 1 || s.Matches[0].Run != second.ID {
		t.Errorf("%+v %v", s.Matches, err)
	}
}
