package events

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// This file derives the events of step plans. They have exactly the fields of their source
// specification, in addition to the envelope.

// planEvent appends an event about the run's plan. These events have no field for the
// journal row.
func (d *deriver) planEvent(typ string, runSeq int64, data map[string]any) {
	data["planId"] = d.facts.plan
	d.add(typ, runSeq, data)
}

// agent returns the identity of an agent in the form of events.
func (d *deriver) agent(id string) map[string]any {
	return map[string]any{"agentId": id, "agentName": d.agents(id).Name}
}

func (d *deriver) planGenerated(p *walk.Program) {
	d.planGeneratedAt(p, 0)
	d.changed(0, runstate.SupervisorAgent) // the supervisor executes the plan
}

func (d *deriver) planGeneratedAt(p *walk.Program, runSeq int64) {
	steps := make([]any, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		steps[i] = map[string]any{"stepId": n.ID, "stepIndex": i, "agentId": n.Agent,
			"agentName": d.agents(n.Agent).Name, "task": runstate.TaskOf(n)}
	}
	d.planEvent("plan_generated", runSeq, map[string]any{"query": d.facts.query, "steps": steps, "estimatedSteps": len(steps)})
}

// planCompleted appends the event of the end of a run. A change to another status is not an end.
func (d *deriver) planCompleted(first *walk.Program) {
	var detail struct{ Status, StatusMessage, FailureReason string }
	if json.Unmarshal(d.ev.Detail, &detail) != nil || !domain.RunStatus(detail.Status).Final() {
		return
	}
	data := map[string]any{"status": detail.Status}
	if s := first.Summary(); s != "" {
		data["summary"] = s
	}
	switch {
	case detail.FailureReason != "":
		data["failureReason"] = detail.FailureReason
	case detail.Status == string(domain.RunFailed) && detail.StatusMessage != "":
		data["failureReason"] = detail.StatusMessage
	}
	d.planEvent("plan_completed", 0, data)
}

// passed returns the event of a handoff inside a node, which graphs have too.
func (d *deriver) passed(e *domain.Entry) {
	if e.Kind != domain.EntrySubstep || e.Status != domain.NodeCompleted {
		return
	}
	if !strings.HasPrefix(runstate.SubstepKind(e), "handoff:") {
		return
	}
	var h struct{ From, To, Reason, Explanation string }
	if json.Unmarshal(e.Input, &h) != nil {
		return
	}
	id := strings.TrimSuffix(runstate.MessageID(d.ev.Run, e, e.Substep, domain.MessageRequest), ":request")
	d.handoff(e.Seq, id, h.From, h.To, h.Reason, h.Explanation)
}

// handoff appends the event of a handoff from one agent to another.
func (d *deriver) handoff(runSeq int64, id, from, to, reason, explanation string) {
	data := map[string]any{"handoffId": id, "fromAgent": d.agent(from), "toAgent": d.agent(to), "reason": reason}
	if explanation != "" {
		data["explanation"] = explanation
	}
	d.add("agent_handoff", runSeq, data)
	d.changed(runSeq, to)
}

// changed appends the event of a change of the active agent.
func (d *deriver) changed(runSeq int64, id string) {
	data := d.agent(id)
	if who := d.agents(id); who.Icon != "" || who.Color != "" {
		data["agentIcon"], data["agentColor"] = who.Icon, who.Color
	}
	d.add("agent_changed", runSeq, data)
}

// stepEvents returns the events of a row of a step plan's run.
func (d *deriver) stepEvents(e *domain.Entry) {
	prog := d.facts.at(e.Seq)
	if prog == nil {
		return
	}
	if e.Kind == domain.EntryReplan {
		d.replanned(e, prog)
		return
	}
	i, ok := prog.Index[e.Node]
	if !ok {
		return
	}
	n := &prog.Nodes[i]
	if runstate.BeginsAttempt(e) {
		d.stepStarted(e, prog, n)
	}
	switch {
	case e.Kind == domain.EntryWait && domain.WaitReason(e.Reason) == domain.WaitRetry:
		data := map[string]any{"stepId": n.ID, "stepIndex": i, "attempt": e.Attempt, "maxAttempts": n.MostAttempts(), "nextAt": e.DueAt}
		if why := d.why[n.ID]; why != "" {
			data["error"] = why
		}
		d.planEvent("plan_step_retrying", e.Seq, data)
	case e.Kind == domain.EntryResult && e.Final:
		d.stepSettled(e, prog, n)
	}
}

// stepStarted returns the event of the start of an attempt. The first attempt of a step may change
// the agent, which has its own handoff event.
func (d *deriver) stepStarted(e *domain.Entry, prog *walk.Program, n *walk.ProgramNode) {
	if from := runstate.PreviousAgent(prog, n.Index); runstate.HandsOver(e, n.Agent, from) && !d.facts.dry {
		d.handoff(e.Seq, runstate.HandoffID(d.ev.Run, e.Seq), from, n.Agent, runstate.HandoffReason, runstate.ExplainStep(n))
	}
	d.planEvent("plan_step_started", e.Seq, map[string]any{"stepId": n.ID, "stepIndex": n.Index,
		"agentId": n.Agent, "agentName": d.agents(n.Agent).Name,
		"task": runstate.TaskOf(n)})
}

// stepSettled appends the events of a settled step, and of the steps that are skipped with it.
func (d *deriver) stepSettled(e *domain.Entry, prog *walk.Program, n *walk.ProgramNode) {
	decided := runstate.ReadDecision(e.Decision)
	data := map[string]any{"stepId": n.ID, "stepIndex": n.Index, "status": stepOutcome(e.Status, decided.Handled)}
	switch {
	case e.Status == domain.NodeCompleted && len(e.Output) > 0:
		if v, err := runstate.Decode(e.Output); err == nil && v != nil {
			data["result"] = n.Text(v)
		}
	case e.Failure != nil:
		data["error"] = e.Failure.Message
	case e.Status == domain.NodeCancelled:
		data["error"] = "cancelled"
	}
	d.planEvent("plan_step_completed", e.Seq, data)
	for _, c := range decided.Settled {
		if c.Status == string(walk.Skipped) {
			other := map[string]any{"stepId": c.Node, "stepIndex": prog.Index[c.Node], "status": "skipped"}
			switch {
			case c.Failed():
				other["status"], other["error"] = "failed", c.Explain()
			case c.Reason == walk.ReasonGateUnknown:
				other["error"] = c.Explain()
			}
			d.planEvent("plan_step_completed", e.Seq, other)
		}
	}
}

// stepOutcome returns the status of a settled step in its completed event. The source specification
// has no cancelled steps; they count as failed.
func stepOutcome(status domain.NodeStatus, handled string) string {
	switch {
	case status == domain.NodeCompleted:
		return "completed"
	case status == domain.NodeSkipped, handled == runstate.HandledSkip:
		return "skipped"
	}
	return "failed"
}

// replanned returns the events of a replan: the end of the failed step and of the steps that the
// new version leaves out, and then the new version.
func (d *deriver) replanned(e *domain.Entry, before *walk.Program) {
	var r runstate.Replan
	if json.Unmarshal(e.Decision, &r) != nil {
		return
	}
	end := func(node, status, why string) {
		if i, ok := before.Index[node]; ok {
			d.planEvent("plan_step_completed", e.Seq, map[string]any{"stepId": node, "stepIndex": i, "status": status, "error": why})
		}
	}
	why := "failed"
	if e.Failure != nil {
		why = e.Failure.Message
	}
	end(r.Node, "failed", why)
	for _, node := range r.Dropped {
		end(node, "skipped", fmt.Sprintf("version %d of the plan does not continue it", r.Version))
	}
	if after := d.facts.at(e.Seq + 1); after != nil {
		d.planGeneratedAt(after, e.Seq)
	}
}
