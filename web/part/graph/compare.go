package graph

import (
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Classes of the steps and edges that differ between two versions of a plan.
const (
	partAdded   = "plus"
	partRemoved = "minus"
	partChanged = "differs"
)

// partWords are the texts in the boxes.
var partWords = map[string]string{
	partAdded:   locale.Mark("+ added"),
	partRemoved: locale.Mark("− removed"),
	partChanged: locale.Mark("~ changed"),
}

// partLooks are the additional classes of boxes: drawn like completed, failed and dashed, or
// waiting steps.
var partLooks = map[string]string{partAdded: " ok", partRemoved: " fail skip", partChanged: " need"}

// lineLooks are the additional classes of edges: thick for added ones, dashed for removed ones.
var lineLooks = map[string]string{partAdded: " t", partRemoved: " n"}

// removedFrom is the first index of the edges that exist only in the earlier version.
const removedFrom = 1 << 20

// Comparison combines two versions of a plan in one graph: the later version, plus the steps and
// edges that it no longer has.
type Comparison struct {
	program *walk.Program
	effects []walk.Effect     // side-effect classes of its steps
	nodes   map[string]string // step id to its change
	edges   map[int]string    // index of an edge to its change
	needs   map[[2]string]string
	counts  map[string]int // number of steps by change
	// Href returns the link of a step's box. If it is nil, boxes have no links. Chosen is the id of
	// the selected step.
	Href   func(node string) string
	Chosen string
}

// Programs provides compiled versions of plans.
type Programs interface {
	Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error)
	// Effects returns the side-effect classes of the steps, in their order.
	Effects(ctx context.Context, ref domain.ProgramRef) ([]walk.Effect, error)
}

// Compare compares two stored versions.
func Compare(ctx context.Context, of Programs, before, after string) (*Comparison, error) {
	var programs [2]*walk.Program
	var effects [2][]walk.Effect
	for i, hash := range []string{before, after} {
		var err error
		if programs[i], err = of.Program(ctx, domain.AsWritten(hash)); err != nil {
			return nil, err
		}
		if effects[i], err = of.Effects(ctx, domain.AsWritten(hash)); err != nil {
			return nil, err
		}
		effects[i] = effects[i][:len(programs[i].Nodes)] // without those of blocks
	}
	c := compared(programs[0], programs[1])
	c.effects = effects[1]
	for _, n := range c.program.Nodes[len(effects[1]):] { // steps that exist only in the earlier version
		c.effects = append(c.effects, effects[0][programs[0].Index[n.ID]])
	}
	return c, nil
}

// Removed reports whether a step exists only in the earlier version.
func (c *Comparison) Removed(node string) bool { return c.nodes[node] == partRemoved }

// compared combines two versions.
func compared(a, b *walk.Program) *Comparison {
	c := &Comparison{
		program: &walk.Program{ID: b.ID, Name: b.Name, Kind: b.Kind},
		nodes:   map[string]string{},
		edges:   map[int]string{},
		needs:   map[[2]string]string{},
		counts:  map[string]int{},
	}
	index := map[string]int{}
	p := c.program
	a2, b2 := alone(a), alone(b)
	mark := func(id, what string) { c.nodes[id], c.counts[what] = what, c.counts[what]+1 }
	for i := range b.Nodes {
		n := b.Nodes[i]
		n.Out, n.Needs = append([]walk.ProgramEdge(nil), n.Out...), append([]int(nil), n.Needs...)
		index[n.ID] = i
		p.Nodes = append(p.Nodes, n)
		if j, ok := a.Index[n.ID]; !ok {
			mark(n.ID, partAdded)
		} else if b2.Fingerprint(i) != a2.Fingerprint(j) {
			mark(n.ID, partChanged)
		}
	}
	p.Roots = append(p.Roots, b.Roots...)
	for i := range a.Nodes {
		n := a.Nodes[i]
		if _, ok := index[n.ID]; ok {
			continue
		}
		n.Index, n.Out, n.Needs = len(p.Nodes), nil, nil
		index[n.ID] = n.Index
		p.Nodes = append(p.Nodes, n)
		mark(n.ID, partRemoved)
	}
	type link struct{ from, to, text string }
	links := func(of *walk.Program) map[link]int {
		out := map[link]int{}
		for i := range of.Nodes {
			for _, e := range of.Nodes[i].Out {
				out[link{of.Nodes[i].ID, of.Target(e), e.Text}] = e.Position
			}
		}
		return out
	}
	before, after := links(a), links(b)
	for l, at := range after {
		if _, ok := before[l]; !ok {
			c.edges[at] = partAdded
		}
	}
	needed := func(of *walk.Program, node, need string) bool {
		i, ok := of.Index[node]
		if !ok {
			return false
		}
		for _, n := range of.Nodes[i].Needs {
			if of.Nodes[n].ID == need {
				return true
			}
		}
		return false
	}
	for i := range b.Nodes {
		for _, n := range b.Nodes[i].Needs {
			if to, from := b.Nodes[i].ID, b.Nodes[n].ID; !needed(a, to, from) {
				c.needs[[2]string{from, to}] = partAdded
			}
		}
	}
	for i := range a.Nodes {
		from := &p.Nodes[index[a.Nodes[i].ID]]
		for _, e := range a.Nodes[i].Out {
			to := a.Target(e)
			if _, ok := after[link{from.ID, to, e.Text}]; ok {
				continue
			}
			if e.Position += removedFrom; e.To != walk.End {
				e.To = index[to]
			}
			from.Out = append(from.Out, e)
			c.edges[e.Position] = partRemoved
		}
		for _, n := range a.Nodes[i].Needs {
			need := a.Nodes[n].ID
			if needed(b, from.ID, need) {
				continue
			}
			from.Needs = append(from.Needs, index[need])
			c.needs[[2]string{need, from.ID}] = partRemoved
		}
	}
	p.Index = index
	return c
}

// alone returns a plan without its edges, which are compared separately.
func alone(p *walk.Program) *walk.Program {
	out := &walk.Program{Nodes: append([]walk.ProgramNode(nil), p.Nodes...)}
	for i := range out.Nodes {
		out.Nodes[i].Out, out.Nodes[i].Needs = nil, nil
	}
	return out
}

// Graph draws the comparison. A large graph is folded around the first change.
func (c *Comparison) Graph(u *ui.Context, l *Layouts) *Graph {
	o := diagram.Options{Focus: c.Chosen}
	if len(c.program.Nodes) > FoldFrom && u.Query("all") == "" {
		o.Most = FoldTo
		for i := range c.program.Nodes {
			if id := c.program.Nodes[i].ID; c.Chosen == "" && c.nodes[id] != "" {
				o.Focus = id
				break
			}
		}
	}
	words := map[string]string{}
	for what, word := range partWords {
		words[what] = u.T(word)
	}
	p := Painter{
		Drawing:  l.Draw(c.program, c.effects, o),
		words:    words,
		Href:     c.Href,
		Selected: c.Chosen,
		Focus:    c.Chosen != "",
		class:    c.ofBox,
		line:     c.ofEdge,
	}
	g := p.Paint(u)
	if o.Most > 0 {
		g.Fold(u, p.Drawing, len(c.program.Nodes), u.Echo.Request().URL.Path+"?all=1")
	}
	return g
}

// ofBox returns the change of the steps in a box.
func (c *Comparison) ofBox(n *diagram.Node) string {
	what := c.nodes[n.Members[0]]
	for _, id := range n.Members {
		if c.nodes[id] != what {
			return partChanged // the steps differ in their changes
		}
	}
	return what
}

func (c *Comparison) ofEdge(e *diagram.Edge) string {
	if e.Position < 0 {
		return c.needs[[2]string{e.From, e.To}]
	}
	return c.edges[e.Position]
}

// Summary describes the number of changed steps.
func (c *Comparison) Summary(u *ui.Context) string {
	var parts []string
	if n := c.counts[partAdded]; n > 0 {
		parts = append(parts, u.N(n, "%s step added", "%s steps added"))
	}
	if n := c.counts[partRemoved]; n > 0 {
		parts = append(parts, u.N(n, "%s step removed", "%s steps removed"))
	}
	if n := c.counts[partChanged]; n > 0 {
		parts = append(parts, u.N(n, "%s step changed", "%s steps changed"))
	}
	return strings.Join(parts, ", ")
}

// mark shows the change in a box.
func (p *Painter) mark(v *Node, n *diagram.Node, description *string) {
	what := p.class(n)
	if what == "" {
		return
	}
	v.Class, v.Detail = what+partLooks[what], p.words[what]
	*description = strings.TrimPrefix(*description+", "+p.words[what], ", ")
}
