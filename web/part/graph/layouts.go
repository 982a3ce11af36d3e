package graph

import (
	"slices"
	"sync"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Layouts caches drawings of plan versions. Versions never change, and the layout takes longer than
// the rest of a page.
type Layouts struct {
	mu    sync.Mutex
	drawn map[layoutKey]*diagram.Drawing
	order []layoutKey // oldest first
}

type layoutKey struct {
	hash   string
	unsafe string // one bit per step, because side-effect classes may change while the version does not
	o      diagram.Options
}

// maxLayouts is the maximum number of cached drawings.
const maxLayouts = 64

// Draw returns the drawing of a plan with the side-effect classes of its steps. The result is
// shared and must not be changed.
func (l *Layouts) Draw(p *walk.Program, effects []walk.Effect, o diagram.Options) *diagram.Drawing {
	if o.Most == 0 {
		o.Focus = "" // the focus matters only for folded graphs
	}
	k := layoutKey{p.Hash, unsafeOf(effects), o}
	l.mu.Lock()
	d := l.drawn[k]
	l.mu.Unlock()
	if d != nil && p.Hash != "" {
		return d
	}
	d = diagram.Layout(WithEffects(p, effects), o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn == nil {
		l.drawn = map[layoutKey]*diagram.Drawing{}
	}
	if l.drawn[k] == nil {
		l.order = append(l.order, k)
	}
	l.drawn[k] = d
	if len(l.order) > maxLayouts {
		delete(l.drawn, l.order[0])
		l.order = l.order[1:]
	}
	return d
}

// unsafeOf returns one bit per step, which is set for a non-idempotent step.
func unsafeOf(effects []walk.Effect) string {
	bits := make([]byte, (len(effects)+7)/8)
	for i, e := range effects {
		if e == walk.EffectUnsafe {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return string(bits)
}

// WithEffects returns a copy of a program whose steps have their side-effect classes, even if the
// document omits them, because a drawing shows only what its program contains. The classes of blocks follow
// those of the steps.
func WithEffects(p *walk.Program, effects []walk.Effect) *walk.Program {
	out, _ := withEffects(p, effects)
	return out
}

// withEffects also returns the classes that are left for other programs.
func withEffects(p *walk.Program, effects []walk.Effect) (out *walk.Program, left []walk.Effect) {
	with := *p
	with.Nodes = slices.Clone(p.Nodes)
	for i := range with.Nodes[:min(len(with.Nodes), len(effects))] {
		with.Nodes[i].Effect = effects[i]
	}
	left = effects[min(len(with.Nodes), len(effects)):]
	for i := range with.Nodes {
		if b := with.Nodes[i].Block; b != nil {
			inner := *b
			inner.Program, left = withEffects(b.Program, left)
			with.Nodes[i].Block = &inner
		}
	}
	return &with, left
}

// Step is a step of a plan or of one of its blocks, such as ship/reserve.
type Step struct {
	Path string
	Node *walk.ProgramNode
}

// Steps returns the steps of a program, and then those of its blocks: the order of their side-effect classes.
func Steps(p *walk.Program) []Step {
	var out []Step
	for i := range p.Nodes {
		out = append(out, Step{p.Nodes[i].ID, &p.Nodes[i]})
	}
	for i := range p.Nodes {
		if b := p.Nodes[i].Block; b != nil {
			for _, s := range Steps(b.Program) {
				out = append(out, Step{p.Nodes[i].ID + "/" + s.Path, s.Node})
			}
		}
	}
	return out
}

// EffectsIn returns the side-effect classes of a program that is not stored, from the catalog: of its steps, and
// then of its blocks.
func EffectsIn(c *planner.Catalog, p *walk.Program) []walk.Effect {
	var out []walk.Effect
	for _, s := range Steps(p) {
		out = append(out, c.EffectOf(s.Node))
	}
	return out
}
