// Package diagram draws plans. It lays out a plan from left to right as geometry, which the
// dashboard and the command line convert into pictures. It also generates standalone SVG files,
// Mermaid, and DOT.
//
// The layout is deterministic. It breaks cycles depth first, ranks nodes by longest path, reserves
// space for edges in every rank they cross, orders ranks by barycenters, and routes edges at right
// angles.
package diagram

import (
	"github.com/kairosd/kairosd/planner/walk"
)

// Drawing is the layout of a plan. Lengths are in CSS pixels; y increases downwards.
type Drawing struct {
	Title         string
	Width, Height float64
	// Compact drawings have small nodes with one line of text.
	Compact bool
	Nodes   []Node // in document order
	Edges   []Edge // in document order: edges, then needs
	// Left is the number of nodes that are not drawn; see [Options.Most].
	Left int
}

// Shape is the outline of a node. It depends on the kind of the node.
type Shape string

const (
	ShapeTool     Shape = "tool"     // rectangle
	ShapeModel    Shape = "model"    // rectangle with a double left edge
	ShapeAgent    Shape = "agent"    // rounded
	ShapeHandoff  Shape = "handoff"  // an agent that hands off its work: a pentagon
	ShapeDecision Shape = "decision" // hexagon
	ShapeApproval Shape = "approval" // diamond ends
	ShapePlan     Shape = "plan"     // stacked
	ShapeWait     Shape = "wait"     // half-round ends
	ShapeQuiet    Shape = "quiet"    // set, log, noop: rectangle with a thin outline
	ShapeGroup    Shape = "group"    // several nodes in one box: stacked
	ShapeBlock    Shape = "block"    // a block with its steps inside: rounded
)

// Node is a drawn node. X and Y are its upper left corner.
type Node struct {
	ID, Type string
	// Agent is the agent of the step, or "".
	Agent string
	Shape Shape
	// Label is the ID, and Note describes the node. Both are shortened to fit.
	Label, Note string
	X, Y, W, H  float64
	// Outline is the closed path of the node. Detail is the path of further lines, or "".
	Outline, Detail string
	Rank            int
	Root            bool
	Foreach         bool
	Unsafe          bool // the node is non-idempotent
	// Members are the nodes that the box represents: the node itself, or the nodes folded into it.
	Members []string
	// Inside is the drawing of the steps of a block, or nil. Its upper left corner is at InsideX and InsideY.
	Inside           *Drawing
	InsideX, InsideY float64
}

// Edge is a drawn edge or need.
type Edge struct {
	From, To string
	// Position is the index in the document's edges, or -1 for a need.
	Position int
	// Path is SVG path data that ends at the tip of the arrow. Arrow is the closed path of the
	// arrowhead.
	Path, Arrow string
	TipX, TipY  float64
	// Label is the condition, shortened to fit. Condition is the whole condition.
	Label, Condition string
	// LabelX and LabelY are the center of the label's box.
	LabelX, LabelY, LabelW, LabelH float64
	Back                           bool // leads back to an earlier node: a loop
	Need                           bool
	Failed                         bool // taken when the source fails
	Fallback                       bool // unconditional, or taken if no other edge is
	Handoff                        bool // work passes from one agent to another
}

// Options of a layout. The zero value fits most plans.
type Options struct {
	// Compact requests small nodes. Plans with more than 60 nodes always have them.
	Compact bool
	// Most is the maximum number of boxes; 0 means no limit. In larger plans, chains and fans are
	// folded into one box each, and nodes far from Focus are left out.
	Most int
	// Focus is the node around which nothing is folded. If it is empty, that is the first node.
	Focus string
	// Room, if not zero, is the place that the picture should fit into. A picture that is wider is wrapped
	// like a text, and its nodes become small where it would be unreadable otherwise.
	Room Room
}

const (
	compactFrom = 60
	// openTo is the number of steps, with those of blocks, up to which blocks are drawn with their steps.
	openTo = 300
	// readable is the scale below which small nodes are preferred to a small picture.
	readable = 0.7
)

// Layout draws a plan.
func Layout(p *walk.Program, o Options) *Drawing {
	all := 0
	walk.EachNode(p, func(string, *walk.ProgramNode) { all++ })
	open := all <= openTo && (o.Most == 0 || all <= o.Most)
	if !open {
		all = len(p.Nodes)
	}
	d := o.draw(all, func(s sizes) picture { return pictureOf(p, s, open) })
	d.Title = p.Name
	if d.Title == "" {
		d.Title = p.ID
	}
	return d
}

// LayoutRun draws the path of a run: one box per visit, with loops unrolled. Edges lead from each
// visit to the visits that followed from it.
func LayoutRun(p *walk.Program, visits []Visit, o Options) *Drawing {
	return o.draw(len(visits), func(s sizes) picture { return ran(p, visits, s) })
}

// draw draws a picture that is made for sizes, with small nodes where they make it more readable.
func (o Options) draw(nodes int, of func(sizes) picture) *Drawing {
	s, compact := sizesFor(nodes, o)
	d := of(s).fold(o.Most, o.Focus, s).draw(s, compact, o.Room)
	if compact || o.Room.W == 0 || o.Room.Scale(d.Width, d.Height) >= readable {
		return d
	}
	o.Compact = true
	s, compact = sizesFor(nodes, o)
	small := of(s).fold(o.Most, o.Focus, s).draw(s, compact, o.Room)
	if o.Room.Scale(small.Width, small.Height) > o.Room.Scale(d.Width, d.Height) {
		return small
	}
	return d
}

func sizesFor(nodes int, o Options) (sizes, bool) {
	if n := nodes; o.Most > 0 {
		nodes = min(n, o.Most)
	}
	if o.Compact || nodes > compactFrom {
		return sizes{nodeW: 110, nodeH: 26, gap: 10, lane: 8, margin: 12, radius: 4, channel: 26, chars: 14, mark: 3, compact: true}, true
	}
	return sizes{nodeW: 150, nodeH: 46, gap: 20, lane: 10, margin: 16, radius: 5, channel: 34, chars: 18, mark: 2}, false
}

func (pic picture) draw(s sizes, compact bool, room Room) *Drawing {
	pic.handOff()
	g := build(pic, s)
	g.within = room
	g.rankAll()
	g.addChains()
	g.orderRanks()
	g.place()
	d := g.route()
	d.Compact, d.Left = compact, pic.left
	return d
}

// Outline returns the closed path of a shape in a box at the origin, and the path of the lines
// inside or behind it, or "".
func Outline(s Shape, w, h float64) (closed, detail string) { return outline(s, 0, 0, w, h) }

// Shapes lists all shapes.
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
	ShapeBlock,
}

// sizes are the dimensions of a drawing, in CSS pixels unless noted.
type sizes struct {
	nodeW, nodeH float64
	gap          float64 // between nodes of a rank
	lane         float64 // between adjacent edges
	margin       float64
	radius       float64
	channel      float64 // minimum distance between two ranks
	chars        int     // maximum length of a label, in characters
	compact      bool    // one line of text per node
	mark         int     // characters of the label that the side-effect mark replaces
}
