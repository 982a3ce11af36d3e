package engine

import (
	"cmp"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// nothingDone is the answer of a plan of which no step completed [002].
const nothingDone = "I wasn't able to complete the plan due to errors."

// supervisorAgent hands over to the first agent of a plan.
const supervisorAgent = "supervisor"

// aggregate joins the results of steps into one answer: that of the only one
// that completed, or each under its task (SPEC 8).
func aggregate(steps []kairos.PlanStepState) string {
	completed := 0
	only := ""
	var parts []string
	for _, s := range steps {
		switch {
		case s.Status == "completed" && s.Result != "":
			completed++
			only = s.Result
			parts = append(parts, "**"+s.Task+"**\n"+s.Result)
		case s.Status == "skipped":
			parts = append(parts, "**"+s.Task+"**\n_Skipped_")
		}
	}
	switch completed {
	case 0:
		return nothingDone
	case 1:
		return only
	}
	return strings.Join(parts, "\n\n---\n\n")
}

// taskOf is what a step is called where people read it.
func taskOf(n *planner.ProgramNode) string { return cmp.Or(n.Task, n.Tool, n.Plan, n.ID) }

// handover is the agent before a step: that of the last step in order, among
// those it depends on, that has one, else the supervisor (ruling 34).
func handover(p *planner.Program, index int) string {
	before := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		for _, need := range p.Nodes[i].Needs {
			if !before[need] {
				before[need] = true
				visit(need)
			}
		}
	}
	visit(index)
	from, order := supervisorAgent, -1
	for i := range before {
		if n := &p.Nodes[i]; n.Agent != "" && n.Order > order {
			from, order = n.Agent, n.Order
		}
	}
	return from
}

// planResult folds a step plan's run into the result object of [002].
func (v *view) planResult() *kairos.PlanResult {
	p := v.prog.Program
	if p.Kind != planner.KindSteps {
		return nil
	}
	query := ""
	if input, err := decode(v.run.Input); err == nil && input != nil {
		query = planner.Text(input)
	}
	r := &kairos.PlanResult{Success: v.run.Status == kairos.RunCompleted, Handoffs: []kairos.PlanHandoff{},
		Plan: kairos.PlanState{PlanID: p.ID, Query: query, Status: "executing", Summary: cmp.Or(p.Description, p.Name), CreatedAt: v.run.CreatedAt, CurrentStepIndex: len(p.Nodes) - 1}}
	switch v.run.Status {
	case kairos.RunCompleted, kairos.RunFailed, kairos.RunCancelled:
		r.Plan.Status = string(v.run.Status)
	}
	if v.run.Error != nil {
		r.Error, r.Plan.FailureReason = v.run.Error.Message, v.run.Error.Message
	}
	began, ended, failed := map[string]time.Time{}, map[string]time.Time{}, map[string]string{}
	for i := range v.journal {
		e := &v.journal[i]
		if e.Node == "" {
			continue
		}
		at := e.StartedAt
		if at.IsZero() {
			at = e.At
		}
		if _, ok := began[e.Node]; !ok {
			began[e.Node] = at
		}
		if e.Final {
			if ended[e.Node] = e.At; e.Failure != nil {
				failed[e.Node] = e.Failure.Message
			}
		}
	}
	outputs := kairos.ResultOf(kairos.RunDetail{Run: v.run, Journal: v.journal}).Outputs
	current := -1
	for i := range p.Nodes {
		n := &p.Nodes[i]
		s := kairos.PlanStepState{StepID: n.ID, StepIndex: i, AgentID: n.Agent, Task: taskOf(n), ExpectedOutput: n.ExpectedOutput, Status: "pending", StartedAt: began[n.ID]}
		switch status, _ := v.s.walk.Status(i); status {
		case planner.Completed, planner.Failed, planner.Skipped, planner.Cancelled:
			s.Status, s.CompletedAt = string(status), ended[n.ID]
			if status == planner.Failed {
				s.Error = failed[n.ID]
			}
			if raw, ok := outputs[n.ID]; ok && status == planner.Completed {
				if out, err := decode(raw); err == nil && out != nil {
					s.Result = planner.Text(out)
				}
			}
		default:
			if !s.StartedAt.IsZero() {
				s.Status = "in_progress"
			}
			if current < 0 {
				current = i
			}
		}
		if from := handover(p, i); n.Agent != "" && !s.StartedAt.IsZero() && from != n.Agent {
			r.Handoffs = append(r.Handoffs, kairos.PlanHandoff{HandoffID: handoffID(v.run.ID, n.ID), FromAgentID: from, ToAgentID: n.Agent, Reason: "plan_step",
				Explanation: "Executing plan step: " + s.Task, PlanStepID: n.ID, Timestamp: s.StartedAt})
		}
		r.Plan.Steps = append(r.Plan.Steps, s)
	}
	if current >= 0 {
		r.Plan.CurrentStepIndex = current
	}
	r.AggregatedResult = aggregate(r.Plan.Steps)
	return r
}

// handoffID names the handoff to a step of a run: the same whenever it is read.
func handoffID(run, step string) string { return run + ":" + step }
