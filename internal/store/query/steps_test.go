package query_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// In this plan, the middle step fails at first for odd inputs, and always for input 3.
const flowPlan = `
id: flow
nodes:
  in: {type: decision}
  flaky: {type: flaky, input: "${input}", retry: {max_attempts: 2, backoff: [1ms]}}
  out: {type: set, input: 1}
  never: {type: set, input: 2}
edges:
  - {from: in, to: never, condition: "input == 99"}
  - {from: in, to: flaky, condition: default}
  - {from: flaky, to: out}`

func flowRuns(t *testing.T) (*enginetest.Engine, domain.Version) {
	t.Helper()
	reg := enginetest.NewRegistry().Handle("flaky", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		in := jsonvalue.Text(c.Input)
		if in == "3" || in == "1" && c.Attempt == 1 {
			return engine.Result{}, errors.New("the shop answered 503")
		}
		return engine.Result{Output: in}, nil
	})
	e := enginetest.Open(t, reg)
	v := e.Save(flowPlan)
	for i := range 5 {
		e.Settle(e.Begin(v, fmt.Sprint(i)).ID)
	}
	return e, v
}

func TestPathsOfRunsThroughAPlan(t *testing.T) {
	t.Parallel()
	e, v := flowRuns(t)
	got, err := e.Store.PlanFlow(t.Context(), "flow", 0, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if got.Runs != 5 || !got.Whole || got.Since.IsZero() {
		t.Errorf("looked at %d runs since %s, whole %v", got.Runs, got.Since, got.Whole)
	}
	n := got.Nodes["flaky"]
	if n == nil || n.Runs != 5 || n.Settled != 5 || n.Failed != 1 || n.Attempts != 7 || n.P95 < n.P50 {
		t.Fatalf("flaky: %+v", n)
	}
	if len(n.Failures) != 3 || n.Failures[0].Message != "the shop answered 503" || n.Failures[0].Run == "" {
		t.Errorf("failures of flaky: %+v", n.Failures)
	}
	if len(n.Slow) != 5 || n.Slow[0].Took() < n.Slow[4].Took() {
		t.Errorf("the slowest of flaky: %+v", n.Slow)
	}
	if got.Edges[1] != 5 || got.Edges[0] != 0 { // a node with one edge records no decision
		t.Errorf("edges taken: %v", got.Edges)
	}
	for _, c := range []struct {
		plan    string
		version int
		since   time.Time
		want    int
	}{{"flow", 1, time.Time{}, 5}, {"flow", 2, time.Time{}, 0}, {"none", 0, time.Time{}, 0}, {"flow", 0, time.Now().Add(time.Hour), 0}} {
		if got, err := e.Store.PlanFlow(t.Context(), c.plan, c.version, c.since); err != nil || got.Runs != c.want {
			t.Errorf("%+v: %d runs, %v", c, got.Runs, err)
		}
	}
	// Steps that a fork copied are not counted as its own.
	run, err := e.Store.Runs(t.Context(), domain.RunFilter{Statuses: []domain.RunStatus{domain.RunCompleted}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Act(
		t.Context(),
		enginetest.Operator,
		domain.ActionRequest{Run: run.Items[0].ID, Action: domain.ActionFork, At: run.Items[0].LastSeq - 1},
	)
	if err != nil {
		t.Fatal(err)
	}
	e.Settle(f.ID)
	if got, err = e.Store.PlanFlow(t.Context(), "flow", 0, time.Time{}); err != nil || got.Nodes["flaky"].Runs != 5 ||
		got.Nodes["out"].Runs != 5 {
		t.Errorf("with a fork: flaky %+v, out %+v, %v", got.Nodes["flaky"], got.Nodes["out"], err)
	}
	of, err := e.Store.VersionRuns(t.Context(), v.PlanID, time.Now().Add(-time.Hour))
	if err != nil || of[1] != (domain.VersionRuns{Ended: 6, Completed: 5, Failed: 1}) {
		t.Errorf("runs of versions: %+v, %v", of, err)
	}
}

func TestStepsAreFoundAcrossRuns(t *testing.T) {
	t.Parallel()
	e, _ := flowRuns(t)
	for name, c := range map[string]struct {
		f    domain.StepFilter
		want int
	}{
		"all":          {domain.StepFilter{}, 5 + 7 + 4},
		"of a plan":    {domain.StepFilter{PlanKey: "flow"}, 16},
		"of a version": {domain.StepFilter{PlanKey: "flow", Version: 1}, 16},
		"no version":   {domain.StepFilter{PlanKey: "flow", Version: 9}, 0},
		"no plan":      {domain.StepFilter{PlanKey: "none"}, 0},
		"of a node":    {domain.StepFilter{Nodes: []string{"flaky"}}, 7},
		"failed":       {domain.StepFilter{Statuses: []domain.NodeStatus{domain.NodeFailed}}, 3},
		"failed of plan": {domain.StepFilter{PlanKey: "flow", Nodes: []string{"flaky"},
			Statuses: []domain.NodeStatus{domain.NodeFailed}}, 3},
		"by error":   {domain.StepFilter{ErrorCodes: []string{"none"}}, 0},
		"second try": {domain.StepFilter{MinAttempt: 1}, 2},
		"long":       {domain.StepFilter{MinTook: time.Hour}, 0},
		"before":     {domain.StepFilter{Until: time.Now().Add(-time.Hour)}, 0},
		"since":      {domain.StepFilter{Since: time.Now().Add(-time.Hour)}, 16},
		"slowest":    {domain.StepFilter{Slowest: true, Page: domain.Page{Limit: 4}}, 4},
	} {
		got, err := e.Store.Steps(t.Context(), c.f)
		if err != nil || len(got.Items) != c.want {
			t.Errorf("%s: %d steps, want %d; %v", name, len(got.Items), c.want, err)
		}
		for i := 1; c.f.Slowest && i < len(got.Items); i++ {
			if got.Items[i-1].Took() < got.Items[i].Took() {
				t.Errorf("%s: not in order", name)
			}
		}
	}
	// Each attempt is on exactly one page.
	seen := map[string]bool{}
	f := domain.StepFilter{Page: domain.Page{Limit: 3}}
	for range 20 {
		got, err := e.Store.Steps(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got.Items {
			key := fmt.Sprint(h.Run, h.Seq)
			if seen[key] || h.PlanKey != "flow" || h.Version != 1 {
				t.Fatalf("twice, or of no plan: %+v", h)
			}
			seen[key] = true
		}
		if f.Page.After = got.Next; got.Next == "" {
			break
		}
	}
	if len(seen) != 16 {
		t.Errorf("%d steps page by page, want 16", len(seen))
	}
	if _, err := e.Store.Steps(t.Context(), domain.StepFilter{Page: domain.Page{After: "x"}}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a broken cursor: %v", err)
	}
}
