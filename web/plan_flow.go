package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/view"
)

// How the runs of a plan went through its nodes, drawn on its picture.

// flowWindows are the windows that a plan's page offers; others can be written
// into its address.
var flowWindows = []string{"24h", "7d", "30d"}

const flowWindow = "7d"

// pageSteps bounds the rows of one page of the table of steps.
const pageSteps = 200

// flowPaints are what the shade of a node may say on a plan's page.
var flowPaints = []struct{ key, word string }{{"", locale.Mark("none")}, {"failed", locale.Mark("failures")}, {"took", locale.Mark("took")}, {"attempts", locale.Mark("attempts")}}

// planFlow is one version of a plan with how it went.
type planFlow struct {
	*request
	key     string
	version int
	program *walk.Program
	effects []walk.Effect // what its nodes may do
	since   string
	flow    domain.PlanFlow
}

func (r *request) planFlow(key string, v domain.Version, program *walk.Program) (*planFlow, error) {
	f := &planFlow{request: r, key: key, version: v.Number, program: program, since: r.c.QueryParam("since")}
	from, err := filter.Moment(f.since, r.s.now())
	if err != nil {
		f.since = flowWindow
		from, _ = filter.Moment(f.since, r.s.now())
	}
	if f.effects, err = r.s.Engine.Effects(r.ctx, v.Hash); err != nil {
		return nil, err
	}
	f.flow, err = r.s.Reader.PlanFlow(r.ctx, key, v.Number, from)
	return f, err
}

// href is this page with other settings; nil takes one away.
func (f *planFlow) href(set url.Values) string {
	q := url.Values{}
	for _, k := range []string{"since", "paint", "node", "zoom", "all", "rows", "line"} {
		if v := f.c.QueryParam(k); v != "" {
			q.Set(k, v)
		}
	}
	for k, v := range set {
		if q.Del(k); len(v) > 0 && v[0] != "" {
			q.Set(k, v[0])
		}
	}
	path := f.c.Request().URL.Path
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// graph draws the plan with what its runs did: how many came by and failed, how
// long it took, which edges they took.
func (f *planFlow) graph() *graph.Graph {
	o := diagram.Options{Focus: f.c.QueryParam("node")}
	if len(f.program.Nodes) > graph.FoldFrom && f.c.QueryParam("all") == "" {
		o.Most = graph.FoldTo
	}
	p := graph.Painter{Drawing: f.s.layouts.Draw(f.program, f.effects, o), Selected: o.Focus, Focus: o.Focus != "", Overlay: f.overlay, Count: f.edgeCount, FlowRuns: f.flow.Runs,
		Href: func(node string) string { return f.href(url.Values{"node": {node}}) + "#step" }}
	g := p.Paint(f.Context)
	if o.Most > 0 {
		g.Fold(f.Context, p.Drawing, len(f.program.Nodes), f.href(url.Values{"all": {"1"}}))
	}
	f.settings(g, p.Drawing)
	return g
}

func (f *planFlow) settings(g *graph.Graph, d *diagram.Drawing) {
	row := func(name, key, current string, values, words []string) {
		s := graph.Setting{Name: name}
		for i, v := range values {
			s.Links = append(s.Links, view.Link{Text: words[i], Href: f.href(url.Values{key: {v}}), Current: v == current})
		}
		g.Settings = append(g.Settings, s)
	}
	row(f.t("Runs of the last"), "since", f.since, flowWindows, flowWindows)
	var values, words []string
	for _, p := range flowPaints {
		values, words = append(values, p.key), append(words, f.t(p.word))
	}
	row(f.t("Shade"), "paint", f.c.QueryParam("paint"), values, words)
	g.Zoom(f.Context, d, func(size string) string { return f.href(url.Values{"zoom": {size}}) })
	g.File = fmt.Sprintf("/plans/%s/v/%d/graph.svg", url.PathEscape(f.key), f.version)
	if key := f.c.QueryParam("paint"); key != "" {
		most := 0.0
		for _, n := range f.flow.Nodes {
			most = max(most, shade(key, n))
		}
		if most > 0 {
			g.Scale = &graph.Scale{What: f.t("Shades:"), Least: f.shadeText(key, 0), Most: f.shadeText(key, most)}
		}
	}
	switch {
	case f.flow.Runs == 0:
		g.Note = strings.TrimSpace(g.Note + " " + f.t("No run of this version began in the last %s.", f.since))
	case f.flow.Whole:
		g.Note = strings.TrimSpace(g.Note + " " + f.n(f.flow.Runs, "%s run of this version, of the last %s.", "%s runs of this version, of the last %s.", f.since))
	default:
		g.Note = strings.TrimSpace(g.Note + " " + f.n(f.flow.Runs, "The newest %s run of this version, since %s.", "The newest %s runs of this version, since %s.", f.time(f.flow.Since).Text))
	}
}

// merged is what runs did in all members of a box.
func (f *planFlow) merged(box *diagram.Node) *domain.NodeFlow {
	var out domain.NodeFlow
	for _, id := range box.Members {
		n := f.flow.Nodes[id]
		if n == nil {
			continue
		}
		out.Runs = max(out.Runs, n.Runs)
		out.Settled, out.Failed, out.Attempts, out.Skipped = out.Settled+n.Settled, out.Failed+n.Failed, out.Attempts+n.Attempts, out.Skipped+n.Skipped
		out.P50, out.P95 = out.P50+n.P50, max(out.P95, n.P95)
	}
	if out.Runs == 0 {
		return nil
	}
	return &out
}

// overlay is what stands in a box: its second line, how it is named, its shade.
func (f *planFlow) overlay(box *diagram.Node) (detail, said, heat string) {
	n := f.merged(box)
	if n == nil {
		if f.flow.Runs == 0 {
			return "", "", ""
		}
		return f.t("no run"), f.t("no run"), ""
	}
	detail = "×" + f.number(int64(n.Runs)) + " · " // a node has room for 16 characters
	said = f.n(n.Runs, "%s run", "%s runs") + " · "
	if n.Failed > 0 {
		detail += f.t("%s fail", f.share(n.Failed, n.Settled))
		said += f.t("%s fail", f.share(n.Failed, n.Settled)) + " · "
	} else {
		detail += took(n.P50)
	}
	said += f.t("half within %s, 95%% within %s", took(n.P50), took(n.P95))
	if key := f.c.QueryParam("paint"); key != "" {
		most := 0.0
		for _, o := range f.flow.Nodes {
			most = max(most, shade(key, o))
		}
		if heat = "q0"; most > 0 && shade(key, n) > 0 {
			heat = fmt.Sprintf("q%d", 1+min(4, int(5*shade(key, n)/most)))
		}
	}
	return detail, said, heat
}

// edgeCount is how often an edge was taken: where there is no choice, by every
// visit that completed.
func (f *planFlow) edgeCount(e *diagram.Edge) int {
	from, ok := f.program.Index[e.From]
	if !ok {
		return -1 // of a folded box
	}
	if e.Position < 0 {
		if n := f.flow.Nodes[e.To]; n != nil {
			return n.Runs
		}
		return 0
	}
	if n := f.flow.Nodes[e.From]; n != nil && len(f.program.Nodes[from].Out) == 1 {
		return max(n.Settled-n.Failed, f.flow.Edges[e.Position])
	}
	return f.flow.Edges[e.Position]
}

func shade(key string, n *domain.NodeFlow) float64 {
	switch key {
	case "failed":
		return float64(n.Failed) / float64(max(n.Settled, 1))
	case "took":
		return n.P50.Seconds()
	case "attempts":
		return float64(n.Attempts) / float64(max(n.Settled, 1))
	}
	return 0
}

func (f *planFlow) shadeText(key string, v float64) string {
	switch key {
	case "failed":
		return f.display.lang.Percent(v)
	case "took":
		return took(time.Duration(v * float64(time.Second)))
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// share is a part of a whole in percent; what is more than nothing is not 0%.
func (r *request) share(part, whole int) string {
	if part == 0 || whole == 0 {
		return r.display.lang.Percent(0)
	}
	return r.display.lang.Percent(max(0.01, float64(part)/float64(whole)))
}

// steps is the table beside the picture: the same numbers, of every node, a page
// of them where there are many.
func (f *planFlow) steps() ([]view.FlowRow, view.RowPages) {
	chosen := f.program.Index[f.c.QueryParam("node")] // 0: none
	from, to, pages := f.rowPage(len(f.program.Nodes), pageSteps, chosen, f.href)
	out := make([]view.FlowRow, 0, to-from)
	for i := from; i < to; i++ {
		node := &f.program.Nodes[i]
		row := view.FlowRow{ID: visible(node.ID), Href: f.href(url.Values{"node": {node.ID}, "rows": nil}) + "#step", Does: visible(doesWhat(node)), Effect: f.effect(string(f.effects[i])),
			Current: f.c.QueryParam("node") == node.ID}
		if n := f.flow.Nodes[node.ID]; n != nil {
			row.Runs, row.P50, row.P95 = f.number(int64(n.Runs)), took(n.P50), took(n.P95)
			row.Failed, row.Bad = f.share(n.Failed, n.Settled), n.Failed > 0
			row.Attempts = strconv.FormatFloat(float64(n.Attempts)/float64(max(n.Settled, 1)), 'f', 1, 64)
		}
		out = append(out, row)
	}
	return out, pages
}

// chosen is the panel of the node that somebody chose; nil: nobody did.
func (f *planFlow) chosen() *view.FlowNode {
	id := f.c.QueryParam("node")
	i, ok := f.program.Index[id]
	if !ok {
		return nil
	}
	node := &f.program.Nodes[i]
	at := "plan:" + filter.Quote(f.key) + " node:" + filter.Quote(id)
	out := &view.FlowNode{ID: visible(id), Close: f.href(url.Values{"node": nil}), All: stepsAt(at+" since:"+f.since, ""), Slowest: stepsAt(at+" since:"+f.since, "took"),
		Failing: stepsAt(at+" status:failed since:"+f.since, "")}
	out.Facts = []view.Fact{{Term: f.t("What it does"), Text: visible(doesWhat(node))}, {Term: f.t("Effect"), Text: f.effect(string(f.effects[i]))}}
	n := f.flow.Nodes[id]
	if n == nil {
		return out
	}
	out.Facts = append(out.Facts, view.Fact{Term: f.t("Runs"), Text: f.number(int64(n.Runs))}, view.Fact{Term: f.t("Failed"), Text: f.share(n.Failed, n.Settled)},
		view.Fact{Term: f.t("Median and p95"), Text: took(n.P50) + " · " + took(n.P95)}, view.Fact{Term: f.t("Attempts"), Text: f.number(int64(n.Attempts))})
	out.Failures, out.Slow = f.hitRows(n.Failures), f.hitRows(n.Slow)
	return out
}
