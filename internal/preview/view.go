package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// View is a run with its folded journal. Methods that change its State document it.
type View struct {
	Env     *Env
	Run     domain.Run
	Program *runstate.Compiled
	Journal []domain.Entry
	State   *runstate.State
	// Damage describes a damaged journal. It is nil for an intact one. With damage, Journal and
	// State contain the rows before it, and After the intact rows after it.
	Damage *domain.Damage
	After  []domain.Entry
	// Undone holds the undo runs of the steps that were or will be undone. A fork does not keep these.
	Undone map[runstate.StepRef]string
}

// lists contains the steps of a preview by what happens to them.
type lists struct {
	keep, again, fresh, doubt, dropped, effects, later, given []domain.PreviewStep
}

// fill sets the lists of a preview and its digest.
func (l lists) fill(p *domain.Preview) {
	some := func(s []domain.PreviewStep) []domain.PreviewStep {
		if s == nil {
			return []domain.PreviewStep{}
		}
		return s
	}
	p.Keep, p.Again, p.New = some(l.keep), some(l.again), some(l.fresh)
	p.InDoubt, p.Dropped, p.Effects = some(l.doubt), some(l.dropped), some(l.effects)
	p.Later, p.Given = l.later, l.given
	p.Digest = seal(*p)
}

// fillResume is fill for a resume, which keeps every settled step. In the digest, the history of
// the state represents those steps. The runner of a long run does not keep its history, and
// computes the same digest.
func (l lists) fillResume(p *domain.Preview, settled []domain.PreviewStep, history uint64) {
	answered := l.keep
	l.keep = append(settled, answered...)
	l.fill(p)
	sealed := *p
	sealed.Keep = answered
	p.Digest = digestOf(seal(sealed), strconv.FormatUint(history, 16))
}

// seal returns the digest of a preview.
func seal(sealed domain.Preview) string {
	sealed.Rev, sealed.Digest, sealed.Points = 0, "", nil
	sum := sha256.Sum256(runstate.MustJSON(sealed))
	return hex.EncodeToString(sum[:])
}

// touches reports whether a node with this effect can have side effects in other systems.
func touches(e walk.Effect) bool {
	return e == walk.EffectIdempotent || e == walk.EffectUnsafe
}

// answeredStep returns a visit that a person's resolution settles.
func (v *View) answeredStep(p *runstate.Compiled, w *runstate.Step) domain.PreviewStep {
	n := &p.Nodes[w.Node]
	step := domain.PreviewStep{Node: n.ID, Visit: w.Visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p, n))}
	switch w.Resolution.Action {
	case runstate.ActionHappened:
		step.Status, step.Reason = domain.NodeCompleted, domain.Messagef(runstate.ReasonHappened)
	case runstate.ActionSkip:
		step.Status, step.Reason = domain.NodeSkipped, domain.Messagef(runstate.ReasonSkipped)
	case runstate.ActionFail:
		step.Status, step.Reason = domain.NodeFailed, domain.Messagef(runstate.ReasonFailed)
	}
	return step
}

// givenStep returns a visit whose result exists before it runs.
func (v *View) givenStep(p *runstate.Compiled, node, visit int, why string) domain.PreviewStep {
	n := &p.Nodes[node]
	return domain.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p, n)),
		Status: domain.NodeCompleted, Reason: domain.Messagef(why)}
}

func (v *View) doubtStep(p *runstate.Compiled, w *runstate.Step) domain.PreviewStep {
	n := &p.Nodes[w.Node]
	step := domain.PreviewStep{Node: n.ID, Visit: w.Visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p, n)),
		Status: domain.NodeInDoubt,
		Reason: domain.Messagef("first state whether it happened")}
	if w.Item != runstate.NoItem {
		step.Items = []int{w.Item}
	}
	return step
}

// seen counts the rows that began each node, including rows after damage.
func (v *View) seen() map[string]int {
	seen := ran(v.Journal)
	if v.Damage != nil {
		for _, s := range v.Damage.Steps {
			seen[s.Node]++
		}
	}
	return seen
}

// ran counts how often each node started. A step that was cancelled before its first attempt does
// not count.
func ran(journal []domain.Entry) map[string]int {
	seen := map[string]int{}
	for i := range journal {
		switch e := &journal[i]; e.Kind {
		case domain.EntryIntent, domain.EntryResult, domain.EntryWait:
			if e.Node != "" && e.Status != domain.NodeSkipped && !(e.Status == domain.NodeCancelled && e.Attempt == 0) {
				seen[e.Node]++
			}
		}
	}
	return seen
}

// kept lists visits that are settled and remain settled.
func (v *View) kept(p *runstate.Compiled, s *runstate.State) []domain.PreviewStep {
	var list []domain.PreviewStep
	for _, d := range s.Settled {
		n := &p.Nodes[d.Node]
		if d.Visit == 0 {
			continue // skipped without a visit
		}
		list = append(list, domain.PreviewStep{Node: n.ID, Visit: d.Visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p,
			n)), Status: d.Status})
	}
	return list
}

// blank returns a preview without steps.
func (v *View) blank(action domain.Action) domain.Preview {
	return domain.Preview{Run: v.Run.ID, Action: action, Rev: v.Run.LastSeq, Damage: v.Damage,
		PreviewTarget: domain.PreviewTarget{Hash: v.Run.Hash, Version: v.Run.Version}}
}
