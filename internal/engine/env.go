package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// env is what a preview needs to know besides the run.
type env struct {
	now func() time.Time
	// effect is what running a node with this input may do.
	effect func(p *program, n *planner.ProgramNode, input any) planner.Effect
	// stepped reports whether everything with an effect in a node is a sub-step.
	stepped func(n *planner.ProgramNode) bool
	// executes reports whether an attempt of the run is under way in this process.
	executes func(run string) bool
	// ownRunsOnly: runs that other processes left unfinished have nobody who executes
	// them.
	ownRunsOnly bool
}

// staticEffect is a node's effect as far as it is known without its input.
func (v *env) staticEffect(p *program, n *planner.ProgramNode) planner.Effect {
	if n.Input == nil {
		return v.effect(p, n, nil)
	}
	return v.effect(p, n, n.Input.Source)
}

// unattended reports whether a run that is neither over nor waiting may have nobody who
// executes it: another process left it, and this one executes only its own.
func (v *env) unattended(r domain.Run) bool {
	return v.ownRunsOnly && (r.Status == domain.RunRunning || r.Status == domain.RunQueued)
}

// lost is the outcome of an attempt that nobody runs any more, because its process died.
func (v *env) lost(p *planner.Program, w *runstate.Step, cancelled bool) runstate.Outcome {
	return runstate.AttemptEnd{Effect: w.Effect, OpenCall: len(w.CallsInFlight) > 0, Interrupted: true, Cancelled: cancelled, MaxAttempts: 1,
		Stepped: v.stepped(&p.Nodes[w.Node])}.Outcome()
}
