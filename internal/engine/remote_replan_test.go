package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
)

// waitsForPlan starts a run that is executed elsewhere, and returns it when its record waits for a plan.
func waitsForPlan(t *testing.T, e *enginetest.Engine) domain.Run {
	t.Helper()
	return e.Until(e.Run(straight, `"x"`).ID, domain.RunWaiting, domain.WaitReplan)
}

// recordAnswer adds the planner's answer to the record of a run, as its execution reports it.
func recordAnswer(t *testing.T, e *enginetest.Engine, run domain.Run, a runstate.PlannerAnswer) domain.Run {
	t.Helper()
	row := domain.Entry{Seq: run.LastSeq + 1, Kind: domain.EntrySubstep, Node: "b", Visit: 1, Item: runstate.NoItem, Attempt: 1,
		Status: domain.NodeCompleted, Substep: runstate.ReplanSubstep, Output: runstate.MustJSON(a), At: run.CreatedAt,
		Decision: runstate.SubstepDecision{Kind: runstate.KindReplan}.JSON()}
	err := engine.RecordsOf(e.Engine).Add(t.Context(), engine.Report{Run: run.ID,
		Checkpoints: []domain.Checkpoint{{Run: run.ID, Fence: run.LastSeq, Entries: []domain.Entry{row}}}})
	if err != nil {
		t.Fatal(err)
	}
	run.LastSeq++
	return run
}

// The engine calls the planner once for a run that is executed elsewhere, also for repeated requests. The version is made from the
// recorded answer, once.
func TestARunElsewhereIsReplanned(t *testing.T) {
	t.Parallel()
	blocked := &tails{answers: []string{repaired}, block: make(chan struct{})}
	e, w := openElsewhere(t, replanning(blocked))
	run := waitsForPlan(t, e)
	p := &tails{answers: []string{repaired}, unsafe: []string{"d"}}
	w.r.Replanner = p
	e = w.restart(func() { w.drop = true })
	records := engine.RecordsOf(e.Engine)
	if _, err := records.Replan(t.Context(), run.ID, run.LastSeq+1); !errors.Is(err, engine.ErrGap) {
		t.Errorf("before its rows are recorded: %v", err)
	}
	results := make(chan engine.Replanned)
	for range 3 {
		go func() {
			r, err := records.Replan(t.Context(), run.ID, run.LastSeq)
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	var first engine.Replanned
	for range 3 {
		first = <-results
		if first.Answer == nil || first.Answer.Reason != "b cannot be done" || first.Usage.InputTokens != 7 || first.Target.Hash != "" {
			t.Fatalf("%+v", first)
		}
	}
	if n := len(p.requests()); n != 1 {
		t.Errorf("the planner was asked %d times", n)
	}
	run = recordAnswer(t, e, run, *first.Answer)
	for range 2 {
		r, err := records.Replan(t.Context(), run.ID, run.LastSeq)
		if err != nil || r.Answer != nil || r.Target.Version != 2 || r.Unsafe[0] != "d" || !r.Usage.Zero() {
			t.Errorf("%+v %v", r, err)
		}
		v, err := e.Store.VersionByHash(t.Context(), r.Target.Hash)
		if err != nil || v.Origin != "replan" || v.ByPerson || v.Number != 2 {
			t.Errorf("%+v %v", v, err)
		}
	}
	if n := len(p.requests()); n != 1 {
		t.Errorf("the planner was asked %d times", n)
	}
	v, err := e.View(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if o := records.Options(v.Program); !o.Replans || o.MaxReplans != 2 {
		t.Errorf("options %+v", o)
	}
}

// A planner without an answer, and an answer that is not a version of the plan, lead to a reason.
func TestNoVersionElsewhere(t *testing.T) {
	t.Parallel()
	blocked := &tails{answers: []string{repaired}, block: make(chan struct{})}
	e, w := openElsewhere(t, replanning(blocked))
	run, other := waitsForPlan(t, e), waitsForPlan(t, e)
	w.r.Replanner = &tails{answers: []string{""}}
	e = w.restart(func() { w.drop = true })
	records := engine.RecordsOf(e.Engine)
	if r, err := records.Replan(t.Context(), run.ID, run.LastSeq); err != nil || r.Failure != "no idea" || r.Usage.InputTokens != 7 {
		t.Errorf("%+v %v", r, err)
	}
	other = recordAnswer(t, e, other, runstate.PlannerAnswer{Source: strings.Replace(repaired, "id: p", "id: q", 1)})
	if r, err := records.Replan(t.Context(), other.ID, other.LastSeq); err != nil || r.Failure == "" || r.Target.Hash != "" {
		t.Errorf("%+v %v", r, err)
	}
}
