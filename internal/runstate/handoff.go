package runstate

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// SupervisorAgent hands over to the first agent of a plan.
const SupervisorAgent = "supervisor"

// HandoffReason is the reason of a handoff that comes with the start of a step.
const HandoffReason = "plan_step"

// BeginsAttempt reports whether an attempt begins with the row. One that must not be
// repeated, or waits, has a row of its own for that; any other has a single row,
// written when it ended.
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

// HandsOver reports whether the attempt that a row begins brings another agent. A
// further attempt changes no agent.
func HandsOver(e *domain.Entry, agent, from string) bool {
	return agent != "" && agent != from && e.Attempt <= 1
}

// HandoffID names the handoff that the attempt beginning with a journal row brings:
// the same whenever it is read.
func HandoffID(run string, seq int64) string { return run + ":" + strconv.FormatInt(seq, 10) }

// ExplainStep returns why a step's agent is given work.
func ExplainStep(n *walk.ProgramNode) string { return "Executing plan step: " + TaskOf(n) }

// TaskOf is what a step is called where people read it.
func TaskOf(n *walk.ProgramNode) string { return cmp.Or(n.Task, n.Tool, n.Plan, n.ID) }

// PreviousAgent is the agent before a step of a step plan: that of the last step in
// order, among those it depends on, that has one, else the supervisor.
func PreviousAgent(p *walk.Program, index int) string {
	from, order := SupervisorAgent, -1
	for i, needed := range Ancestors(p, index) {
		if n := &p.Nodes[i]; needed && n.Agent != "" && n.Order > order {
			from, order = n.Agent, n.Order
		}
	}
	return from
}

// Ancestors marks the nodes that a node needs, directly or not.
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

// MessageID names a message about one attempt, or with n > 0 about one sub-step: the
// same whenever it is made again.
func MessageID(run string, e *domain.Entry, n int, t domain.MessageType) string {
	id := fmt.Sprintf("%s:%s:%d:%d:%d", run, e.Node, e.Visit, e.Item, e.Attempt)
	if n > 0 { // an attempt after a crash inherits the sub-steps of the one before
		id = fmt.Sprintf("%s:%s:%d:%d:s%d", run, e.Node, e.Visit, e.Item, n)
	}
	return id + ":" + string(t)
}
