package walk_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/plannertest"
	"github.com/kairosd/kairosd/planner/walk"
)

// stage drives a walk manually.
type stage struct {
	t    *testing.T
	p    *walk.Program
	w    *walk.Walk
	rows []row
}

func onStage(t *testing.T, src string) *stage {
	t.Helper()
	d, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	if d == nil {
		t.Fatal(problems)
	}
	p, err := d.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, p: p, w: walk.New(p, walk.Facts{Input: plannertest.Input()})}
}

// end settles the open visit of a node, or an item of it.
func (s *stage) end(node string, item int, status walk.Status, output any) walk.Decision {
	s.t.Helper()
	for _, k := range s.w.Open() {
		if s.p.Nodes[k.Node].ID != node {
			continue
		}
		settlement := walk.Settlement{VisitKey: k, Item: item, Status: status, Output: output}
		if status == walk.Failed {
			settlement.Failure = &walk.Failure{Code: "broke", Message: node + " broke"}
		}
		d, err := s.w.Settle(settlement)
		if err != nil {
			s.t.Fatal(err)
		}
		s.rows = append(s.rows, row{settled: settlement, decision: d})
		return d
	}
	s.t.Fatalf("%s is not open; open: %s", node, s.open())
	return walk.Decision{}
}

func (s *stage) open() string {
	var names []string
	for _, k := range s.w.Open() {
		names = append(names, s.p.Nodes[k.Node].ID)
	}
	return strings.Join(names, " ")
}

func (s *stage) wantOpen(want string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.open()); diff != "" {
		s.t.Fatalf("open (-want +got): %s", diff)
	}
}

func (s *stage) reset() walk.Reset {
	s.t.Helper()
	r, failure := s.w.Reset()
	if failure != nil {
		s.t.Fatal(failure)
	}
	return r
}

// replayed returns the same walk, rebuilt from its record.
func (s *stage) replayed() *walk.Walk {
	s.t.Helper()
	w := walk.New(s.p, walk.Facts{Input: plannertest.Input()})
	for _, r := range s.rows {
		if err := w.Replay(copied(r.settled), r.decision); err != nil {
			s.t.Fatal(err)
		}
	}
	return w
}

// One decision may take an edge, or end a token, and also fail the run by a `when:` of a later
// node. Replay accepts the record.
func TestReplayOfAFailedWhen(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
nodes:
  a: {type: work}
  b: {type: work, needs: [a], when: "expr: last.gone > 1"}
  c: {type: work, needs: [a], when: "expr: last.gone > 2"}`)
	d := s.end("a", -1, walk.Completed, map[string]any{})
	if d.Failure == nil || d.Failure.Node != "b" {
		t.Fatalf("the first broken condition is not the failure: %+v", d)
	}
	for _, w := range []*walk.Walk{s.w, s.replayed()} {
		if out := w.Outcome(); out.Status != walk.Failed || out.Failure.Node != "b" {
			t.Fatalf("%+v", out)
		}
		if _, failure := w.Reset(); failure == nil || failure.Code != walk.CodeNotResumable {
			t.Fatalf("a broken condition on kept nodes cannot be resumed, got %v", failure)
		}
	}
}

// A token that ends at max_visits leaves nothing pending after it.
func TestTooManyVisitsLeaveNothingPending(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
start: a
nodes:
  a: {type: work}
  b: {type: work}
  after: {type: work}
  clean: {type: work, needs: [after], when: always}
edges:
  - {from: a, to: b}
  - {from: b, to: a, condition: "last.n==1"}
  - {from: b, to: after}`)
	s.end("a", -1, walk.Completed, nil)
	s.end("b", -1, walk.Completed, map[string]any{"n": "1"})
	s.wantOpen("clean")
}

// P41: a node that needs an unreachable node is decided at once.
func TestNeedsOfUnreachableNodes(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
start: a
nodes:
  a: {type: work}
  lost: {type: work}
  joined: {type: work, needs: [a, lost]}
  clean: {type: work, needs: [lost], when: always}`)
	s.wantOpen("a clean")
	s.end("a", -1, walk.Completed, nil)
	s.end("clean", -1, walk.Completed, "x")
	if status, _ := s.w.Status(s.p.Index["joined"]); status != walk.Skipped {
		t.Fatalf("joined is %q, want skipped", status)
	}
	if out := s.w.Outcome(); !out.Done || out.Status != walk.Completed {
		t.Fatalf("%+v", out)
	}
}

// If the node of a failed decision runs again, a resume is possible.
func TestResumeAfterAFailedDecision(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
nodes:
  a: {type: work}
  b: {type: work, needs: [a], when: always}
  c: {type: work}
edges: [{from: b, to: c, condition: "expr: last.gone > 1"}]`)
	s.end("a", -1, walk.Failed, nil)
	s.end("b", -1, walk.Completed, map[string]any{})
	s.reset()
	s.wantOpen("a")
}

// A resume keeps completed nodes that do not depend on the failure, even if the same token failed
// later.
func TestResumeKeepsEarlierDecisions(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
nodes:
  a: {type: work}
  other: {type: work}
  on: {type: work}
  report: {type: work, needs: [other], when: always}
edges: [{from: a, to: on}, {from: a, to: other, condition: "last.n==1"}]`)
	s.end("a", -1, walk.Completed, nil) // other can no longer be reached, so report runs
	s.end("report", -1, walk.Completed, "sent")
	s.end("on", -1, walk.Failed, nil)
	r := s.reset()
	if len(r.Forgotten) > 0 {
		t.Fatalf("forgotten: %+v", r.Forgotten)
	}
	s.wantOpen("on")
}

// A visit that a resume reopens reads the same values as the first time: the output of the previous
// visit.
func TestResumeInALoopReadsThePreviousVisit(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
start: a
nodes: {a: {type: work, max_visits: 3, input: '${output.a.n ?? "none"}'}}
edges: [{from: a, to: a}]`)
	s.end("a", -1, walk.Completed, map[string]any{"n": "first"})
	before, _ := s.w.Input(s.w.Open()[0], -1)
	s.end("a", -1, walk.Failed, nil)
	s.reset()
	again, _ := s.w.Input(s.w.Open()[0], -1)
	if before != "first" || again != before {
		t.Fatalf("input was %v, after the resume %v", before, again)
	}
}

// An item fails while another one runs whose start was not recorded. The replay follows the record,
// and the visit does not hang.
func TestReplayOfAForeachThatFailedWhileItemsRan(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
nodes: {a: {type: work, foreach: "${input.list}", max_parallel: 2}}`)
	k := s.w.Open()[0]
	if n, failure := s.w.Items(k); n != 3 || failure != nil {
		t.Fatal(n, failure)
	}
	s.w.NextItem(k)
	s.w.NextItem(k)
	if d := s.end("a", 1, walk.Failed, nil); d.Visit != "" {
		t.Fatalf("the visit ended while item 0 ran: %+v", d)
	}
	s.w = s.replayed()
	s.wantOpen("a")
	if i := s.w.NextItem(k); i != 0 {
		t.Fatalf("next item %d, want 0: it ran when the record ends", i)
	}
	if i := s.w.NextItem(k); i != -1 {
		t.Fatalf("item %d starts after a failure", i)
	}
	if d := s.end("a", 0, walk.Completed, nil); d.Visit != walk.Failed {
		t.Fatalf("%+v", d)
	}
	s.w = s.replayed()
	if out := s.w.Outcome(); out.Status != walk.Failed {
		t.Fatalf("%+v", out)
	}
}

// A resume runs failed items again, except those that on_error: continue handled.
func TestResumeOfItems(t *testing.T) {
	t.Parallel()
	for on, want := range map[string]int{"fail": 0, "continue": -1} {
		s := onStage(t, `
nodes: {a: {type: work, foreach: "${input.list}", max_parallel: 3, on_error: `+on+`}}`)
		k := s.w.Open()[0]
		if _, failure := s.w.Items(k); failure != nil {
			t.Fatal(failure)
		}
		for range 3 {
			s.w.NextItem(k)
		}
		s.end("a", 0, walk.Failed, nil)
		s.end("a", 1, walk.Completed, "kept")
		s.end("a", 2, walk.Cancelled, nil)
		s.reset()
		if want >= 0 {
			if i := s.w.NextItem(k); i != want {
				t.Fatalf("%s: item %d runs again, want %d", on, i, want)
			}
		}
		if i := s.w.NextItem(k); i != 2 {
			t.Fatalf("%s: item %d runs again, want the cancelled one", on, i)
		}
	}
}

// A visit that a stopping run holds back has not started.
func TestHeldVisitsHaveNotStarted(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
nodes:
  a: {type: work}
  b: {type: work}
  c: {type: work}
  d: {type: work, needs: [c]}
edges: [{from: a, to: b}]`)
	s.end("c", -1, walk.Failed, nil)
	s.end("a", -1, walk.Completed, nil)
	if _, visits := s.w.Status(s.p.Index["b"]); visits != 0 {
		t.Fatalf("%d visits of b began", visits)
	}
	s.reset()
	s.wantOpen("b c")
}
