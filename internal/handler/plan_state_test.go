package handler_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/model/scripted"
)

// The state of a plan, of its steps, and of its handoffs has every field of the
// contract, when the plan has completed and when it has failed.
func TestPlanState(t *testing.T) {
	t.Parallel()
	t.Run("completed", func(t *testing.T) {
		t.Parallel()
		run, _, e := converseOn(t, scriptedTeam(), steps(find, write), team...)
		r := result(t, e, run.ID)
		p := r.Plan
		if p.PlanID != run.PlanID || p.Query != "hello" || p.Status != "completed" || p.CurrentStepIndex != 1 ||
			p.FailureReason != "" || r.Error != "" ||
			p.CreatedAt.IsZero() || p.UpdatedAt.Before(p.CreatedAt) ||
			p.CompletedAt.Before(p.CreatedAt) {
			t.Errorf("%+v", p)
		}
		for i, s := range p.Steps {
			if s.StepIndex != i || s.StepID != []string{"a", "b"}[i] || s.AgentID != team[i].ID || s.Task == "" ||
				s.Status != "completed" || s.Result == "" || s.Error != "" ||
				s.StartedAt.IsZero() || s.CompletedAt.Before(s.StartedAt) ||
				s.TokenUsage == nil {
				t.Errorf("%+v", s)
			}
		}
		h := r.Handoffs[0]
		if h.HandoffID == "" || h.FromAgentID != "supervisor" || h.ToAgentID != "finder" || h.Reason != "plan_step" ||
			h.Explanation != "Executing plan step: find it" ||
			h.PlanStepID != "a" ||
			h.Timestamp.IsZero() {
			t.Errorf("%+v", h)
		}
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		broken := scripted.Answer{Contains: "write it down", Error: &scripted.Error{Code: "busy", Message: "the pen is dry"}}
		run, _, e := converseOn(
			t,
			scriptedTeam(broken),
			steps(find, `{id: b, order: 2, agentId: writer, task: write it down, retry: {maxAttempts: 1}}`, check),
			team...)
		r := result(t, e, run.ID)
		if p := r.Plan; p.Status != "failed" || p.CurrentStepIndex != 1 || p.FailureReason != "Step 2 failed: the pen is dry" ||
			r.Error != p.FailureReason || r.Success ||
			p.CompletedAt.IsZero() || p.Steps[1].Status != "failed" ||
			p.Steps[1].Error != "the pen is dry" {
			t.Errorf("%s\n%+v", r.Error, p)
		}
	})
}
