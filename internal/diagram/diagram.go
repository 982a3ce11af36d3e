// Package diagram draws plans: a layered layout from left to right as plain
// geometry, which the dashboard and the command line turn into pictures, a
// standalone SVG, and the same plan as Mermaid and DOT text.
//
// The layout is deterministic: cycles are broken depth first, nodes are ranked
// by longest path, edges get room in every rank they cross, ranks are ordered
// by barycentres, and edges run at right angles.
package diagram

import (
	"github.com/kairosd/kairosd/planner/walk"
)

// Drawing is a laid-out plan. Lengths are in CSS pixels, y grows downwards.
type Drawing struct {
	Title         string
	Width, Height float64
	// Compact drawings have small nodes with one line of text.
	Compact bool
	Nodes   []Node // in file order
	Edges   []Edge // in file order: edges, then needs
	// Left is how many nodes of the plan are not drawn, see [Options.Most].
	Left int
}

// Shape is the outline of a node (by its kind).
type Shape string

const (
	ShapeTool     Shape = "tool"     // rectangle
	ShapeModel    Shape = "model"    // rectangle with a double left edge
	ShapeAgent    Shape = "agent"    // rounded
	ShapeHandoff  Shape = "handoff"  // an agent that hands its work over: a pentagon
	ShapeDecision Shape = "decision" // hexagon
	ShapeApproval Shape = "approval" // diamond ends
	ShapePlan     Shape = "plan"     // stacked
	ShapeWait     Shape = "wait"     // half-round ends
	ShapeQuiet    Shape = "quiet"    // set, log, noop: rectangle with a thin outline
	ShapeGroup    Shape = "group"    // several nodes in one: stacked
)

// Node is a drawn node; X and Y are its upper left corner.
type Node struct {
	ID, Type string
	// Agent is the agent of the step, or "".
	Agent string
	Shape Shape
	// Label is the ID, cut to fit. Note describes the node, cut to fit.
	Label, Note string
	X, Y, W, H  float64
	// Outline is the closed path of the node, Detail further lines or "".
	Outline, Detail string
	Rank            int
	Root            bool
	Foreach         bool
	Unsafe          bool // its effect cannot be repeated, from the program
	// Members are the nodes that it stands for: itself, or those folded into it.
	Members []string
}

// Edge is a drawn edge or need.
type Edge struct {
	From, To string
	// Position is the index in the document's edges; -1 for a need.
	Position int
	// Path is SVG path data that ends at the arrow's tip; Arrow is the closed
	// path of the head.
	Path, Arrow string
	TipX, TipY  float64
	// Label is the condition, cut to fit; Condition is all of it.
	Label, Condition string
	// LabelX and LabelY are the centre of the label's box.
	LabelX, LabelY, LabelW, LabelH float64
	Back                           bool // leads back: a loop
	Need                           bool
	Failed                         bool // taken when the source fails
	Fallback                       bool // taken when nothing else is, or unconditional
	Handoff                        bool // work passes from one agent to another
}

// Options of a layout; the zero value is right for most.
type Options struct {
	// Compact asks for small nodes; plans with more than 60 nodes get them anyway.
	Compact bool
	// Most, if not 0, is how many boxes are drawn: of larger plans, chains and
	// fans are folded into one box each, and what is far from the focus is left
	// out.
	Most int
	// Focus is the node around which nothing is folded; "": the first.
	Focus string
}

const compactFrom = 60

// Layout draws a plan.
func Layout(p *walk.Program, o Options) *Drawing {
	s, compact := sizesFor(len(p.Nodes), o)
	d := pictureOf(p, s).fold(o.Most, o.Focus, s).draw(s, compact)
	d.Title = p.Name
	if d.Title == "" {
		d.Title = p.ID
	}
	return d
}

// LayoutRun draws a run as it went: one box per visit, loops unrolled. Edges lead
// from each visit to those that came from it.
func LayoutRun(p *walk.Program, visits []Visit, o Options) *Drawing {
	s, compact := sizesFor(len(visits), o)
	return ran(p, visits, s).fold(o.Most, o.Focus, s).draw(s, compact)
}

func sizesFor(nodes int, o Options) (sizes, bool) {
	if n := nodes; o.Most > 0 {
		nodes = min(n, o.Most)
	}
	if o.Compact || nodes > compactFrom {
		return sizes{nodeW: 110, nodeH: 26, gap: 10, lane: 8, margin: 12, radius: 4, channel: 26, chars: 14, mark: 3}, true
	}
	return sizes{nodeW: 150, nodeH: 46, gap: 20, lane: 10, margin: 16, radius: 5, channel: 34, chars: 18, mark: 2}, false
}

func (pic picture) draw(s sizes, compact bool) *Drawing {
	pic.handOff()
	g := build(pic, s)
	g.rankAll()
	g.addChains()
	g.orderRanks()
	g.place()
	d := g.route()
	d.Compact, d.Left = compact, pic.left
	return d
}

// Outline is the closed path of a shape in a box at the origin, and the path of
// what is drawn inside or behind it; "": nothing.
func Outline(s Shape, w, h float64) (closed, detail string) { return outline(s, 0, 0, w, h) }

// Shapes are all shapes.
var Shapes = []Shape{
	ShapeTool,
	ShapeModel,
	ShapeAgent,
	ShapeHandoff,
	ShapeDecision,
	ShapeApproval,
	ShapePlan,
	ShapeWait,
	ShapeQuiet,
	ShapeGroup,
}

// sizes of everything drawn.
type sizes struct {
	nodeW, nodeH float64
	gap          float64 // between nodes of a rank
	lane         float64 // between an edge and its neighbours
	margin       float64
	radius       float64
	channel      float64 // least distance of two ranks
	chars        int     // longest label
	mark         int     // letters that the mark of side effects takes of it
}
