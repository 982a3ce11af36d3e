package view

// Graph is a drawn plan, or a run as it went; numbers are SVG user units.
type Graph struct {
	Width, Height string // of the picture
	// Drawn is how wide it is on the page, where there is room; Least to what width it
	// shrinks to fit, empty: to none.
	Drawn  string
	Least  string
	Label  string
	Shapes []GraphShape
	Nodes  []GraphNode
	Edges  []GraphEdge
	// Compact pictures have one line of text per node.
	Compact bool
	// Focus says that one node is chosen: what is not beside it steps back.
	Focus bool
	// Settings are rows of links: how it is drawn.
	Settings []GraphSetting
	Note     string // what is not drawn
	All      *Link  // draws it all the same
	File     string // address of the picture as a file
	Scale    *GraphScale
}

// GraphSetting is a choice of how a graph is drawn.
type GraphSetting struct {
	Name  string
	Links []Link
}

// GraphScale explains the shades of nodes.
type GraphScale struct{ What, Least, Most string }

// GraphShape is the outline of a kind of node, drawn once.
type GraphShape struct{ ID, Outline, Detail string }

// GraphNode is a box.
type GraphNode struct {
	ID, To              string // its place, and the places that it leads to
	Name, Short, Detail string
	Href                string // empty: it leads nowhere
	Title               string // its name for those who cannot see it
	Class, Shape, Icon  string
	X, Y, W, H          string
	Heat                string // class of its shade
	Selected, Lit       bool
	Bolt                string // path of the mark of side effects; empty: there are none
	Pips                []Pip
	// Line is the line of the text beside the picture that Href leads to; 0: none.
	Line int
	// Until is a time in ms to which the detail counts down, Left what is left of it.
	Until int64
	Left  string
}

// Pip is an attempt at the corner of a box.
type Pip struct {
	X, Y   string
	Failed bool
}

// GraphEdge is a line.
type GraphEdge struct {
	Path, Class, Marker string
	Label, LX, LY       string
	BX, BY, BW          string
	Times, TX, TY       string // how often it was taken, if more than once
	Double              bool   // two lines: work passes to another agent
}
