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
// document omits them, because a drawing shows only what its program contains.
func WithEffects(p *walk.Program, effects []walk.Effect) *walk.Program {
	out := *p
	out.Nodes = slices.Clone(p.Nodes)
	for i, e := range effects {
		out.Nodes[i].Effect = e
	}
	return &out
}

// EffectsIn returns the side-effect classes of a program that is not stored, from the catalog.
func EffectsIn(c *planner.Catalog, p *walk.Program) []walk.Effect {
	out := make([]walk.Effect, len(p.Nodes))
	for i := range p.Nodes {
		out[i] = c.EffectOf(&p.Nodes[i])
	}
	return out
}
