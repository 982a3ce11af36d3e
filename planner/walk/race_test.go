package walk_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner/walk"
)

const raceAfterAFailure = `
on_failure: continue_branches
nodes:
  n: {type: work}
  a: {type: work, needs: [n], when: always}
  b: {type: work}
  c: {type: work}
  first: {type: work, race: [a, b, c]}
  then: {type: work, needs: [first]}`

// If a resume runs the winner of a race again, a step that completed after the winner wins. The steps that were
// cancelled stay so.
func TestALateStepWinsAfterAReset(t *testing.T) {
	t.Parallel()
	s := onStage(t, raceAfterAFailure)
	s.end("n", -1, walk.Failed, nil)
	s.end("a", -1, walk.Completed, "of a")
	s.wantOpen("b c first")
	s.end("b", -1, walk.Completed, "of b")
	s.end("c", -1, walk.Cancelled, nil)
	s.end("first", -1, walk.Completed, "of first")
	s.end("then", -1, walk.Completed, nil)
	s.reset()
	s.wantOpen("n first")
	if last := s.w.Last(walk.VisitKey{Node: s.p.Index["first"], Visit: 1}); last != "of b" {
		t.Errorf("the race continues with %v", last)
	}
	s.end("n", -1, walk.Completed, nil)
	s.wantOpen("first") // a is skipped, because it has lost
	s.end("first", -1, walk.Completed, "of first")
	s.end("then", -1, walk.Completed, "end")
	if out := s.w.Outcome(); out.Status != walk.Completed || out.Output != "end" {
		t.Errorf("%+v", out)
	}
}

// If no other step has completed, all steps of the race run again.
func TestAResetOfTheWinnerRunsTheRaceAgain(t *testing.T) {
	t.Parallel()
	s := onStage(t, raceAfterAFailure)
	s.end("n", -1, walk.Failed, nil)
	s.end("a", -1, walk.Completed, "of a")
	if d := s.end("b", -1, walk.Failed, nil); d.Handled != "race" {
		t.Errorf("the failure of a step that has lost: %+v", d)
	}
	s.end("c", -1, walk.Cancelled, nil)
	s.end("first", -1, walk.Completed, "of first")
	s.end("then", -1, walk.Completed, nil)
	s.reset()
	s.wantOpen("n b c")
	s.end("n", -1, walk.Completed, nil)
	s.wantOpen("b c a")
	s.end("c", -1, walk.Completed, "of c")
	s.wantOpen("b a first")
}

// A failure in a race fails the run if the remaining steps are skipped.
func TestARaceOfAFailedAndASkippedStep(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
nodes:
  n: {type: work}
  a: {type: work}
  b: {type: work, needs: [n], when: "last==yes"}
  first: {type: work, race: [a, b]}`)
	s.end("a", -1, walk.Failed, nil)
	s.end("n", -1, walk.Completed, "no")
	for _, w := range []*walk.Walk{s.w, s.replayed()} {
		if out := w.Outcome(); out.Status != walk.Failed || out.Failure.Code != "broke" || out.Failure.Node != "a" {
			t.Fatalf("%+v", out)
		}
	}
	s.reset()
	s.wantOpen("a")
	s.end("a", -1, walk.Completed, 1)
	s.wantOpen("first")
}

// A step that ends after the race does not change what expressions see.
func TestALateStepChangesNothing(t *testing.T) {
	t.Parallel()
	s := onStage(t, `
nodes:
  a: {type: work}
  b: {type: work}
  first: {type: work, race: [a, b]}
result: "${status.a} ${status.b} ${last}"`)
	s.end("a", -1, walk.Completed, 1)
	s.end("first", -1, walk.Completed, "end")
	s.end("b", -1, walk.Completed, "late")
	if out := s.w.Outcome(); out.Output != "completed cancelled end" {
		t.Errorf("%+v", out)
	}
}
