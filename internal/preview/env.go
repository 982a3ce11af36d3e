package preview

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// Env contains the facts that a preview needs besides the run. Its functions are safe for
// concurrent use.
type Env struct {
	Now func() time.Time
	// Effect returns the side-effect class of a node with this input.
	Effect func(p *runstate.Compiled, n *walk.ProgramNode, input any) walk.Effect
	// Stepped reports whether all side effects of a node are substeps.
	Stepped func(n *walk.ProgramNode) bool
	// Executes reports whether an attempt of the run is active in this process.
	Executes func(run string) bool
	// OwnRunsOnly is true if this process executes only runs that it started. Runs that other
	// processes left unfinished then wait for a resume.
	OwnRunsOnly bool
}

// StaticEffect returns the side-effect class of a node as far as it is known without the input.
func (v *Env) StaticEffect(p *runstate.Compiled, n *walk.ProgramNode) walk.Effect {
	if n.Input == nil {
		return v.Effect(p, n, nil)
	}
	return v.Effect(p, n, n.Input.Source)
}

// Unattended reports whether another process may have left the run unfinished, so that no
// process executes it.
func (v *Env) Unattended(r domain.Run) bool {
	return v.OwnRunsOnly && (r.Status == domain.RunRunning || r.Status == domain.RunQueued)
}

// LostOutcome returns the outcome of an attempt in flight whose process has crashed.
func (v *Env) LostOutcome(p *walk.Program, w *runstate.Step, cancelled bool) runstate.Outcome {
	return runstate.LostOutcome(w, v.Stepped(&p.Nodes[w.Node]), cancelled)
}
