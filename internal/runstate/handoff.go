package runstate

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// SupervisorAgent is the sender of the handoff to the first agent of a plan.
const SupervisorAgent = "supervisor"

// HandoffReason is the reason of a handoff at the start of a step.
const HandoffReason = "plan_step"

// BeginsAttempt reports whether the row begins an attempt. A non-idempotent or waiting attempt has
// a separate row for that. Any other attempt has a single row, which is written at its end.
func BeginsAttempt(e *domain.Entry) bool {
	if e.Substep != 0 || e.StartedAt.IsZero() {
		return false
	}
	switch e.Kind {
	case domain.EntryIntent:
		return true
	case domain.EntryWait:
		return e.Effect == string(walk.EffectControl) && len(e.Decision) == 0 || e.Effect == string(walk.EffectPure)
	case domain.EntryResult:
		return e.Effect == string(walk.EffectPure)
	}
	return false
}

// HandsOver reports whether the attempt that a row begins has another agent. A further attempt of
// the same step does not count.
func HandsOver(e *domain.Entry, agent, from string) bool {
	return agent != "" && agent != from && e.Attempt <= 1
}

// HandoffID returns the ID of the handoff of an attempt that begins with a journal row. It is the
// same at every read.
func HandoffID(run string, seq int64) string { return run + ":" + strconv.FormatInt(seq, 10) }

// ExplainStep returns the reason of a handoff at the start of a step.
func ExplainStep(n *walk.ProgramNode) string { return "Executing plan step: " + TaskOf(n) }

// TaskOf returns the name of a step for people.
func TaskOf(n *walk.ProgramNode) string { return cmp.Or(n.Task, n.Tool, n.Plan, n.ID) }

// PreviousAgent returns the agent before a step of a step plan: that of the last dependency, by
// order, with an agent, or else the supervisor.
func PreviousAgent(p *walk.Program, index int) string {
	from, order := SupervisorAgent, -1
	for i, needed := range Ancestors(p, index) {
		if n := &p.Nodes[i]; needed && n.Agent != "" && n.Order > order {
			from, order = n.Agent, n.Order
		}
	}
	return from
}

// Ancestors marks the nodes that a node depends on, directly or indirectly.
func Ancestors(p *walk.Program, node int) []bool {
	before := make([]bool, len(p.Nodes))
	var visit func(i int)
	visit = func(i int) {
		for _, need := range p.Nodes[i].Needs {
			if !before[need] {
				before[need] = true
				visit(need)
			}
		}
	}
	visit(node)
	return before
}

// MessageID returns the ID of a message about an attempt, or with n > 0 about a sub-step. It is the
// same at every computation.
func MessageID(run string, e *domain.Entry, n int, t domain.MessageType) string {
	id := fmt.Sprintf("%s:%s:%d:%d:%d", run, e.Node, e.Visit, e.Item, e.Attempt)
	if n > 0 { // an attempt after a crash inherits the sub-steps of the previous one
		id = fmt.Sprintf("%s:%s:%d:%d:s%d", run, e.Node, e.Visit, e.Item, n)
	}
	return id + ":" + string(t)
}
