package view

// Graph is a drawn plan; numbers are SVG user units.
type Graph struct {
	Width, Height string
	Label         string
	Nodes         []GraphNode
	Edges         []GraphEdge
}

// GraphNode is a box.
type GraphNode struct {
	Name, Short, Detail, Href string
	Class                     string
	X, Y, W, H                string
	TX, TY, DY                string
	Icon, IX, IY              string
	Shape                     string // path data; empty: a box
	Selected                  bool
	RX, RY, RW, RH            string
	Title                     string
}

// GraphEdge is a line.
type GraphEdge struct {
	Path, Class, Marker string
	Label, LX, LY       string
	BX, BY, BW          string
}
