package engine

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

func stateOf(t *testing.T, plan string) *runstate.State {
	t.Helper()
	doc, problems := planner.Parse([]byte(plan), planner.FormatYAML)
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	return runstate.New(p, runstate.Facts{Run: "r"})
}

// Steps start in the order of becoming ready. One that runs, waits, or has settled is
// passed over, and a retry starts when it is due.
func TestStepsStartInOrder(t *testing.T) {
	t.Parallel()
	s := stateOf(t, `{nodes: {a: {type: x}, b: {type: x}, c: {type: x, needs: [a]}}}`)
	now := time.Unix(1000, 0).UTC()
	running := map[runstate.StepKey]bool{}
	d := dispatcher{underWay: func(k runstate.StepKey) bool { return running[k] }, now: func() time.Time { return now }}
	next := func(want string) {
		t.Helper()
		got := ""
		if k := d.peek(s); k != nil {
			got = s.Program.Nodes[k.Node].ID
		}
		if got != want {
			t.Fatalf("next is %q, want %q", got, want)
		}
	}
	row := func(e domain.Entry) {
		t.Helper()
		e.Seq, e.At, e.Visit, e.Item, e.Attempt = s.Seq+1, now, 1, runstate.NoItem, 1
		if err := s.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	next("a")
	a := *d.peek(s)
	running[a] = true
	next("b")
	delete(running, a)
	next("a")
	d.pop(a)
	next("b")
	row(domain.Entry{Kind: domain.EntryResult, Node: "a", Final: true, Status: domain.NodeCompleted, Output: domain.RawJSON("1")})
	row(domain.Entry{Kind: domain.EntryResult, Node: "b", Status: domain.NodeFailed})
	row(domain.Entry{Kind: domain.EntryWait, Node: "b", Status: domain.NodeWaiting, Reason: string(domain.WaitRetry),
		DueAt: now.Add(time.Second)})
	next("c") // b waits for its retry; its timer queues it again
	d.pop(*d.peek(s))
	next("")
	now = now.Add(time.Second)
	d.requeue(s)
	if len(d.queue) != 2 || !d.contains(runstate.StepKey{VisitKey: walk.VisitKey{Node: s.Program.Index["b"], Visit: 1},
		Item: runstate.NoItem}) {
		t.Fatalf("queued again: %v", d.queue)
	}
	next("b")
	d.pushFront(runstate.StepKey{VisitKey: walk.VisitKey{Node: s.Program.Index["c"], Visit: 1}, Item: runstate.NoItem})
	next("c")
}

// Of a foreach visit no more items are open at once than it allows; items that wait do not
// count.
func TestForeachIsBoundedByItsOpenItems(t *testing.T) {
	t.Parallel()
	s := stateOf(t, `{nodes: {a: {type: x, foreach: "${input}", max_parallel: 1}}}`)
	d := dispatcher{underWay: func(runstate.StepKey) bool { return false }, now: time.Now}
	k := d.peek(s)
	if k == nil || k.Item != runstate.NoItem {
		t.Fatalf("next is %v", k)
	}
	f := s.Foreach[k.VisitKey]
	f.Total, f.OpenItems = 2, 1
	if k := d.peek(s); k != nil {
		t.Errorf("a second item starts beside the first: %v", *k)
	}
	f.Parked = 1
	if d.peek(s) == nil {
		t.Error("an item that waits keeps the next from starting")
	}
	f.BegunAll = true
	if k := d.peek(s); k != nil || len(d.queue) != 0 {
		t.Errorf("no item is left, and the visit stays queued: %v", d.queue)
	}
}

// A run holds one slot, by its token, and keeps unused node slots until it gives them
// back.
func TestSlots(t *testing.T) {
	t.Parallel()
	told := 0
	var grants []slotGrant
	sched := newScheduler(1, 1, func(g slotGrant) { grants = append(grants, g) })
	one := slots{sched: sched, run: "one", granted: func() bool { told++; return true }}
	two := slots{sched: sched, run: "two", granted: func() bool { told++; return true }}
	if !one.take(&domain.Run{ID: "one"}) || two.take(&domain.Run{ID: "two"}) || !two.queued {
		t.Fatal("there is one slot")
	}
	if !one.takeNode(0, time.Time{}) || two.takeNode(0, time.Time{}) || two.takeNode(0, time.Time{}) || !two.nodeQueued {
		t.Fatal("there is one node slot")
	}
	one.returnNode()
	if told != 0 || !one.takeNode(0, time.Time{}) {
		t.Fatal("a node slot that was kept is used again")
	}
	one.returnNode()
	one.releaseNodes()
	two.acceptNode()
	if told != 1 || two.nodes != 1 || two.nodeQueued {
		t.Fatalf("told %d times; %+v", told, two)
	}
	one.yield()
	if len(grants) != 1 || !two.accept(grants[0].token) || two.accept(grants[0].token+1) {
		t.Fatalf("granted %+v", grants)
	}
	if two.take(&domain.Run{ID: "two"}); two.token != grants[0].token {
		t.Error("a run that holds a slot takes another")
	}
	two.yield()
	if two.accept(grants[0].token) {
		t.Error("a slot that was given back is accepted")
	}
}
