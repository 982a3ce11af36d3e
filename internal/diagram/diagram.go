// Package diagram draws plans: a layered layout from left to right as plain
// geometry, which the dashboard and the command line turn into pictures, a
// standalone SVG, and the same plan as Mermaid and DOT text.
//
// The layout is deterministic: cycles are broken depth first, nodes are ranked
// by longest path, edges get room in every rank they cross, ranks are ordered
// by barycentres, and edges run at right angles.
package diagram

import (
	"github.com/kairosd/kairosd/planner"
)

// Drawing is a laid-out plan. Lengths are in CSS pixels, y grows downwards.
type Drawing struct {
	Title         string
	Width, Height float64
	// Compact drawings have small nodes with one line of text.
	Compact bool
	Nodes   []Node // in file order
	Edges   []Edge // in file order: edges, then needs
}

// Shape is the outline of a node (by its kind).
type Shape string

const (
	ShapeTool     Shape = "tool"     // rectangle
	ShapeModel    Shape = "model"    // rectangle with a double left edge
	ShapeAgent    Shape = "agent"    // rounded
	ShapeDecision Shape = "decision" // hexagon
	ShapeApproval Shape = "approval" // diamond ends
	ShapePlan     Shape = "plan"     // stacked
	ShapeWait     Shape = "wait"     // half-round ends
	ShapeQuiet    Shape = "quiet"    // set, log, noop: rectangle with a thin outline
)

// Node is a drawn node; X and Y are its upper left corner.
type Node struct {
	ID, Type string
	Shape    Shape
	// Label is the id, cut to fit; Note says what the node does, cut to fit.
	Label, Note string
	X, Y, W, H  float64
	// Outline is the closed path of the node, Detail further lines or "".
	Outline, Detail string
	Rank            int
	Root            bool
	Foreach         bool
	Unsafe          bool // the document or its type says so
}

// Edge is a drawn edge or need.
type Edge struct {
	From, To string
	// Position is the index in the document's edges; -1 for a need.
	Position int
	// Path is SVG path data that ends at the arrow's tip; Arrow is the closed
	// path of the head.
	Path, Arrow string
	// Label is the condition, cut to fit; Condition is all of it.
	Label, Condition string
	// LabelX and LabelY are the centre of the label's box.
	LabelX, LabelY, LabelW, LabelH float64
	Back                           bool // leads back: a loop
	Need                           bool
	Failed                         bool // taken when the source fails
	Fallback                       bool // taken when nothing else is, or unconditional
}

// Options of a layout; the zero value is right for most.
type Options struct {
	// Compact asks for small nodes; plans with more than 60 nodes get them anyway.
	Compact bool
}

const compactFrom = 60

// Layout draws a plan.
func Layout(p *planner.Program, o Options) *Drawing {
	s := sizes{nodeW: 150, nodeH: 46, gap: 20, lane: 10, margin: 16, radius: 5, channel: 34, chars: 18}
	compact := o.Compact || len(p.Nodes) > compactFrom
	if compact {
		s = sizes{nodeW: 110, nodeH: 26, gap: 10, lane: 8, margin: 12, radius: 4, channel: 26, chars: 14}
	}
	g := build(p, s)
	g.rankAll()
	g.addChains()
	g.orderRanks()
	g.place()
	d := g.route()
	d.Title = p.Name
	if d.Title == "" {
		d.Title = p.ID
	}
	d.Compact = compact
	return d
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
}
