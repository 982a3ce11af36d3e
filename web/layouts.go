package web

import (
	"sync"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/planner"
)

// layouts remembers where the nodes of plan versions are drawn: versions never
// change, and laying out takes longer than the rest of a page.
type layouts struct {
	mu    sync.Mutex
	drawn map[layoutKey]*diagram.Drawing
	order []layoutKey // oldest first
}

type layoutKey struct {
	hash string
	o    diagram.Options
}

// maxLayouts bounds how many are remembered.
const maxLayouts = 64

// layout draws a plan; the drawing is shared and must not be changed.
func (s *Server) layout(p *planner.Program, o diagram.Options) *diagram.Drawing {
	if o.Most == 0 {
		o.Focus = "" // it matters only for what is folded
	}
	k := layoutKey{p.Hash, o}
	l := &s.layouts
	l.mu.Lock()
	d := l.drawn[k]
	l.mu.Unlock()
	if d != nil && p.Hash != "" {
		return d
	}
	d = diagram.Layout(p, o)
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
