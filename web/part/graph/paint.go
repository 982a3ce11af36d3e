package graph

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// FoldFrom is the number of steps above which a graph is folded. FoldTo is the number of boxes
	// of a folded graph.
	FoldFrom = 300
	FoldTo   = 120
)

// State is the state of a box in the graph of a run.
type State struct {
	Status kit.Status
	Detail string
	Until  time.Time // end of the countdown in Detail
	Href   string
	Heat   string
	// Share is the box's share of the time of all boxes, from 0 to 1.
	Share float64
	// Attempts are the attempts of its last step, true if the attempt failed.
	Attempts []bool
}

// Painter converts a drawing to a graph on a page.
type Painter struct {
	Drawing *diagram.Drawing
	// States returns the state of a box. If it is nil, the graph shows the plan without a run.
	States func(box *diagram.Node) State
	// Inside returns a painter with the states of the steps in a block, whose links lead to other pages. Its drawing is
	// ignored. If there is none, only the block has a state.
	Inside func(box *diagram.Node) (Painter, bool)
	Taken  map[int]int // index of an edge to how often it was taken
	// Selected is the id of a step. Focus means that the user selected it.
	Selected string
	Focus    bool
	Href     func(node string) string // link of a step's box without States, or nil
	// Overlay returns the second line, the description, and the shade of a box of a plan. Count
	// returns how many of FlowRuns runs took an edge, or -1 if unknown.
	Overlay  func(box *diagram.Node) (detail, description, heat string)
	Count    func(e *diagram.Edge) int
	FlowRuns int
	// class and line return the classes of boxes and edges in a comparison. words are the texts of
	// the classes.
	class func(box *diagram.Node) string
	line  func(e *diagram.Edge) string
	words map[string]string
	// shapes are the outlines that the graph has.
	shapes map[string]bool
}

func num(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }

// Fold adds a note that the graph is folded, with a link to the complete graph.
func (g *Graph) Fold(c *ui.Context, d *diagram.Drawing, nodes int, all string) {
	g.Note = c.N(
		len(d.Nodes),
		"%s box of %s steps, folded around the chosen one.",
		"%s boxes of %s steps, folded around the chosen one.",
		c.Number(int64(nodes)),
	)
	if d.Left > 0 {
		g.Note += " " + c.N(d.Left, "%s more distant step is not shown.", "%s more distant steps are not shown.")
	}
	g.All = &kit.Link{Text: c.N(nodes, "Show %s", "Show all %s"), Href: all}
}

// Paint returns the graph.
func (p Painter) Paint(c *ui.Context) *Graph {
	d := p.Drawing
	g := &Graph{Width: num(d.Width), Height: num(d.Height), Drawn: num(d.Width), Compact: d.Compact, Focus: p.Focus,
		Label: c.N(len(d.Nodes), "Plan graph: %s step", "Plan graph: %s steps")}
	place := Boxes(d)
	next := make([][]string, len(d.Nodes))
	lit := make([]bool, len(d.Nodes))
	for i := range d.Edges {
		e := &d.Edges[i]
		from, to := place[e.From], place[e.To]
		if from != to {
			next[from] = append(next[from], "g"+strconv.Itoa(to))
		}
		if p.holds(&d.Nodes[from]) || p.holds(&d.Nodes[to]) {
			lit[from], lit[to] = true, true
		}
	}
	p.shapes = map[string]bool{}
	for _, i := range ranked(d) {
		n := &d.Nodes[i]
		v := p.node(c, n)
		p.shape(g, n, &v)
		v.ID, v.To, v.Lit = "g"+strconv.Itoa(i), strings.Join(next[i], " "), lit[i]
		p.inside(c, g, n, &v)
		g.Nodes = append(g.Nodes, v)
	}
	for i := range d.Edges {
		g.Edges = append(g.Edges, p.edge(&d.Edges[i], place))
	}
	return g
}

// shape adds the outline of a box to the graph, unless it has it. Each block has a size of its own.
func (p *Painter) shape(g *Graph, n *diagram.Node, v *Node) {
	if n.Inside != nil {
		v.Shape += "-" + num(n.W) + "-" + num(n.H)
	}
	if !p.shapes[v.Shape] {
		p.shapes[v.Shape] = true
		out, in := diagram.Outline(n.Shape, n.W, n.H)
		g.Shapes = append(g.Shapes, Shape{ID: v.Shape, Outline: out, Detail: in})
	}
}

// inside adds the steps of a block.
func (p *Painter) inside(c *ui.Context, g *Graph, n *diagram.Node, v *Node) {
	if n.Inside == nil {
		return
	}
	inner := Painter{}
	if p.Inside != nil {
		inner, _ = p.Inside(n)
	}
	inner.Drawing, inner.shapes = n.Inside, p.shapes
	place := Boxes(n.Inside)
	v.Inside = &Inside{Move: "translate(" + num(n.InsideX) + " " + num(n.InsideY) + ")"}
	for _, i := range ranked(n.Inside) {
		m := &n.Inside.Nodes[i]
		w := inner.node(c, m)
		inner.shape(g, m, &w)
		w.ID, w.Leaves = v.ID+"-"+strconv.Itoa(i), true
		inner.inside(c, g, m, &w)
		v.Inside.Nodes = append(v.Inside.Nodes, w)
	}
	v.Title += ", " + c.T("contains %s", named(n.Inside))
	for i := range n.Inside.Edges {
		v.Inside.Edges = append(v.Inside.Edges, inner.edge(&n.Inside.Edges[i], place))
	}
}

// maxNamed is the number of steps that the accessible name of a block lists.
const maxNamed = 20

// named lists the steps of a drawing.
func named(d *diagram.Drawing) string {
	var list []string
	for i := range d.Nodes[:min(len(d.Nodes), maxNamed)] {
		list = append(list, d.Nodes[i].ID)
	}
	if len(d.Nodes) > maxNamed {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// holds reports whether a box contains the selected step.
func (p *Painter) holds(n *diagram.Node) bool {
	return p.Selected != "" && slices.Contains(n.Members, p.Selected)
}

// node converts a box.
func (p *Painter) node(c *ui.Context, n *diagram.Node) Node {
	v := Node{Name: n.ID, Short: label(c, n), Detail: n.Note, Place: Place{num(n.X), num(n.Y), num(n.W + 8), num(n.H + 8)},
		Shape: "n-" + string(n.Shape), Class: "plain", Selected: p.holds(n), Stack: n.Foreach && !p.Drawing.Compact}
	if len(v.Short) <= longLabel {
		v.Type = TypeMark{typeIcon(n), num(n.W - 22)}
	}
	if n.Unsafe {
		v.Bolt = diagram.Bolt(0, 0, n.W, p.Drawing.Compact)
	}
	description := n.Note
	switch {
	case p.States != nil:
		description = p.state(c, &v, n)
	case p.Href != nil && n.ID != walk.EndName:
		v.Href = p.Href(n.Members[0])
	}
	if p.Overlay != nil {
		if detail, of, heat := p.Overlay(n); detail != "" {
			v.Detail, description, v.Heat = detail, strings.TrimSpace(n.Note+" "+of), heat
		}
	}
	if p.class != nil {
		p.mark(&v, n, &description)
	}
	if n.Unsafe {
		description = strings.TrimPrefix(description+", "+c.T("side effects"), ", ")
	}
	v.Title = v.Short
	if !p.Drawing.Compact && v.Detail != "" { // the accessible name begins with the visible text
		v.Title += " " + v.Detail + v.Left
	}
	if v.Short != n.ID && n.Shape != diagram.ShapeGroup {
		v.Title += ", " + n.ID
	}
	if description != "" && description != v.Detail {
		v.Title += ", " + description
	}
	return v
}

// state shows the state in a box, and returns its description.
func (p *Painter) state(c *ui.Context, v *Node, n *diagram.Node) string {
	st := p.States(n)
	v.Class, v.Icon, v.Href, v.Detail, v.Heat = st.Status.Key, st.Status.Icon, st.Href, st.Detail, st.Heat
	if !st.Until.IsZero() {
		v.Until, v.Left = st.Until.UnixMilli(), kit.ApproxDuration(max(0, st.Until.Sub(c.Site.Now())))
	}
	if st.Status.Key == "idle" {
		v.Class = "todo"
	}
	if st.Share > 0 {
		v.Share = Share{W: num(max(2, st.Share*(n.W-24))), Whole: num(n.W - 24), Y: num(n.H - 4)}
	}
	attempts := st.Tries()
	for j, failed := range attempts {
		v.Pips = append(v.Pips, Pip{X: num(diagram.Mark(n.W, len(attempts), j)), Y: num(n.H - 14), Failed: failed})
	}
	if p.Drawing.Compact { // compact boxes have no second line
		return st.InWords(c, st.Detail)
	}
	return st.InWords(c, "")
}

// Boxes returns the index of each box by its id.
func Boxes(d *diagram.Drawing) map[string]int {
	out := make(map[string]int, len(d.Nodes))
	for i := range d.Nodes {
		out[d.Nodes[i].ID] = i
	}
	return out
}

// ranked returns the indexes of the boxes in tab order: from left to right, and from top to bottom
// within a rank.
func ranked(d *diagram.Drawing) []int {
	out := make([]int, len(d.Nodes))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.Nodes[a].Rank, d.Nodes[b].Rank), cmp.Compare(d.Nodes[a].Y, d.Nodes[b].Y))
	})
	return out
}

// InWords describes the state of a box, with additional text and the number of attempts.
func (st *State) InWords(c *ui.Context, beside string) string {
	description := c.T(st.Status.Word)
	if beside != "" && beside != description {
		description = beside + ", " + description
	}
	if n := len(st.Attempts); n > 1 {
		description += ", " + c.N(n, "%s attempt", "%s attempts")
	}
	return description
}

// Tries returns the attempts to mark: the last ones if there was more than one, or nil.
func (st *State) Tries() []bool {
	if len(st.Attempts) < 2 {
		return nil
	}
	return st.Attempts[max(0, len(st.Attempts)-diagram.MaxTries):]
}

// edge converts an edge.
func (p *Painter) edge(e *diagram.Edge, place map[string]int) Edge {
	d := p.Drawing
	v := Edge{Path: e.Path, Class: "e", Marker: "ar", Double: e.Handoff, Label: e.Label, LX: num(e.LabelX), LY: num(e.LabelY + 4),
		BX: num(e.LabelX - e.LabelW/2), BY: num(e.LabelY - 8), BW: num(e.LabelW)}
	if p.States != nil {
		p.pass(e, &v, place)
	}
	if e.Failed {
		v.Marker = "arf"
	}
	if p.Count != nil {
		p.weigh(e, &v)
	}
	if p.line != nil {
		if what := p.line(e); what != "" {
			v.Class = "e " + what + lineLooks[what]
		}
	}
	if p.Focus && (p.holds(&d.Nodes[place[e.From]]) || p.holds(&d.Nodes[place[e.To]])) {
		v.Class += " lit"
	}
	return v
}

// Passage reports whether an edge was taken, and how often. An edge that may still be taken is neither
// taken nor not taken. place maps box ids to indexes.
func (p *Painter) Passage(e *diagram.Edge, place map[string]int) diagram.Passage {
	status := func(id string) kit.Status { return p.States(&p.Drawing.Nodes[place[id]]).Status }
	ran := func(id string) bool { return status(id).Final }
	passed := func(id string) bool {
		st := status(id)
		return st.Key == "idle" && st.Final
	}
	switch {
	case e.Position >= 0:
		n := p.Taken[e.Position]
		return diagram.Passage{Times: n, Not: n == 0 && (ran(e.From) || passed(e.To))}
	case ran(e.From) && status(e.To).Key != "idle":
		return diagram.Passage{Times: 1}
	}
	return diagram.Passage{}
}

// pass sets the class of an edge by whether the run took it.
func (p *Painter) pass(e *diagram.Edge, v *Edge, place map[string]int) {
	went := p.Passage(e, place)
	if went.Not {
		v.Class = "e n"
	}
	if went.Times > 0 {
		v.Class, v.Marker = "e t", "art"
	}
	if went.Times > 1 {
		v.Times, v.TX, v.TY = "×"+strconv.Itoa(went.Times), num(e.TipX-16), num(e.TipY-7)
	}
}

// weigh sets the width and the label of an edge by how many runs took it.
func (p *Painter) weigh(e *diagram.Edge, v *Edge) {
	n := p.Count(e)
	switch {
	case n < 0 || p.FlowRuns == 0:
		return
	case n == 0:
		v.Class = "e n"
		return
	}
	v.Class, v.Marker = "e t w"+strconv.Itoa(1+2*min(2, 3*n/max(p.FlowRuns, 1))), "art"
	v.Times, v.TX, v.TY = strconv.Itoa(n), num(e.TipX-16), num(e.TipY-7)
}

func label(c *ui.Context, n *diagram.Node) string {
	if n.Shape == diagram.ShapeGroup {
		return c.N(len(n.Members), "%s step", "%s steps")
	}
	return n.Label
}

// typeIcons are the icons of step types. Other types have the icon of a tool.
var typeIcons = map[string]string{
	"http": "i-http", "set": "i-data", "json": "i-data", "calculator": "i-calc", "log": "i-log", "agent": "i-agent", "llm": "i-agent",
	"router": "i-agent", "generator": "i-agent", "approval": "i-user", "decision": "i-branch", "wait": "i-clock", "plan": "i-plan",
	"handoff": "i-handoff",
}

// typeIcon returns the icon of a box's type, or an empty string for a group.
func typeIcon(n *diagram.Node) string {
	if n.Shape == diagram.ShapeGroup {
		return ""
	}
	words := strings.Fields(n.Type + " " + n.Note)
	for _, w := range words {
		if icon := typeIcons[w]; icon != "" {
			return icon
		}
	}
	return "i-tool"
}

// longLabel is the maximum length of a name next to which the icon of the type fits.
const longLabel = 12
