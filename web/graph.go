package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// foldFrom is from how many nodes on a picture is folded, foldTo to how many
	// boxes.
	foldFrom = 300
	foldTo   = 120
)

// nodeState is what a run's picture says of a box.
type nodeState struct {
	status view.Status
	detail string
	until  time.Time // a time that the detail counts down to
	href   string
	heat   string
	// attempts are those of its last step: true, where one failed.
	attempts []bool
}

// painter turns a drawing into a picture on a page.
type painter struct {
	drawing *diagram.Drawing
	// states gives each box what became of it; nil: the plan as it is written.
	states func(box *diagram.Node) nodeState
	taken  map[int]int // how often each edge of the document was taken
	// selected is a node; focus says that somebody chose it.
	selected string
	focus    bool
	href     func(node string) string // where boxes lead without states; nil: nowhere
	// overlay gives a box of a plan its second line, what is said of it and its
	// shade; count how often an edge was taken of flowRuns runs, -1: unknown.
	overlay  func(box *diagram.Node) (detail, said, heat string)
	count    func(e *diagram.Edge) int
	flowRuns int
	// class and line mark boxes and edges of a comparison, with its words.
	class func(box *diagram.Node) string
	line  func(e *diagram.Edge) string
	words map[string]string
}

func num(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }

// planGraph draws a plan as it is written. On the pages of a plan its nodes are
// links, by which one is chosen.
func (r *request) planGraph(p *planner.Program, effects []planner.Effect) *view.Graph {
	drawn := painter{selected: r.c.QueryParam("node"), focus: r.c.QueryParam("node") != ""}
	o := diagram.Options{Focus: drawn.selected}
	all := r.c.QueryParam("all") != ""
	if len(p.Nodes) > foldFrom && !all {
		o.Most = foldTo
	}
	here := r.c.Request().URL.Path
	if r.c.Request().Method == http.MethodGet && !strings.HasSuffix(here, "/edit") && !strings.HasSuffix(here, "/new") {
		drawn.href = func(node string) string { return here + "?" + url.Values{"node": {node}}.Encode() + "#why" }
	}
	drawn.drawing = r.s.layout(p, effects, o)
	g := r.paint(drawn)
	if drawn.href == nil { // beside a text: whole, if it can be read so
		fit(g, drawn.drawing, readable)
	}
	if o.Most > 0 && drawn.href != nil {
		r.folded(g, drawn.drawing, len(p.Nodes), here+"?all=1")
	}
	return g
}

// folded says how much of a large plan is drawn.
func (r *request) folded(g *view.Graph, d *diagram.Drawing, nodes int, all string) {
	g.Note = r.n(len(d.Nodes), "%s box of %s steps, folded around the chosen one.", "%s boxes of %s steps, folded around the chosen one.", r.number(int64(nodes)))
	if d.Left > 0 {
		g.Note += " " + r.n(d.Left, "%s step farther off is left out.", "%s steps farther off are left out.")
	}
	g.All = &view.Link{Text: r.n(nodes, "Show %s", "Show all %s"), Href: all}
}

// paint puts a drawing on a page.
func (r *request) paint(p painter) *view.Graph {
	d := p.drawing
	g := &view.Graph{Width: num(d.Width), Height: num(d.Height), Drawn: num(d.Width), Label: r.n(len(d.Nodes), "Plan graph: %s step", "Plan graph: %s steps"), Compact: d.Compact}
	place := boxes(d)
	holds := func(n *diagram.Node) bool { return p.selected != "" && slices.Contains(n.Members, p.selected) }
	next := make([][]string, len(d.Nodes))
	lit := make([]bool, len(d.Nodes))
	for i := range d.Edges {
		e := &d.Edges[i]
		from, to := place[e.From], place[e.To]
		if from != to {
			next[from] = append(next[from], "g"+strconv.Itoa(to))
		}
		if holds(&d.Nodes[from]) || holds(&d.Nodes[to]) {
			lit[from], lit[to] = true, true
		}
	}
	shapes := map[diagram.Shape]bool{}
	for _, i := range ranked(d) {
		n := &d.Nodes[i]
		if !shapes[n.Shape] {
			shapes[n.Shape] = true
			out, in := diagram.Outline(n.Shape, n.W, n.H)
			g.Shapes = append(g.Shapes, view.GraphShape{ID: "n-" + string(n.Shape), Outline: out, Detail: in})
		}
		v := view.GraphNode{ID: "g" + strconv.Itoa(i), To: strings.Join(next[i], " "), Name: n.ID, Short: r.boxLabel(n), Detail: n.Note, X: num(n.X), Y: num(n.Y), W: num(n.W + 8), H: num(n.H + 8),
			Shape: "n-" + string(n.Shape), Class: "plain", Icon: "i-queued", Selected: holds(n), Lit: lit[i]}
		if n.Unsafe {
			v.Bolt = diagram.Bolt(0, 0, n.W, d.Compact)
		}
		said := n.Note
		switch {
		case p.states != nil:
			st := p.states(n)
			v.Class, v.Icon, v.Href, v.Detail, v.Heat = st.status.Key, st.status.Icon, st.href, st.detail, st.heat
			if !st.until.IsZero() {
				v.Until, v.Left = st.until.UnixMilli(), about(max(0, st.until.Sub(r.s.now())))
			}
			if st.status.Key == "idle" {
				v.Class = "todo"
			}
			beside := ""
			if d.Compact { // there is no second line
				beside = st.detail
			}
			said = r.standing(&st, beside)
			tries := st.tries()
			for j, failed := range tries {
				v.Pips = append(v.Pips, view.Pip{X: num(diagram.Mark(n.W, len(tries), j)), Y: num(n.H - 14), Failed: failed})
			}
		case p.href != nil:
			v.Href = p.href(n.Members[0])
		}
		if p.overlay != nil {
			if detail, of, heat := p.overlay(n); detail != "" {
				v.Detail, said, v.Heat = detail, strings.TrimSpace(n.Note+" "+of), heat
			}
		}
		if p.class != nil {
			p.marked(&v, n, &said)
		}
		if n.Unsafe {
			said = strings.TrimPrefix(said+", "+r.t("side effects"), ", ")
		}
		v.Title = v.Short
		if !d.Compact && v.Detail != "" { // what is written in the box begins its name
			v.Title += " " + v.Detail + v.Left
		}
		if v.Short != n.ID && n.Shape != diagram.ShapeGroup {
			v.Title += ", " + n.ID
		}
		if said != "" && said != v.Detail {
			v.Title += ", " + said
		}
		g.Nodes = append(g.Nodes, v)
	}
	for i := range d.Edges {
		e := &d.Edges[i]
		v := view.GraphEdge{Path: e.Path, Class: "e", Marker: "ar", Label: e.Label, LX: num(e.LabelX), LY: num(e.LabelY + 4), BX: num(e.LabelX - e.LabelW/2), BY: num(e.LabelY - 8), BW: num(e.LabelW)}
		if p.states != nil {
			p.edge(e, &v, d, place)
		}
		if e.Failed {
			v.Marker = "arf"
		}
		v.Double = e.Handoff
		if p.count != nil {
			p.weigh(e, &v)
		}
		if p.line != nil {
			if c := p.line(e); c != "" {
				v.Class = "e " + c + lineLooks[c]
			}
		}
		if p.focus && (holds(&d.Nodes[place[e.From]]) || holds(&d.Nodes[place[e.To]])) {
			v.Class += " lit"
		}
		g.Edges = append(g.Edges, v)
	}
	g.Focus = p.focus
	return g
}

// boxes finds boxes by their ids.
func boxes(d *diagram.Drawing) map[string]int {
	out := make(map[string]int, len(d.Nodes))
	for i := range d.Nodes {
		out[d.Nodes[i].ID] = i
	}
	return out
}

// ranked are the places of boxes in the order in which Tab goes through them: from
// left to right, and in a rank from top to bottom.
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

// standing is where a box stands, in words, with what else there is to say, and after
// how many tries.
func (r *request) standing(st *nodeState, beside string) string {
	said := r.t(st.status.Word)
	if beside != "" && beside != said {
		said = beside + ", " + said
	}
	if n := len(st.attempts); n > 1 {
		said += ", " + r.n(n, "%s try", "%s tries")
	}
	return said
}

// tries are the attempts that have a mark: the last ones, if there was more than one.
func (st *nodeState) tries() []bool {
	if len(st.attempts) < 2 {
		return nil
	}
	return st.attempts[max(0, len(st.attempts)-diagram.MaxTries):]
}

// went says whether an edge was taken, and how often. What may still be taken is
// neither taken nor not.
func (p *painter) went(e *diagram.Edge, d *diagram.Drawing, place map[string]int) diagram.Passage {
	ran := func(id string) bool { return p.states(&d.Nodes[place[id]]).status.Final }
	passed := func(id string) bool {
		st := p.states(&d.Nodes[place[id]]).status
		return st.Key == "idle" && st.Final
	}
	switch {
	case e.Position >= 0:
		n := p.taken[e.Position]
		return diagram.Passage{Times: n, Not: n == 0 && (ran(e.From) || passed(e.To))}
	case ran(e.From) && p.states(&d.Nodes[place[e.To]]).status.Key != "idle":
		return diagram.Passage{Times: 1}
	}
	return diagram.Passage{}
}

// edge draws an edge as what became of it.
func (p *painter) edge(e *diagram.Edge, v *view.GraphEdge, d *diagram.Drawing, place map[string]int) {
	went := p.went(e, d, place)
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

// weigh draws an edge as wide as it was often taken, with the number.
func (p *painter) weigh(e *diagram.Edge, v *view.GraphEdge) {
	n := p.count(e)
	switch {
	case n < 0 || p.flowRuns == 0:
		return
	case n == 0:
		v.Class = "e n"
		return
	}
	v.Class, v.Marker = "e t w"+strconv.Itoa(1+2*min(2, 3*n/max(p.flowRuns, 1))), "art"
	v.Times, v.TX, v.TY = strconv.Itoa(n), num(e.TipX-16), num(e.TipY-7)
}

func (r *request) boxLabel(n *diagram.Node) string {
	if n.Shape == diagram.ShapeGroup {
		return r.n(len(n.Members), "%s step", "%s steps")
	}
	return n.Label
}

// graphFile is a run's picture as a file, with what became of each node.
func (r *request) graphFile() error {
	b, err := r.openRun(r.c.Param("run"))
	if err != nil {
		return err
	}
	d := b.s.layout(b.program, b.effects, diagram.Options{})
	h := b.c.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s-%s.svg\"", safeName(b.d.Run.PlanKey), domain.ShortID(b.d.Run.ID)))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	p := painter{drawing: d, states: b.states(), taken: b.takenEdges()}
	place := boxes(d)
	return b.c.Blob(http.StatusOK, "image/svg+xml", diagram.RunSVG(d, func(n *diagram.Node) diagram.Standing {
		st := p.states(n)
		text := st.detail
		if !st.until.IsZero() {
			text += about(max(0, st.until.Sub(b.s.now())))
		}
		says := b.standing(&st, text)
		if n.Unsafe {
			says += ", " + b.t("side effects")
		}
		return diagram.Standing{Class: cmp.Or(st.status.Key, "idle"), Text: text, Says: says, Tries: st.tries()}
	}, func(e *diagram.Edge) diagram.Passage { return p.went(e, d, place) }))
}

// safeName keeps letters, digits and dashes of a name for a file.
func safeName(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, cut(s, 60))
}
