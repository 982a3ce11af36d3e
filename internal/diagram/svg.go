package diagram

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// style is the style sheet of standalone pictures. The dashboard has its own classes.
const style = `
svg{background:#fbfaf7;font:550 12.5px "Atkinson Hyperlegible Next",system-ui,sans-serif;color:#1b1f27}
.n path{fill:#fff;stroke:#888680;stroke-width:1.25}.n .d{fill:none}.n text{fill:#1b1f27}.n .s{fill:#656971;font-weight:400;font-size:11px}
.quiet path{stroke:#dfdeda}.root>path:first-of-type{stroke:#1b1f27;stroke-width:1.75}
.e path{fill:none;stroke:#656971;stroke-width:1.25}.e .a{fill:#656971;stroke:#656971}.back .l{stroke-dasharray:5 3}
.failed .l,.failed .a{stroke:#b7191c}.failed .a{fill:#fbfaf7}
.handoff .l{stroke-width:4.5}.handoff .i{stroke:#fbfaf7;stroke-width:2}.n .b.b{fill:#be7200;stroke:none}
.c rect{fill:#fbfaf7}.c text{fill:#4b5058;font-weight:400;font-size:11px}
@media(prefers-color-scheme:dark){svg{background:#0e1116;color:#ecebe7}.n path{fill:#161a20;stroke:#6d727a}
.n text{fill:#ecebe7}.n .s{fill:#9498a0}
.quiet path{stroke:#2a2e35}.root>path:first-of-type{stroke:#ecebe7}.e path{stroke:#9498a0}.e .a{fill:#9498a0;stroke:#9498a0}
.failed .l,.failed .a{stroke:#f05653}.failed .a{fill:#0e1116}.handoff .i{stroke:#0e1116}.n .b.b{fill:#f2af48}
.c rect{fill:#0e1116}.c text{fill:#b4b7be}}
`

// runStyle is the additional style sheet for pictures of runs. Failed nodes are thick. Nodes that
// did not run and edges that were not taken are dashed, so that the picture is readable without
// colors. Edges that lead back are not dashed, because dashed means not taken.
const runStyle = `.back .l{stroke-dasharray:none}.not .l{stroke-dasharray:3 4}.x{font:600 11px monospace;fill:#4b5058}
.n .t.t{fill:none;stroke:#4b5058;stroke-width:1.2;stroke-dasharray:none}.n .t.bad{fill:#b7191c;stroke:#b7191c}
.n.ok path{stroke:#117555}.n.fail path{stroke:#b7191c;stroke-width:2.5;fill:#fdf1ef}
.n.now path{stroke:#1949c5;stroke-width:2}.n.need path{stroke:#be7200;stroke-width:2}
.n.idle path{stroke-dasharray:4 3}.taken .l{stroke:#1b1f27;stroke-width:2}.taken.handoff .l{stroke-width:6}
.taken .a{stroke:#1b1f27;fill:#1b1f27}
@media(prefers-color-scheme:dark){.x{fill:#b4b7be}.n .t.t{stroke:#b4b7be}.n .t.bad{fill:#f05653;stroke:#f05653}
.n.ok path{stroke:#6cd79d}.n.fail path{stroke:#f05653;fill:#2a1517}.n.now path{stroke:#508ff9}
.n.need path{stroke:#f2af48}.taken .l{stroke:#ecebe7}.taken .a{stroke:#ecebe7;fill:#ecebe7}}
`

// SVG returns the drawing as a standalone file with inline styles for light and dark themes.
func SVG(d *Drawing) []byte { return RunSVG(d, nil, nil) }

// StepState is the state of a node in a run.
type StepState struct {
	Class  string // ok, fail, now, need, or idle
	Text   string // shown below the node's name
	Detail string // the state without words, as a detail line
	Tries  []bool // the last attempts, at most [MaxTries]; true means failed
}

// Passage is the state of an edge in a run.
type Passage struct {
	Times int  // how many times the edge was taken
	Not   bool // the edge was not taken, and will not be
}

// MaxTries is the maximum number of attempt marks in a box.
const MaxTries = 6

// RunSVG returns the drawing with the state of each node and of each edge.
func RunSVG(d *Drawing, node func(*Node) StepState, edge func(*Edge) Passage) []byte {
	var b bytes.Buffer
	style := style
	if node != nil {
		style += runStyle
	}
	title := visible(d.Title)
	if title == "" {
		title = "plan"
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" role="img">`,
		num(d.Width), num(d.Height))
	fmt.Fprintf(&b, "<title>%s</title><style>%s</style>\n", escape(title), style)
	writeDrawing(&b, d, node, edge)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// writeDrawing writes edges and nodes. The steps inside a block have no state of their own.
func writeDrawing(b *bytes.Buffer, d *Drawing, node func(*Node) StepState, edge func(*Edge) Passage) {
	passages := make([]Passage, len(d.Edges))
	for i := range d.Edges {
		if edge != nil {
			passages[i] = edge(&d.Edges[i])
		}
		writeEdge(b, &d.Edges[i], passages[i])
	}
	for i := range d.Edges { // above all lines
		writeEdgeLabel(b, &d.Edges[i], passages[i])
	}
	for i := range d.Nodes {
		var state *StepState
		if node != nil {
			st := node(&d.Nodes[i])
			state = &st
		}
		n := &d.Nodes[i]
		writeNode(b, d, *n, state)
		if n.Inside != nil {
			fmt.Fprintf(b, `<g transform="translate(%s %s)">`+"\n", num(n.InsideX), num(n.InsideY))
			writeDrawing(b, n.Inside, nil, nil)
			b.WriteString("</g>\n")
		}
	}
}

func writeEdge(b *bytes.Buffer, e *Edge, p Passage) {
	class := e.class()
	switch {
	case p.Times > 0:
		class += " taken"
	case p.Not:
		class += " not"
	}
	inner := ""
	if e.Handoff { // the line is double
		inner = fmt.Sprintf(`<path class="i" d="%s"/>`, e.Path)
	}
	fmt.Fprintf(b, `<g class="%s"><title>%s</title><path class="l" d="%s"/>%s<path class="a" d="%s"/></g>`+"\n",
		class, escape(e.title()), e.Path, inner, e.Arrow)
}

func writeEdgeLabel(b *bytes.Buffer, e *Edge, p Passage) {
	if e.Label != "" {
		fmt.Fprintf(b, `<g class="c"><title>%s</title><rect x="%s" y="%s" width="%s" height="%s"/>`, escape(e.Condition),
			num(e.LabelX-e.LabelW/2), num(e.LabelY-e.LabelH/2), num(e.LabelW), num(e.LabelH))
		fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="middle">%s</text></g>`+"\n", num(e.LabelX), num(e.LabelY+3.5), escape(e.Label))
	}
	if p.Times > 1 {
		fmt.Fprintf(b, `<text class="x" x="%s" y="%s" text-anchor="end">×%d</text>`+"\n", num(e.TipX-16), num(e.TipY-7), p.Times)
	}
}

// writeNode writes a box. A nil state means that the drawing shows no run.
func writeNode(b *bytes.Buffer, d *Drawing, n Node, state *StepState) {
	class := "n " + string(n.Shape)
	if n.Root {
		class += " root"
	}
	label, tries := n.title(), []bool(nil)
	if state != nil {
		class += " " + state.Class
		n.Note, tries = cut(visible(state.Text), 22), state.Tries
		label = visible(state.Detail)
	}
	fmt.Fprintf(b, `<g class="%s"><title>%s</title>`, class, escape(visible(n.ID)+": "+label))
	if n.Shape == ShapePlan || n.Shape == ShapeGroup {
		fmt.Fprintf(b, `<path class="d" d="%s"/>`, n.Detail)
	}
	fmt.Fprintf(b, `<path d="%s"/>`, n.Outline)
	if n.Detail != "" && n.Shape != ShapePlan && n.Shape != ShapeGroup {
		fmt.Fprintf(b, `<path class="d" d="%s"/>`, n.Detail)
	}
	if n.Unsafe {
		fmt.Fprintf(b, `<path class="b" d="%s"/>`, Bolt(n.X, n.Y, n.W, d.Compact))
	}
	x, y := n.X+n.W/2, n.Y+n.H/2
	if n.Inside != nil { // its name is above its steps
		y = n.Y + 22
		if d.Compact {
			y = n.Y + 12
		}
	}
	if d.Compact {
		fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="middle">%s</text></g>`+"\n", num(x), num(y+4), escape(n.Label))
		return
	}
	for i, failed := range tries {
		mark := "t"
		if failed {
			mark += " bad"
		}
		fmt.Fprintf(b, `<path class="%s" d="M%s %sh5v8h-5z"/>`, mark, num(n.X+Mark(n.W, len(tries), i)), num(n.Y+n.H-14))
	}
	fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="middle">%s</text>`, num(x), num(y-3), escape(n.Label))
	fmt.Fprintf(b, `<text class="s" x="%s" y="%s" text-anchor="middle">%s</text></g>`+"\n", num(x), num(y+13), escape(n.Note))
}

// Mark returns the distance of the i-th of n attempt marks from the left edge of a box of width w.
func Mark(width float64, of, i int) float64 { return width - 8 - 7*float64(of-1-i) }

// title describes a node, with a warning if it is non-idempotent.
func (n *Node) title() string {
	if n.Unsafe {
		return n.Note + ", side effects"
	}
	return n.Note
}

// class returns the CSS class for an edge's kind.
func (e *Edge) class() string {
	class := "e"
	if e.Need {
		class += " need"
	}
	if e.Back {
		class += " back"
	}
	if e.Failed {
		class += " failed"
	}
	if e.Handoff {
		class += " handoff"
	}
	return class
}

func (e *Edge) title() string {
	verb := " to "
	if e.Need {
		verb = " is needed by "
	}
	text := visible(e.From) + verb + visible(e.To)
	if e.Condition != "" {
		text += ", if " + e.Condition
	}
	return text
}

// escape escapes text for XML, with numeric entities that need no HTML names.
func escape(s string) string {
	return html.EscapeString(strings.ToValidUTF8(s, "�"))
}
