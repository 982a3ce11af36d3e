package handler_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/model/scripted"
	"github.com/kairosd/kairosd/planner/walk"
)

// team has two agents. catalog is a model that answers each task by name.
var team = []handler.Agent{
	{ID: "finder", Name: "Finder", Icon: "F", Color: "#112233", Selectable: true},
	{ID: "writer", Name: "Writer", Selectable: true},
}

func scriptedTeam(extra ...scripted.Answer) llm.Provider {
	return script(append(
		extra,
		scripted.Answer{
			Contains: "write it down",
			Text:     "written",
		},
		scripted.Answer{Contains: "find it", Text: "found"},
		scripted.Answer{Contains: "check it", Text: "checked"},
	)...)
}

const (
	find  = `{id: a, order: 1, agentId: finder, task: find it}`
	write = `{id: b, order: 2, agentId: writer, task: write it down}`
	check = `{id: c, order: 3, agentId: writer, task: check it}`
)

func steps(list ...string) string {
	return "id: steps\nsteps:\n  - " + strings.Join(list, "\n  - ") + "\n"
}

// progressOf lists a run's plan events, as "type step status".
func progressOf(t *testing.T, e *engine.Engine, run string) (lines []string, events []domain.Event) {
	t.Helper()
	all, _, err := e.Events(t.Context(), 0, run, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range all {
		if !strings.HasPrefix(ev.Type, "plan_") && !strings.HasPrefix(ev.Type, "agent_") {
			continue
		}
		events = append(events, ev)
		line := ev.Type
		d := ev.Data
		for _, k := range []string{"stepId", "agentId", "status"} {
			if v, ok := d[k].(string); ok && v != "" {
				line += " " + v
			}
		}
		lines = append(lines, line)
	}
	return lines, events
}

func result(t *testing.T, e *engine.Engine, run string) *domain.PlanResult {
	t.Helper()
	r, err := e.Result(t.Context(), run)
	if err != nil || r.Result == nil {
		t.Fatalf("no result: %v", err)
	}
	return r.Result
}

func TestPlanExecutor(t *testing.T) {
	t.Parallel()
	t.Run("executes single-step plan", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(), steps(find), team...)
		if r := result(t, e, run.ID); !r.Success || r.AggregatedResult != "found" || r.Plan.Query != "hello" ||
			r.Plan.Status != "completed" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("executes multi-step plan in order", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(), steps(check, find, write), team...)
		r, err := e.Result(t.Context(), run.ID)
		if d := cmp.Diff([]string{"a", "b", "c"}, r.Path); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
	})
	failing := scripted.Answer{Contains: "write it down", Error: &scripted.Error{Code: "busy", Message: "the pen is dry"}}
	retry := func(onError string) string {
		return `{id: b, order: 2, agentId: writer, task: write it down, retry: {maxAttempts: 2, backoffMs: [1]}, on_error: ` + onError + `}`
	}
	t.Run("handles step failure with retry", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(failing), steps(find, retry("fail")), team...)
		lines, events := progressOf(t, e, run.ID)
		i := slices.Index(lines, "plan_step_retrying b")
		if run.Status != domain.RunFailed || i < 0 || !slices.Contains(lines, "plan_step_completed b failed") {
			t.Fatalf("%s %v", run.Status, lines)
		}
		if d := events[i].Data; d["error"] != "the pen is dry" || d["maxAttempts"] != 2 || d["attempt"] != 1 || d["nextAt"] == nil {
			t.Errorf("%v", d)
		}
	})
	t.Run("aborts on failure when configured", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(failing), steps(find, retry("fail"), check), team...)
		r := result(t, e, run.ID)
		if r.Success || r.Error == "" || r.Plan.Status != "failed" ||
			r.Plan.Steps[2].Status != "skipped" && r.Plan.Steps[2].Status != "pending" ||
			r.AggregatedResult != "found" && !strings.Contains(r.AggregatedResult, "found") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("skips step on failure when configured", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(failing), steps(find, retry("skip"), check), team...)
		lines, _ := progressOf(t, e, run.ID)
		r := result(t, e, run.ID)
		if run.Status != domain.RunCompleted || !slices.Contains(lines, "plan_step_completed b skipped") ||
			r.AggregatedResult != "**find it**\nfound\n\n---\n\n**write it down**\n_Skipped_\n\n---\n\n**check it**\nchecked" {
			t.Errorf("%s %v\n%s", run.Status, lines, r.AggregatedResult)
		}
	})
	t.Run("records handoffs between agents", func(t *testing.T) {
		t.Parallel()
		run, _, e, s := converseIn(t, scriptedTeam(), steps(find, write, check), "", team...)
		var got, ids []string
		for _, h := range result(t, e, run.ID).Handoffs {
			got, ids = append(got, h.FromAgentID+" → "+h.ToAgentID+": "+h.Reason), append(ids, h.HandoffID)
		}
		if d := cmp.Diff([]string{"supervisor → finder: plan_step", "finder → writer: plan_step"}, got); d != "" {
			t.Error(d)
		}
		// The result, the events, and the stored rows have the same id.
		var sent []string
		events, _, err := e.Events(t.Context(), 0, run.ID, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Type == "agent_handoff" {
				sent = append(sent, ev.Data["handoffId"].(string))
			}
		}
		stored, err := s.Handoffs(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, h := range stored {
			kept = append(kept, h.ID)
		}
		if d := cmp.Diff(ids, sent) + cmp.Diff(ids, kept); d != "" {
			t.Error(d)
		}
	})
	t.Run("emits all plan events", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(), steps(find, write), team...)
		lines, events := progressOf(t, e, run.ID)
		want := []string{
			"plan_generated",
			"agent_changed supervisor",
			"agent_handoff",
			"agent_changed finder",
			"plan_step_started a finder",
			"plan_step_completed a completed",
			"agent_handoff",
			"agent_changed writer",
			"plan_step_started b writer",
			"plan_step_completed b completed",
			"plan_completed completed",
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Error(d)
		}
		for _, ev := range events {
			d := ev.Data
			if handoff := strings.HasPrefix(ev.Type, "agent_"); !handoff && d["planId"] != run.PlanID || ev.Session != run.Session ||
				ev.ID == "" ||
				ev.At.IsZero() {
				t.Errorf("%s: %v", ev.Type, d)
			}
		}
		if d := events[3].Data; d["agentName"] != "Finder" || d["agentIcon"] != "F" || d["agentColor"] != "#112233" {
			t.Errorf("agent_changed: %v", d)
		}
		// Live events equal the replayed events.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		live, err := e.Subscribe(ctx, 0, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		var replayed []string
		for ev := range live {
			if strings.HasPrefix(ev.Type, "plan_") || strings.HasPrefix(ev.Type, "agent_") {
				replayed = append(replayed, ev.Type)
			}
			if ev.Type == "plan_completed" {
				cancel()
				break
			}
		}
		if len(replayed) != len(want) {
			t.Errorf("replayed %v", replayed)
		}
	})
	t.Run("aggregates results correctly", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(), steps(find, write), team...)
		if got := result(t, e, run.ID).AggregatedResult; got != "**find it**\nfound\n\n---\n\n**write it down**\nwritten" {
			t.Errorf("%q", got)
		}
		run, _, e = converseOn(t, scriptedTeam(failing), steps(strings.Replace(retry("fail"), "order: 2", "order: 1", 1)), team...)
		if got := result(t, e, run.ID).AggregatedResult; got != "I wasn't able to complete the plan due to errors." {
			t.Errorf("%q", got)
		}
	})
}

// hung never answers.
type hung struct{}

func (hung) Complete(ctx context.Context, _ llm.Request) (llm.Response, error) {
	<-ctx.Done()
	return llm.Response{}, context.Cause(ctx)
}

func TestStepExecutor(t *testing.T) {
	t.Parallel()
	t.Run("executes step successfully", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(), steps(find), team...)
		if s := result(t, e, run.ID).Plan.Steps[0]; s.Status != "completed" || s.Result != "found" || s.AgentID != "finder" ||
			s.StartedAt.IsZero() ||
			s.CompletedAt.IsZero() {
			t.Errorf("%+v", s)
		}
	})
	t.Run("handles timeout", func(t *testing.T) {
		t.Parallel()
		run, _, _ := converseOn(
			t,
			hung{},
			steps(`{id: a, order: 1, agentId: finder, task: find it, timeout: 20ms, retry: {maxAttempts: 1}}`),
			team...)
		if run.Status != domain.RunFailed || run.Error.Code != walk.CodeTimeout {
			t.Errorf("%s %+v", run.Status, run.Error)
		}
	})
	t.Run("passes context from previous steps", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(
			t,
			scriptedTeam(
				scripted.Answer{
					Contains: "Previous step results:\n- Step 1 (finder): found\n\nCurrent task: write it down",
					Text:     "I was told",
				},
			),
			steps(find, write),
			team...)
		if got := result(t, e, run.ID).Plan.Steps[1].Result; got != "I was told" {
			t.Errorf("%q", got)
		}
	})
}

// The supervisor is shown like other agents, with its icon and color: in handoffs, at the start of
// a plan, and in the list of agents.
func TestSupervisorNodeIntegration(t *testing.T) {
	t.Parallel()
	t.Run("sets correct agent identity", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(), steps(find), team...)
		_, events := progressOf(t, e, run.ID)
		seen := 0
		for _, ev := range events {
			d := ev.Data
			who := d
			if ev.Type == "agent_handoff" {
				who, _ = d["fromAgent"].(map[string]any)
			}
			if who["agentId"] != "supervisor" {
				continue
			}
			shown := ev.Type != "agent_changed" || who["agentIcon"] == "🎯" && who["agentColor"] == "#8B5CF6" // a handoff only names agents
			if seen++; who["agentName"] != "Supervisor" || !shown {
				t.Errorf("%s: %v", ev.Type, who)
			}
		}
		if seen != 2 {
			t.Errorf("%d events show the supervisor", seen)
		}
	})
	models, err := handler.NewModels(handler.Config{Providers: map[string]llm.Provider{"script": scriptedTeam()},
		DefaultProvider: "script"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(models.AgentInfos(), func(a domain.AgentInfo) bool {
		return a.ID == "supervisor" && a.System && a.Icon == "🎯" && a.Color == "#8B5CF6"
	}) {
		t.Error("the supervisor is no agent")
	}
}
