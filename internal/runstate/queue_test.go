package runstate

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

func stateOf(t *testing.T, plan string) *State {
	t.Helper()
	doc, problems := planner.Parse([]byte(plan), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(p, Facts{Run: "r"})
}

// Steps start in the order in which they became ready. Running, waiting, and settled steps are
// skipped. A retry starts when it is due.
func TestStepsStartInOrder(t *testing.T) {
	t.Parallel()
	s := stateOf(t, `{nodes: {a: {type: x}, b: {type: x}, c: {type: x, needs: [a]}}}`)
	now := time.Unix(1000, 0).UTC()
	running := map[StepKey]*Attempt{}
	d := queue{attempts: running}
	next := func(want string) {
		t.Helper()
		got := ""
		if k := d.peek(s, now); k != nil {
			got = s.Program.Nodes[k.Node].ID
		}
		if got != want {
			t.Fatalf("next is %q, want %q", got, want)
		}
	}
	row := func(e domain.Entry) {
		t.Helper()
		e.Seq, e.At, e.Visit, e.Item, e.Attempt = s.Seq+1, now, 1, NoItem, 1
		if err := s.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	next("a")
	a := *d.peek(s, now)
	running[a] = &Attempt{}
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
	d.pop(*d.peek(s, now))
	next("")
	now = now.Add(time.Second)
	d.requeue(s)
	if len(d.list) != 2 || !d.contains(StepKey{VisitKey: walk.VisitKey{Node: s.Program.Index["b"], Visit: 1},
		Item: NoItem}) {
		t.Fatalf("queued again: %v", d.list)
	}
	next("b")
	d.pushFront(StepKey{VisitKey: walk.VisitKey{Node: s.Program.Index["c"], Visit: 1}, Item: NoItem})
	next("c")
}

// A foreach visit has at most its limit of open items. Waiting items do not count.
func TestForeachIsBoundedByItsOpenItems(t *testing.T) {
	t.Parallel()
	s := stateOf(t, `{nodes: {a: {type: x, foreach: "${input}", max_parallel: 1}}}`)
	d, now := queue{}, time.Now()
	k := d.peek(s, now)
	if k == nil || k.Item != NoItem {
		t.Fatalf("next is %v", k)
	}
	f := s.Foreach[k.VisitKey]
	f.Total, f.OpenItems = 2, 1
	if k := d.peek(s, now); k != nil {
		t.Errorf("a second item starts beside the first: %v", *k)
	}
	f.Waiting = 1
	if d.peek(s, now) == nil {
		t.Error("an item that waits keeps the next from starting")
	}
	f.BegunAll = true
	if k := d.peek(s, now); k != nil || len(d.list) != 0 {
		t.Errorf("no item is left, and the visit stays queued: %v", d.list)
	}
}
