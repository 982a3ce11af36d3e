package web

import (
	"strconv"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// nodeState is what a run's picture says of a node.
type nodeState struct {
	status view.Status
	detail string
	href   string
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// graphOf draws a program; states, if not nil, gives each node what became of it,
// and taken tells which edges were.
func (r *request) graphOf(p *planner.Program, states func(node string) nodeState, taken map[int]int, selected string) *view.Graph {
	d := diagram.Layout(p, diagram.Options{})
	g := &view.Graph{Width: num(d.Width), Height: num(d.Height), Label: r.n(len(d.Nodes), "Plan graph: %s step", "Plan graph: %s steps")}
	for _, n := range d.Nodes {
		v := view.GraphNode{Name: n.ID, Short: n.Label, Detail: n.Note, Href: "#", Title: n.ID + " " + n.Note, X: num(n.X), Y: num(n.Y), W: num(n.W), H: num(n.H),
			TX: num(n.X + 28), TY: num(n.Y + 19), DY: num(n.Y + 36), IX: num(n.X + 10), IY: num(n.Y + 9), Selected: n.ID == selected,
			RX: num(n.X - 4), RY: num(n.Y - 4), RW: num(n.W + 8), RH: num(n.H + 8), Class: "todo", Icon: "i-queued"}
		if d.Compact {
			v.Detail, v.TX, v.TY, v.IY = "", num(n.X+22), num(n.Y+17), num(n.Y+7)
			v.IX = num(n.X + 6)
		}
		if states != nil {
			st := states(n.ID)
			v.Class, v.Icon, v.Href = st.status.Key, st.status.Icon, st.href
			if st.status.Key == "idle" {
				v.Class = "todo"
			}
			if !d.Compact {
				v.Detail = st.detail
			}
			v.Title = n.ID + " " + st.detail
		} else {
			v.Class, v.Icon = "plain", "i-queued"
			if n.Unsafe {
				v.Icon = "i-need"
			}
		}
		g.Nodes = append(g.Nodes, v)
	}
	for _, e := range d.Edges {
		v := view.GraphEdge{Path: e.Path, Class: "e", Marker: "ar", Label: e.Label, LX: num(e.LabelX), LY: num(e.LabelY + 4), BX: num(e.LabelX - e.LabelW/2), BY: num(e.LabelY - 8), BW: num(e.LabelW)}
		if states != nil {
			switch {
			case e.Position >= 0 && taken[e.Position] > 0 || e.Need && states(e.From).status.Key == "ok":
				v.Class, v.Marker = "e t", "art"
			case e.Position >= 0:
				v.Class = "e n"
			}
		}
		g.Edges = append(g.Edges, v)
	}
	return g
}

// statusOfNode is a node's state with nothing recorded of it.
func notStarted(final bool) nodeState {
	if final {
		return nodeState{status: word("idle", "i-skip", locale.Mark("not taken"), true), detail: "not taken"}
	}
	return nodeState{status: stepStatus(kairos.NodePending), detail: "not started"}
}
