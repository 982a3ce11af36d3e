package runstate

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

func TestWaitsInOrderOfPrecedence(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse(
		[]byte(`{nodes: {a: {type: wait, input: {for: 1h}}, b: {type: approval, input: {message: m}}, c: {type: x, needs: [a, b]}}}`),
		planner.WithFormat(planner.FormatYAML),
	)
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := New(p, Facts{Run: "r"})
	now := time.Unix(1000, 0).UTC()
	row := func(e domain.Entry) {
		t.Helper()
		e.Seq, e.At = s.Seq+1, now
		if err := s.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	all := func(*Step) bool { return false }
	first := func() domain.WaitReason { return s.Waits()[0].Reason }
	row(domain.Entry{Kind: domain.EntryWait, Node: "a", Visit: 1, Item: -1, Attempt: 1, Reason: "timer", DueAt: now.Add(time.Hour)})
	if first() != domain.WaitTimer || !s.NextDue(all).Equal(now.Add(time.Hour)) {
		t.Errorf("got %s due %s", first(), s.NextDue(all))
	}
	row(domain.Entry{Kind: domain.EntryWait, Node: "b", Visit: 1, Item: -1, Attempt: 1, Reason: "approval", Ref: "x",
		Input: domain.RawJSON(`{"message":"m"}`)})
	if first() != domain.WaitApproval || s.Waits()[0].Message != "m" {
		t.Errorf("got %+v, want the approval first", s.Waits())
	}
	row(domain.Entry{Kind: domain.EntryAction, Item: -1, Decision: RunActionDecision{Action: RunActionBudget,
		Message: "max_steps 1 is used up"}.JSON()})
	if got := s.Waits()[0].Reason; got != domain.WaitBudget {
		t.Errorf("got %s, want budget before approval", got)
	}
	row(domain.Entry{Kind: domain.EntryAction, Item: -1, Decision: RunActionDecision{Action: RunActionPause}.JSON()})
	if first() != domain.WaitPaused || len(s.Waits()) != 4 {
		t.Errorf("got %+v, want paused first of four", s.Waits())
	}
	row(domain.Entry{Kind: domain.EntryAction, Item: -1, Decision: RunActionDecision{Action: RunActionQuarantine}.JSON()})
	if first() != domain.WaitQuarantined {
		t.Errorf("got %s, want quarantined first", first())
	}
}

// A journal that contradicts itself is rejected. The error names the row, and nothing panics.
func TestFoldRejectsInvalidRows(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse([]byte(`{nodes: {a: {type: set, input: 1}}}`), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]domain.Entry{
		"a gap":           {Seq: 2, Kind: domain.EntryIntent, Node: "a", Visit: 1, Item: -1},
		"an unknown node": {Seq: 1, Kind: domain.EntryIntent, Node: "zz", Visit: 1, Item: -1},
		"a closed visit":  {Seq: 1, Kind: domain.EntryIntent, Node: "a", Visit: 7, Item: -1},
		"an item of nothing": {Seq: 1, Kind: domain.EntryResult, Final: true, Node: "a", Visit: 1, Item: 5,
			Status: domain.NodeCompleted},
		"broken output": {Seq: 1, Kind: domain.EntryResult, Final: true, Node: "a", Visit: 1, Item: -1,
			Status: domain.NodeCompleted, Output: domain.RawJSON(`{`)},
		"broken decision": {Seq: 1, Kind: domain.EntryResult, Final: true, Node: "a", Visit: 1, Item: -1,
			Status: domain.NodeCompleted, Decision: domain.RawJSON(`[]`)},
		"an unknown kind":   {Seq: 1, Kind: "song", Node: "a", Visit: 1, Item: -1},
		"an unknown action": {Seq: 1, Kind: domain.EntryAction, Item: -1, Decision: domain.RawJSON(`{"action":"sing"}`)},
		"a broken reset":    {Seq: 1, Kind: domain.EntryReset, Item: -1, Decision: domain.RawJSON(`7`)},
		"a doubtless answer": {Seq: 1, Kind: domain.EntryResolve, Node: "a", Visit: 9, Item: -1,
			Decision: ResolveDecision{Action: "skip"}.JSON()},
	} {
		if _, err := Fold(p, Facts{Run: "r"}, []domain.Entry{e}); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%s: got %v, want a corrupt journal", name, err)
		}
	}
}

// A resume has nothing to continue for an item that was cancelled before it started. This holds for
// a replayed state and for the state of a running process.
func TestAnItemThatNeverStartedLeavesNothing(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse(
		[]byte(`{nodes: {a: {type: set, foreach: "${input}", input: "${item}"}}}`),
		planner.WithFormat(planner.FormatYAML),
	)
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Fold(p, Facts{Run: "r", Input: []any{"x"}}, []domain.Entry{
		{Seq: 1, Kind: domain.EntryAction, Item: -1, Decision: RunActionDecision{Action: RunActionCancel}.JSON()},
		{
			Seq:      2,
			Kind:     domain.EntryResult,
			Node:     "a",
			Visit:    1,
			Item:     0,
			Final:    true,
			Status:   domain.NodeCancelled,
			Decision: domain.RawJSON(`{"visit":"cancelled"}`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Carried) != 0 {
		t.Errorf("it leaves %+v", s.Carried)
	}
}
