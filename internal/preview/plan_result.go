package preview

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// stepTrace contains the facts about one step from the journal.
type stepTrace struct {
	began, ended time.Time
	failure      string // of the row that settled the step
	usage        domain.Usage
	// unread is set if the step was settled because its condition had no value.
	unread *walk.Consequence
}

// traces reads the journal of a step plan's run.
func traces(v *View) (steps map[string]*stepTrace, handoffs []domain.PlanHandoff) {
	p := v.Program.Program
	steps = map[string]*stepTrace{}
	for i := range v.Journal {
		e := &v.Journal[i]
		failed, dropped := domain.StepsEndedBy(e)
		for _, node := range append(dropped, failed) { // these steps begin again, or are no longer part of the plan
			delete(steps, node)
		}
		if e.Node == "" {
			continue
		}
		t := steps[e.Node]
		if t == nil {
			t = &stepTrace{}
			steps[e.Node] = t
		}
		t.usage = t.usage.Add(e.Usage)
		if runstate.BeginsAttempt(e) {
			if t.began.IsZero() {
				t.began = e.StartedAt
			}
			if n, ok := p.Index[e.Node]; ok && !v.Run.Dry() {
				if node, from := &p.Nodes[n], runstate.PreviousAgent(p, n); runstate.HandsOver(e, node.Agent, from) {
					handoffs = append(
						handoffs,
						domain.PlanHandoff{HandoffID: runstate.HandoffID(v.Run.ID, e.Seq), FromAgentID: from, ToAgentID: node.Agent,
							Reason: runstate.HandoffReason, Explanation: runstate.ExplainStep(node), PlanStepID: e.Node, Timestamp: e.At},
					)
				}
			}
		}
		if e.Final {
			if t.ended, t.failure = e.At, ""; e.Failure != nil {
				t.failure = e.Failure.Message
			}
			var d walk.Decision
			if len(e.Decision) == 0 || json.Unmarshal(e.Decision, &d) != nil {
				continue
			}
			for i := range d.Settled {
				c := &d.Settled[i]
				if !c.Failed() && c.Reason != walk.ReasonGateUnknown {
					continue
				}
				other := steps[c.Node]
				if other == nil {
					other = &stepTrace{}
					steps[c.Node] = other
				}
				other.unread, other.ended = c, e.At
			}
		}
	}
	return steps, handoffs
}

// PlanResult returns the result of a step plan's run, as its source specification defines it. It is
// nil for a graph.
func (v *View) PlanResult() *domain.PlanResult {
	p := v.Program.Program
	if p.Kind != walk.KindSteps {
		return nil
	}
	query := ""
	if input, err := runstate.Decode(v.Run.Input); err == nil && input != nil {
		query = jsonvalue.Text(input)
	}
	r := &domain.PlanResult{Success: v.Run.Status == domain.RunCompleted, Handoffs: []domain.PlanHandoff{},
		Plan: domain.PlanState{
			PlanID:      v.Run.PlanID,
			Query:       query,
			Status:      "executing",
			Summary:     p.Summary(),
			CreatedAt:   v.Run.CreatedAt,
			UpdatedAt:   v.Run.CreatedAt,
			CompletedAt: v.Run.EndedAt,
		}}
	if v.Run.Status.Final() {
		r.Plan.Status = string(v.Run.Status)
	}
	if v.Run.Error != nil {
		r.Plan.FailureReason = runstate.StepFailureReason(p, v.Run.Error)
		r.Error = r.Plan.FailureReason
	}
	for _, at := range []time.Time{v.Run.StartedAt, v.Run.EndedAt, lastAt(v.Journal)} {
		if at.After(r.Plan.UpdatedAt) {
			r.Plan.UpdatedAt = at
		}
	}
	steps, handoffs := traces(v)
	if handoffs != nil {
		r.Handoffs = handoffs
	}
	outputs := domain.ResultOf(domain.RunDetail{Run: v.Run, Journal: v.Journal}).Outputs
	for i := range p.Nodes {
		n := &p.Nodes[i]
		t := steps[n.ID]
		if t == nil {
			t = &stepTrace{}
		}
		s := domain.PlanStepState{
			StepID:         n.ID,
			StepIndex:      i,
			AgentID:        n.Agent,
			Task:           runstate.TaskOf(n),
			ExpectedOutput: n.ExpectedOutput,
			Status:         "pending",
			StartedAt:      t.began,
		}
		if t.usage.InputTokens > 0 || t.usage.OutputTokens > 0 {
			s.TokenUsage = &domain.TokenUsage{InputTokens: t.usage.InputTokens, OutputTokens: t.usage.OutputTokens}
		}
		switch status, _ := v.State.Walk.Status(i); {
		case status != "":
			s.Status, s.CompletedAt = string(status), t.ended
			if status != walk.Completed {
				s.Error = t.failure
			} else if out, err := runstate.Decode(outputs[n.ID]); err == nil && out != nil {
				s.Result = n.Text(out)
			}
			if c := t.unread; c != nil && status == walk.Skipped {
				if s.Error = c.Explain(); c.Failed() {
					s.Status = "failed"
				}
			}
		case !s.StartedAt.IsZero():
			s.Status = "in_progress"
		}
		r.Plan.Steps = append(r.Plan.Steps, s)
	}
	main := r.Plan.Steps // without finally steps, which are the last
	if i := slices.IndexFunc(p.Nodes, func(n walk.ProgramNode) bool { return n.Finally }); i >= 0 {
		main = main[:i]
	}
	r.Plan.CurrentStepIndex = currentStep(v, main)
	if r.AggregatedResult = runstate.AggregateSteps(main); r.AggregatedResult == runstate.NothingCompleted &&
		!v.Run.Status.Final() {
		r.AggregatedResult = "" // no result yet
	}
	return r
}

func lastAt(journal []domain.Entry) time.Time {
	if n := len(journal); n > 0 {
		return journal[n-1].At
	}
	return time.Time{}
}

// currentStep returns the index of the failed, running, cancelled, or next step, in this order. For
// a completed plan, it returns the last step.
func currentStep(v *View, steps []domain.PlanStepState) int {
	if v.Run.Error != nil {
		if i, ok := v.Program.Index[v.Run.Error.Node]; ok {
			return i
		}
	}
	for _, status := range []string{"in_progress", "cancelled", "pending"} {
		if i := slices.IndexFunc(steps, func(s domain.PlanStepState) bool { return s.Status == status }); i >= 0 &&
			v.Run.Status != domain.RunCompleted {
			return i
		}
	}
	return max(len(steps)-1, 0)
}
