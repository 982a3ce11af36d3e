// Package graph draws plans, and runs as they went, on pages: a drawing of
// internal/diagram becomes a view model and a figure.
package graph

import (
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// Graph is a drawn plan, or a run as it went; numbers are SVG user units.
type Graph struct {
	Width, Height string // of the picture
	// Drawn is how wide it is on the page, where there is room; Least to what width it
	// shrinks to fit, empty: to none.
	Drawn  string
	Least  string
	Label  string
	Shapes []Shape
	Nodes  []Node
	Edges  []Edge
	// Compact pictures have one line of text per node.
	Compact bool
	// Focus means that one node is chosen: everything else is dimmed.
	Focus bool
	// Settings are rows of links: how it is drawn.
	Settings []Setting
	Note     string    // what is not drawn
	All      *kit.Link // draws it all the same
	File     string    // address of the picture as a file
	Scale    *Scale
	// Swaps makes its links replace a part of the page that they lead to.
	Swaps bool
}

// get makes a link of the graph a request of htmx where its links swap a part of the page.
func (g Graph) get(href string) templ.Attributes {
	if !g.Swaps {
		return nil
	}
	return kit.Get(href)
}

// choices are the links of a setting.
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

// Scale explains the shades of nodes.
type Scale struct{ What, Least, Most string }

// Shape is the outline of a kind of node, drawn once.
type Shape struct{ ID, Outline, Detail string }

// Node is a box.
type Node struct {
	ID, To              string // its place, and the places that it leads to
	Name, Short, Detail string
	Href                string // empty: it leads nowhere
	Title               string // its name for those who cannot see it
	Class, Shape, Icon  string
	X, Y, W, H          string
	Heat                string // class of its shade
	Type                TypeMark
	Share               Share
	Stack               bool // it is drawn as several
	Selected, Lit       bool
	Bolt                string // path of the mark of side effects; empty: there are none
	Pips                []Pip
	// Line is the line of the text beside the picture that Href leads to; 0: none.
	Line int
	// Until is a time in ms to which the detail counts down, Left what is left of it.
	Until int64
	Left  string
}

// TypeMark is the icon of what a box does, at X.
type TypeMark struct{ Icon, X string }

// Share is the part of the time of a run that a box took: W of Whole, at Y.
type Share struct{ W, Whole, Y string }

// Pip is an attempt at the corner of a box.
type Pip struct {
	X, Y   string
	Failed bool
}

// Edge is a line.
type Edge struct {
	Path, Class, Marker string
	Label, LX, LY       string
	BX, BY, BW          string
	Times, TX, TY       string // how often it was taken, if more than once
	Double              bool   // two lines: work passes to another agent
}

// lineOf marks a box that leads to a line of the text beside it.
func (n Node) lineOf() templ.Attributes {
	if n.Line == 0 {
		return nil
	}
	return templ.Attributes{"data-line": strconv.Itoa(n.Line)}
}
