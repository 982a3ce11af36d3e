// Package graph draws plans and runs on pages. It converts a drawing of internal/diagram to a view
// model and renders it.
package graph

import (
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// Graph is the drawing of a plan or run. Numbers are in SVG user units.
type Graph struct {
	Width, Height string // of the viewBox
	// Drawn is the preferred width on the page. Least is the width to which the graph may shrink,
	// or empty if it may not shrink.
	Drawn  string
	Least  string
	Label  string
	Shapes []Shape
	Nodes  []Node
	Edges  []Edge
	// Compact graphs have one line of text per step.
	Compact bool
	// Focus dims everything except the selected step.
	Focus bool
	// Settings are rows of links that change how the graph is drawn.
	Settings []Setting
	Note     string    // what the graph omits
	All      *kit.Link // draws the complete graph
	File     string    // address of the graph as an SVG file
	Scale    *Scale
	// Swaps makes links replace only a fragment of the page.
	Swaps bool
}

// get returns htmx attributes for a link if links swap a fragment.
func (g Graph) get(href string) templ.Attributes {
	if !g.Swaps {
		return nil
	}
	return kit.HXGet(href)
}

// follow returns the attributes of the link of a box.
func (g Graph) follow(n Node) templ.Attributes {
	if n.Leaves {
		return nil
	}
	return g.get(n.Href)
}

// choices returns the links of a setting.
func (g Graph) choices(s Setting) []kit.Link {
	out := slices.Clone(s.Links)
	for i := range out {
		out[i].Swaps = g.Swaps
	}
	return out
}

// Setting is a choice of how a graph is drawn.
type Setting struct {
	Name  string
	Links []kit.Link
}

// Scale is the legend of the shades of boxes.
type Scale struct{ What, Least, Most string }

// Shape is the outline of a type of step, drawn once.
type Shape struct{ ID, Outline, Detail string }

// Node is a box.
type Node struct {
	ID, To              string // element id, and the ids of the following boxes
	Name, Short, Detail string
	Href                string // empty if the box has no link
	Leaves              bool   // the link leads to another page
	Place
	Title              string // accessible name
	Class, Shape, Icon string
	Heat               string // class of the shade
	Type               TypeMark
	Share              Share
	Stack              bool // drawn as a stack
	Selected, Lit      bool
	Bolt               string // path of the icon for side effects, or empty
	Pips               []Pip
	Inside             *Inside // the steps of a block, or nil
	// Line is the line of the source next to the graph, or 0.
	Line int
	Countdown
}

// Place is the place of a box, and its size with a margin.
type Place struct{ X, Y, W, H string }

// Countdown ends at Until in Unix milliseconds. Left is the remaining time as text.
type Countdown struct {
	Until int64
	Left  string
}

// Inside is what a block contains. Move is the transform that puts it into the box.
type Inside struct {
	Move  string
	Nodes []Node
	Edges []Edge
}

// TypeMark is the icon of the step's type, and its x coordinate.
type TypeMark struct{ Icon, X string }

// Share is the box's share of the run's time: a bar of width W in a track of width Whole, at height
// Y.
type Share struct{ W, Whole, Y string }

// Pip marks an attempt at the corner of a box.
type Pip struct {
	X, Y   string
	Failed bool
}

// Edge is an edge.
type Edge struct {
	Path, Class, Marker string
	Label, LX, LY       string
	BX, BY, BW          string
	Times, TX, TY       string // how often the run took the edge, if more than once
	Double              bool   // drawn as two lines, for a handoff
}

// lineOf returns the attribute of a box that selects a line of the source.
func (n Node) lineOf() templ.Attributes {
	if n.Line == 0 {
		return nil
	}
	return templ.Attributes{"data-line": strconv.Itoa(n.Line)}
}
