package plans

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// flowWindows are the time ranges offered on the page of a plan. Its address accepts others.
var flowWindows = []string{"24h", "7d", "30d"}

const flowWindow = "7d"

// pageSteps is the maximum number of rows on a page of the step table.
const pageSteps = 200

// flowPaints are the measures that the shade of a node can show.
var flowPaints = []struct{ key, word string }{{"", locale.Mark("Share of time")}, {"failed", locale.Mark("Failures")},
	{"attempts", locale.Mark("Attempts")}, {"none", locale.Mark("None")}}

// planFlow aggregates the recent runs of a version by step.
type planFlow struct {
	*ui.Context
	*section
	key     string
	version int
	program *walk.Program
	effects []walk.Effect // side-effect classes, in the order of program.Nodes
	since   string
	flow    domain.PlanFlow
}

func (s *section) planFlow(c *ui.Context, key string, v domain.Version, program *walk.Program) (*planFlow, error) {
	f := &planFlow{Context: c, section: s, key: key, version: v.Number, program: program, since: c.Query("since")}
	from, err := filter.Moment(f.since, c.Site.Now())
	if err != nil {
		f.since = flowWindow
		from, _ = filter.Moment(f.since, c.Site.Now())
	}
	if f.effects, err = s.Engine.Effects(c, domain.ProgramRef{Hash: v.Hash, Profile: program.Profile}); err != nil {
		return nil, err
	}
	f.flow, err = s.Reader.PlanFlow(c, key, v.Number, from)
	return f, err
}

// href returns the address of this page with changed parameters. A nil value removes a parameter.
func (f *planFlow) href(set url.Values) string {
	q := url.Values{}
	for _, k := range []string{"since", "paint", "node", "zoom", "all", "rows", "line", "tab"} {
		if v := f.Query(k); v != "" {
			q.Set(k, v)
		}
	}
	for k, v := range set {
		if q.Del(k); len(v) > 0 && v[0] != "" {
			q.Set(k, v[0])
		}
	}
	path := f.Echo.Request().URL.Path
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// graph draws the plan with the results of its runs: run counts, failures, and durations by step,
// and how often each edge was taken.
func (f *planFlow) graph() *graph.Graph {
	o := diagram.Options{Focus: f.Query("node")}
	if len(f.program.Nodes) > graph.FoldFrom && f.Query("all") == "" {
		o.Most = graph.FoldTo
	}
	p := graph.Painter{Drawing: f.Layouts.Draw(f.program, f.effects, o), Selected: o.Focus, Focus: o.Focus != "", Overlay: f.overlay,
		Count: f.edgeCount, FlowRuns: f.flow.Runs, Href: func(node string) string { return f.href(url.Values{"node": {node}}) + "#step" }}
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
			s.Links = append(s.Links, kit.Link{Text: words[i], Href: f.href(url.Values{key: {v}}), Current: v == current})
		}
		g.Settings = append(g.Settings, s)
	}
	row(f.T("Runs of the last"), "since", f.since, flowWindows, flowWindows)
	var values, words []string
	for _, p := range flowPaints {
		values, words = append(values, p.key), append(words, f.T(p.word))
	}
	row(f.T("Shade"), "paint", f.Query("paint"), values, words)
	g.Zoom(f.Context, d, func(size string) string { return f.href(url.Values{"zoom": {size}}) })
	g.File = fmt.Sprintf("/plans/%s/v/%d/graph.svg", url.PathEscape(f.key), f.version)
	key, most := f.Query("paint"), f.darkest()
	if most > 0 {
		g.Scale = &graph.Scale{What: f.T("Shade:"), Least: f.shadeText(key, 0), Most: f.shadeText(key, most)}
	}
	switch {
	case f.flow.Runs == 0:
		g.Note = strings.TrimSpace(g.Note + " " + f.T("No run of this version began in the last %s.", f.since))
	case f.flow.Whole:
		g.Note = strings.TrimSpace(g.Note + " " + f.N(f.flow.Runs, "%s run of this version, of the last %s.",
			"%s runs of this version, of the last %s.", f.since))
	default:
		g.Note = strings.TrimSpace(g.Note + " " + f.N(f.flow.Runs, "The newest %s run of this version, since %s.",
			"The newest %s runs of this version, since %s.", f.Time(f.flow.Since).Text))
	}
}

// merged sums the results of all steps in a box, which may be folded. It returns nil if no run
// reached them.
func (f *planFlow) merged(box *diagram.Node) *domain.NodeFlow {
	var out domain.NodeFlow
	for _, id := range box.Members {
		n := f.flow.Nodes[id]
		if n == nil {
			continue
		}
		out.Runs = max(out.Runs, n.Runs)
		out.Settled, out.Failed, out.Attempts, out.Skipped = out.Settled+n.Settled, out.Failed+n.Failed,
			out.Attempts+n.Attempts, out.Skipped+n.Skipped
		out.P50, out.P95 = out.P50+n.P50, max(out.P95, n.P95)
	}
	if out.Runs == 0 {
		return nil
	}
	return &out
}

// overlay returns the second line of a box, its accessible text, and the class of its shade.
func (f *planFlow) overlay(box *diagram.Node) (detail, said, heat string) {
	n := f.merged(box)
	if n == nil {
		if f.flow.Runs == 0 {
			return "", "", ""
		}
		return f.T("no run"), f.T("no run"), ""
	}
	detail = "×" + f.Number(int64(n.Runs)) + " · " // a box has room for 16 characters
	said = f.N(n.Runs, "%s run", "%s runs") + " · "
	if n.Failed > 0 {
		detail += f.T("%s fail", share(f.Context, n.Failed, n.Settled))
		said += f.T("%s fail", share(f.Context, n.Failed, n.Settled)) + " · "
	} else {
		detail += kit.Duration(n.P50)
	}
	said += f.T("half within %s, 95%% within %s", kit.Duration(n.P50), kit.Duration(n.P95))
	if most := f.darkest(); most > 0 {
		if heat = "heat-0"; f.shade(n) > 0 {
			heat = fmt.Sprintf("heat-%d", 1+min(4, int(5*f.shade(n)/most)))
		}
	}
	return detail, said, heat
}

// darkest returns the greatest shade of all nodes, or 0 if no node is shaded.
func (f *planFlow) darkest() (most float64) {
	for _, n := range f.flow.Nodes {
		most = max(most, f.shade(n))
	}
	return most
}

// edgeCount returns how often runs took an edge, or -1 if unknown. The only outgoing edge of a node
// counts each completed iteration.
func (f *planFlow) edgeCount(e *diagram.Edge) int {
	from, ok := f.program.Index[e.From]
	if !ok {
		return -1 // edge of a folded box
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

// shade returns the value of the selected measure for a node.
func (f *planFlow) shade(n *domain.NodeFlow) float64 {
	switch f.Query("paint") {
	case "":
		return f.timeShare(n)
	case "failed":
		return float64(n.Failed) / float64(max(n.Settled, 1))
	case "attempts":
		return float64(n.Attempts) / float64(max(n.Settled, 1))
	}
	return 0
}

// timeShare returns the share of a node in the total time of all nodes, estimated from median
// durations.
func (f *planFlow) timeShare(n *domain.NodeFlow) float64 {
	var all float64
	for _, o := range f.flow.Nodes {
		all += o.P50.Seconds() * float64(o.Settled)
	}
	if all == 0 {
		return 0
	}
	return n.P50.Seconds() * float64(n.Settled) / all
}

func (f *planFlow) shadeText(key string, v float64) string {
	if key == "attempts" {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return f.Display.Lang.Percent(v)
}

// share formats part/whole in percent. A part above zero shows as at least 1 %.
func share(c *ui.Context, part, whole int) string {
	if part == 0 || whole == 0 {
		return c.Display.Lang.Percent(0)
	}
	return c.Display.Lang.Percent(max(0.01, float64(part)/float64(whole)))
}

// steps returns one page of the step table, which contains the numbers of the graph.
func (f *planFlow) steps() ([]FlowRow, kit.RowPages) {
	chosen := f.program.Index[f.Query("node")] // index of the selected node; 0 if none
	from, to, pages := ui.RowPage(f.Context, len(f.program.Nodes), pageSteps, chosen, f.href)
	out := make([]FlowRow, 0, to-from)
	for i := from; i < to; i++ {
		node := &f.program.Nodes[i]
		row := FlowRow{ID: kit.Escape(node.ID), Href: f.href(url.Values{"node": {node.ID}, "rows": nil}) + "#step",
			Action: kit.Escape(plan.ActionOf(node)), Effect: value.Effect(f.Context, string(f.effects[i])),
			Current: f.Query("node") == node.ID}
		if n := f.flow.Nodes[node.ID]; n != nil {
			row.Runs, row.P50, row.P95 = f.Number(int64(n.Runs)), kit.Duration(n.P50), kit.Duration(n.P95)
			row.Failed, row.Bad = share(f.Context, n.Failed, n.Settled), n.Failed > 0
			row.FailedBar = kit.Percent(100 * float64(n.Failed) / float64(max(n.Settled, 1)))
			row.Time, row.TimeBar = f.Display.Lang.Percent(f.timeShare(n)), kit.Percent(100*f.timeShare(n))
			row.Attempts = strconv.FormatFloat(float64(n.Attempts)/float64(max(n.Settled, 1)), 'f', 1, 64)
		}
		out = append(out, row)
	}
	return out, pages
}

// spend returns the figure for the cost of model calls.
func (f *planFlow) spend() Figure {
	var cost float64
	for _, n := range f.flow.Nodes {
		cost += n.Cost
	}
	out := Figure{Title: f.T("Spend"), Value: "–", Remark: f.T("no paid model calls")}
	if cost > 0 {
		out.Value, out.Remark = value.Cost(f.Context, cost), f.N(f.flow.Runs, "in %s run", "in %s runs")
	}
	return out
}

// chosen returns the panel of the selected node, or nil if none is selected.
func (f *planFlow) chosen() *FlowNode {
	id := f.Query("node")
	i, ok := f.program.Index[id]
	if !ok {
		return nil
	}
	node := &f.program.Nodes[i]
	at := "plan:" + filter.Quote(f.key) + " node:" + filter.Quote(id)
	out := &FlowNode{ID: kit.Escape(id), Close: f.href(url.Values{"node": nil}), All: link.Steps(at+" since:"+f.since, ""),
		Slowest: link.Steps(at+" since:"+f.since, "took"), Failing: link.Steps(at+" status:failed since:"+f.since, "")}
	out.Facts = []kit.Fact{{Term: f.T("Type"), Text: kit.Escape(plan.ActionOf(node))},
		{Term: f.T("Side effects"), Text: value.Effect(f.Context, string(f.effects[i]))}}
	n := f.flow.Nodes[id]
	if n == nil {
		return out
	}
	out.Facts = append(out.Facts, kit.Fact{Term: f.T("Runs"), Text: f.Number(int64(n.Runs))},
		kit.Fact{Term: f.T("Failed"), Text: share(f.Context, n.Failed, n.Settled)}, kit.Fact{Term: f.T("Median and p95"),
			Text: kit.Duration(n.P50) + " · " + kit.Duration(n.P95)}, kit.Fact{Term: f.T("Attempts"), Text: f.Number(int64(n.Attempts))})
	out.Failures, out.Slow = run.StepHits(f.Context, n.Failures), run.StepHits(f.Context, n.Slow)
	return out
}
