package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// sent lists a run's stored events in their wire format, until the run has the status.
func sent(t *testing.T, events <-chan domain.Event, run string, status domain.RunStatus) []string {
	t.Helper()
	var list []string
	for over := false; ; {
		var ev domain.Event
		select {
		case ev = <-events:
		case <-t.Context().Done():
			t.Fatal("the events do not end")
		}
		if over && ev.Type != "plan_completed" || ev.Type == "" {
			return list
		}
		if ev.Ephemeral || ev.Run != run {
			continue
		}
		b, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
		over = over || ev.Type == "run_status" && ev.Data["status"] == string(status)
		if ev.Type == "plan_completed" || over && !hasPlan(list) {
			return list
		}
	}
}

func hasPlan(list []string) bool {
	return strings.Contains(strings.Join(list, "\n"), `"type":"plan_generated"`)
}

// eventPlans are plans whose runs have many kinds of events.
var eventPlans = map[string]string{
	"pure steps":          `{nodes: {a: {type: set, input: 1}, b: {type: calc, needs: [a]}, c: {type: noop, needs: [b]}}}`,
	"a loop":              `{start: a, nodes: {a: {type: echo, input: 1, max_visits: 3}, b: {type: set, input: 2}}, edges: [{from: a, to: a}, {from: a, to: b, condition: "last==2"}], on_failure: continue_branches}`,
	"items":               `{nodes: {a: {type: calc, foreach: "${input.list}", input: "${item}"}, b: {type: echo, needs: [a]}}}`,
	"retries":             `{steps: [{id: a, tool: flaky, retry: {maxAttempts: 2, backoffMs: [1]}}, {id: b, tool: set, params: {x: 1}}]}`,
	"a failure":           `{steps: [{id: a, tool: set, params: {x: 1}}, {id: b, tool: broken}, {id: c, tool: set, params: {x: 2}}]}`,
	"a replan":            `{id: p, steps: [{id: a, tool: echo, params: {x: one}}, {id: b, tool: broken, on_error: replan}, {id: c, tool: echo, params: {x: three}}]}`,
	"a continued failure": continuedPlan,
	"a condition":         `{steps: [{id: a, tool: set, params: {x: 1}}, {id: b, tool: echo, dependencies: [a], condition: {type: failure}}, {id: c, tool: echo, dependencies: [b], condition: {type: always}}]}`,
}

const replannedSteps = `{id: p, steps: [{id: a, tool: echo, params: {x: one}}, {id: d, tool: echo, params: {x: two}}, {id: e, tool: set, params: {x: 3}}]}`

func eventRegistry() *enginetest.Registry {
	tried := map[string]bool{}
	reg := enginetest.NewRegistry().
		Handle("echo", walk.EffectIdempotent, echo).Tool("echo", walk.EffectIdempotent, echo).
		Handle("calc", walk.EffectPure, echo)
	broken := fails(&walk.Failure{Code: "boom", Message: "it broke", Permanent: true})
	reg.Handle("broken", walk.EffectIdempotent, broken).Tool("broken", walk.EffectIdempotent, broken)
	flaky := func(_ context.Context, c *engine.Call) (engine.Result, error) {
		if c.Attempt == 1 && !tried[c.RunID] {
			tried[c.RunID] = true
			return engine.Result{}, errors.New("not yet")
		}
		return engine.Result{Output: "at last"}, nil
	}
	reg.Handle("flaky", walk.EffectPure, flaky).Tool("flaky", walk.EffectPure, flaky)
	reg.Replanner = &tails{answers: []string{replannedSteps}}
	return reg
}

// Listeners, replays, and replays after a restart receive the same events, with the same order,
// ids, and content.
func TestEventsAreTheSameLiveAndReplayed(t *testing.T) {
	t.Parallel()
	for name, plan := range eventPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			e := enginetest.OpenOn(t, s, eventRegistry(), engine.Options{})
			events, err := e.Subscribe(t.Context(), -1, "")
			if err != nil {
				t.Fatal(err)
			}
			run := e.Settle(e.Run(plan, `{"list": [1, 2]}`).ID)
			live := sent(t, events, run.ID, run.Status)
			replay := func(e *enginetest.Engine) []string {
				events, err := e.Subscribe(t.Context(), 0, run.ID)
				if err != nil {
					t.Fatal(err)
				}
				return sent(t, events, run.ID, run.Status)
			}
			if d := cmp.Diff(live, replay(e)); d != "" {
				t.Errorf("the replay differs from what was sent live:\n%s", d)
			}
			e.Close()
			again := enginetest.OpenOn(t, s, eventRegistry(), engine.Options{})
			if d := cmp.Diff(live, replay(again)); d != "" {
				t.Errorf("the replay after a restart differs from what was sent live:\n%s", d)
			}
			listed, _, err := again.Events(t.Context(), 0, run.ID, 1000)
			if err != nil || len(listed) != len(live) {
				t.Errorf("%d events are listed, %d were sent (%v)", len(listed), len(live), err)
			}
			seen := map[string]bool{}
			for _, ev := range listed {
				if seen[ev.ID] || ev.Session != run.Session || ev.Run != run.ID {
					t.Errorf("%+v", ev)
				}
				seen[ev.ID] = true
			}
			startedOnce(t, again, run)
		})
	}
}

// startedOnce checks that every attempt of the journal has exactly one start event.
func startedOnce(t *testing.T, e *enginetest.Engine, run domain.Run) {
	t.Helper()
	rows, err := e.Store.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, r := range rows {
		if r.Attempt > 0 {
			want[fmt.Sprint(r.Node, r.Visit, max(r.Item, -1), r.Attempt)] = 1
		}
	}
	got := map[string]int{}
	events, _, err := e.Events(t.Context(), 0, run.ID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if ev.Type == "node_started" {
			item, ok := ev.Data["item"].(int)
			if !ok {
				item = -1
			}
			got[fmt.Sprint(ev.Data["node"], ev.Data["visit"], item, ev.Data["attempt"])]++
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("attempts and start events differ:\n%s\n%s", d, e.Journal(run.ID))
	}
}

// planLines lists the events of the source specification, one per line.
func planLines(t *testing.T, e *enginetest.Engine, run string) (lines []string) {
	t.Helper()
	events, _, err := e.Events(t.Context(), 0, run, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if !strings.HasPrefix(ev.Type, "plan_") {
			continue
		}
		line := ev.Type
		for _, k := range []string{"stepId", "status", "error", "failureReason"} {
			if v, ok := ev.Data[k].(string); ok && v != "" {
				line += " " + v
			}
		}
		if steps, ok := ev.Data["steps"].([]any); ok {
			for _, s := range steps {
				line += " " + s.(map[string]any)["stepId"].(string)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestPlanEventsOfAReplan(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, eventRegistry())
	run := e.Settle(e.Run(eventPlans["a replan"], `"x"`).ID)
	if run.Status != domain.RunCompleted {
		t.Fatalf("%s\n%s", run.Status, e.Journal(run.ID))
	}
	want := []string{
		"plan_generated a b c",
		"plan_step_started a",
		"plan_step_completed a completed",
		"plan_step_started b",
		"plan_step_completed b failed it broke",
		"plan_generated a d e",
		"plan_step_started d",
		"plan_step_completed d completed",
		"plan_step_started e",
		"plan_step_completed e completed",
		"plan_completed completed",
	}
	if d := cmp.Diff(want, planLines(t, e, run.ID)); d != "" {
		t.Error(d)
	}
}

// A resume starts the failed step again. Its next attempt also has a start event.
func TestPlanEventsOfAResume(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, eventRegistry())
	run := e.Settle(e.Run(eventPlans["a failure"], `"x"`).ID)
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	run = e.Settle(run.ID)
	failed := []string{
		"plan_step_started b",
		"plan_step_completed b failed it broke",
		"plan_step_completed c skipped",
		"plan_completed failed Step 2 failed: it broke",
	}
	want := append([]string{"plan_generated a b c", "plan_step_started a", "plan_step_completed a completed"}, append(failed, failed...)...)
	if d := cmp.Diff(want, planLines(t, e, run.ID)); d != "" {
		t.Error(d)
	}
}

// The last event of a cancelled plan records the cancel.
func TestPlanEventsOfACancel(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	park := func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		close(began)
		<-ctx.Done()
		return engine.Result{}, context.Cause(ctx)
	}
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("park", walk.EffectIdempotent, park).Tool("park", walk.EffectIdempotent, park))
	run := e.Run(`{steps: [{id: a, tool: park}, {id: b, tool: set, params: {x: 1}}]}`, "")
	<-began
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if r := e.Settle(run.ID); r.Status != domain.RunCancelled {
		t.Fatal(r.Status)
	}
	events, _, err := e.Events(t.Context(), 0, run.ID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var last domain.Event
	for _, ev := range events {
		if ev.Type == "plan_completed" {
			last = ev
		}
	}
	if last.Data["status"] != "cancelled" {
		t.Errorf("%+v", last)
	}
}
