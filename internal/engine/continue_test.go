package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

const continuedPlan = `{id: p, steps: [
	{id: bad, tool: broken, task: "Fetch it", on_error: continue, retry: {maxAttempts: 1}},
	{id: next, tool: echo, params: {text: "${output.bad.text}"}, dependencies: [bad]},
	{id: mend, tool: echo, params: {x: 1}, dependencies: [bad], condition: {type: failure}},
	{id: left, tool: broken, task: "Check it", on_error: skip, retry: {maxAttempts: 1}}]}`

// A step that failed under on_error: continue or skip keeps its status and its error in the result
// and in the events: live, replayed, and after a restart. The following steps continue.
func TestContinuedStepsKeepTheirErrors(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, eventRegistry(), engine.Options{})
	run := e.Settle(e.Run(continuedPlan, `"go"`).ID)
	if run.Status != domain.RunCompleted || run.Headline != "1 step failed" {
		t.Fatalf("run is %s, headline %q, path %q\n%s", run.Status, run.Headline, run.Path, e.Journal(run.ID))
	}
	want := []string{"bad failed it broke", "next completed", "mend skipped", "left skipped it broke"}
	check := func(e *enginetest.Engine) {
		t.Helper()
		result, err := e.Result(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		for _, st := range result.Result.Plan.Steps {
			steps = append(steps, strings.TrimSpace(st.StepID+" "+st.Status+" "+st.Error))
		}
		if d := cmp.Diff(want, steps); d != "" {
			t.Error(d)
		}
		if r := result.Result; !r.Success || r.Error != "" || r.AggregatedResult != `{"text":null}` {
			t.Errorf("success %v, error %q, aggregated result %q", r.Success, r.Error, r.AggregatedResult)
		}
		if d := cmp.Diff([]domain.RunError{{Code: "boom", Message: "it broke", Node: "bad"}}, result.FailedSteps); d != "" {
			t.Error(d)
		}
		events, _, err := e.Events(t.Context(), 0, run.ID, 1000)
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string][]string{}
		for _, ev := range events {
			if ev.Type == "plan_step_completed" {
				id, _ := ev.Data["stepId"].(string)
				status, _ := ev.Data["status"].(string)
				failure, _ := ev.Data["error"].(string)
				lines[id] = append(lines[id], strings.TrimSpace(id+" "+status+" "+failure))
			}
		}
		for _, line := range want {
			id, _, _ := strings.Cut(line, " ")
			if d := cmp.Diff([]string{line}, lines[id]); d != "" {
				t.Error(d)
			}
		}
	}
	check(e)
	e.Close()
	check(enginetest.OpenOn(t, s, eventRegistry(), engine.Options{}))
}

// continueOnFailure sets on_error: continue for every step except approvals and steps with their
// own on_error.
func TestContinueOnFailure(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, eventRegistry())
	run := e.Settle(e.Run(`{id: p, continueOnFailure: true, steps: [
		{id: a, tool: broken, retry: {maxAttempts: 1}}, {id: b, tool: broken, retry: {maxAttempts: 1}},
		{id: c, tool: echo, params: {x: 1}}]}`, `"go"`).ID)
	if run.Status != domain.RunCompleted || run.Headline != "2 steps failed" {
		t.Errorf("run is %s, headline %q\n%s", run.Status, run.Headline, e.Journal(run.ID))
	}
	run = e.Settle(e.Run(`{id: q, continueOnFailure: true, steps: [
		{id: a, tool: broken, on_error: fail, retry: {maxAttempts: 1}}, {id: b, tool: echo, params: {x: 1}}]}`, `"go"`).ID)
	if run.Status != domain.RunFailed {
		t.Errorf("a step that sets on_error: fail: run is %s", run.Status)
	}
	run = e.Settle(e.Run(`{id: r, continueOnFailure: true, steps: [
		{id: ask, tool: approval, params: {message: reject}}, {id: b, tool: echo, params: {x: 1}}]}`, `"go"`).ID)
	if err := answerAll(context.Background(), e, run.ID); err != nil {
		t.Fatal(err)
	}
	if run = e.Settle(run.ID); run.Status != domain.RunFailed {
		t.Errorf("a rejected approval: run is %s", run.Status)
	}
}

// The agent of a later step receives the results of completed steps, and not the null of a failed
// one.
func TestContinuedStepsAreNoPreviousResults(t *testing.T) {
	t.Parallel()
	reg := eventRegistry()
	var given []string
	reg.Tool("look", "", func(_ context.Context, c *engine.Call) (engine.Result, error) {
		for _, p := range c.Previous() {
			given = append(given, p.Node)
		}
		return engine.Result{Output: "seen"}, nil
	})
	e := enginetest.Open(t, reg)
	run := e.Settle(e.Run(`{id: p, continueOnFailure: true, steps: [
		{id: a, tool: echo, params: {x: 1}}, {id: b, tool: broken, retry: {maxAttempts: 1}}, {id: c, tool: look}]}`, `"go"`).ID)
	if d := cmp.Diff([]string{"a"}, given); d != "" {
		t.Errorf("%s\n%s", d, e.Journal(run.ID))
	}
}

// The aggregated result is empty until a step has a result. A failed run has the sentence of the
// source specification.
func TestTheAggregatedResultIsEmptyUntilThereIsOne(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, eventRegistry())
	run := e.Settle(e.Run(`{id: p, steps: [
		{id: ask, tool: approval, params: {message: approve}}, {id: b, tool: broken, retry: {maxAttempts: 1}}]}`, `"go"`).ID)
	sentence := func() string {
		t.Helper()
		r, err := e.Result(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		return r.Result.AggregatedResult
	}
	if run.Status != domain.RunWaiting || sentence() != "" {
		t.Errorf("run is %s, aggregated result %q", run.Status, sentence())
	}
	run = e.Settle(e.Run(`{id: q, steps: [{id: b, tool: broken, retry: {maxAttempts: 1}}]}`, `"go"`).ID)
	if run.Status != domain.RunFailed || sentence() != "I wasn't able to complete the plan due to errors." {
		t.Errorf("run is %s, aggregated result %q", run.Status, sentence())
	}
}
