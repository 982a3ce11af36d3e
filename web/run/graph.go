package run

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/timeline"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/run/record"
)

// paints are the values that the shade of a box can show.
var paints = []struct{ key, word string }{
	{"", locale.Mark("Status")},
	{"took", locale.Mark("Duration")},
	{"cost", locale.Mark("Cost")},
	{"attempts", locale.Mark("Attempts")},
}

// graphPart builds the graph view.
type graphPart struct{ *record.Record }

// graph returns the graph of the plan with the state of each step, or of the actual path. own is
// set in the graph view, which has settings.
func (b graphPart) graph(own bool) *graph.Graph {
	o := diagram.Options{Focus: b.Node, Room: graph.Strip}
	if own {
		o.Room = graph.Pane
	}
	if b.Chosen != nil {
		o.Focus = b.Chosen.Node
	}
	asRan := own && b.Query("mode") == "ran"
	size := len(b.Program.Nodes)
	var p graph.Painter
	if asRan {
		p, size = b.asRan(o)
	} else {
		if size > graph.FoldFrom && b.Query("all") == "" {
			o.Most = graph.FoldTo
		}
		p = graph.Painter{Drawing: b.Layouts.Draw(b.Program, b.Effects, o), States: b.states(), Taken: b.takenEdges(), Inside: b.inside(),
			Selected: o.Focus}
	}
	p.Focus = own && (b.Query("step") != "" || b.Query("node") != "")
	g := p.Paint(b.Context)
	g.Swaps = true
	if !own {
		g.Fit(p.Drawing, graph.Overview)
		return g
	}
	if size > graph.FoldFrom && b.Query("all") == "" {
		g.Fold(b.Context, p.Drawing, size, b.Href(url.Values{"all": {"1"}}))
	}
	b.settings(g, p.Drawing)
	if b.Query("mode") == "" {
		g.File = "/runs/" + b.Detail.Run.ID + "/graph.svg"
	}
	if key := b.Query("paint"); key != "" && !asRan {
		_, least, most := b.heat(key)
		if most > 0 {
			g.Scale = &graph.Scale{What: b.T("Shades:"), Least: b.amount(key, least), Most: b.amount(key, most)}
		}
	}
	return g
}

// settings adds links that change how the graph is drawn.
func (b graphPart) settings(g *graph.Graph, d *diagram.Drawing) {
	row := func(name, key string, links []kit.Link) {
		g.Settings = append(g.Settings, graph.Setting{Name: name, Links: links})
	}
	link := func(key, value, text string) kit.Link {
		set := url.Values{key: {value}}
		if value == "" {
			set[key] = nil
		}
		return kit.Link{Text: text, Href: b.Href(set), Current: b.Query(key) == value}
	}
	row(b.T("Draw"), "mode", []kit.Link{link("mode", "", b.T("Plan")), link("mode", "ran", b.T("As it ran"))})
	var list []kit.Link
	for _, p := range paints {
		list = append(list, link("paint", p.key, b.T(p.word)))
	}
	row(b.T("Shade"), "paint", list)
	g.Zoom(b.Context, d, func(size string) string { return link("zoom", size, "").Href })
}

// takenEdges counts how often the run took each edge, by its index in the document.
func (b graphPart) takenEdges() map[int]int {
	taken := map[int]int{}
	for _, st := range b.Steps {
		if st.Final == nil {
			continue
		}
		if d := st.Decision(); d.Edge > 0 {
			taken[d.Edge-1]++
		} else if i, ok := b.Program.Index[st.Node]; ok && len(b.Program.Nodes[i].Out) == 1 &&
			(st.Status == domain.NodeCompleted || d.Handled != "") {
			taken[b.Program.Nodes[i].Out[0].Position]++
		}
	}
	return taken
}

// states returns a function that returns the state of a box. If a box has several steps, it is the
// most important state.
func (b graphPart) states() func(*diagram.Node) graph.State {
	steps := map[string][]*record.Step{}
	for _, st := range b.Steps {
		steps[st.Node] = append(steps[st.Node], st)
	}
	key := b.Query("paint")
	heat, least, most := b.heat(key)
	now := b.Site.Now()
	share := b.shares(now)
	return func(n *diagram.Node) graph.State {
		if len(n.Members) > 1 {
			return b.groupState(n, steps)
		}
		list := steps[n.ID]
		if len(list) == 0 {
			state, _ := b.NoStep(n.ID)
			s := graph.State{Status: record.WordOf(state)}
			s.Detail = b.T(s.Status.Word)
			s.Href = b.Href(url.Values{"node": {n.ID}, "step": nil, "try": nil, "tab": nil}) + "#inspector"
			return s
		}
		st := b.latest(list)
		s := graph.State{
			Status: st.Shown(),
			Href:   b.Href(url.Values{"step": {strconv.FormatInt(st.Seq, 10)}, "node": nil, "try": nil, "tab": nil}) + "#inspector",
		}
		s.Share = share[n.ID]
		s.Detail = b.T(s.Status.Word)
		b.countsDown(&s, st)
		if st.Status == domain.NodeCompleted || st.Status == domain.NodeFailed {
			s.Detail = kit.Duration(st.Took(now))
		}
		if len(list) > 1 {
			times(&s, len(list))
		}
		for _, a := range st.Attempts {
			s.Attempts = append(s.Attempts, a.Status == domain.NodeFailed || a.Status == domain.NodeInDoubt)
		}
		if key != "" {
			s.Detail, s.Until = b.amount(key, heat[n.ID]), time.Time{}
			if s.Heat = "heat-0"; most > 0 && heat[n.ID] > 0 {
				s.Heat = fmt.Sprintf("heat-%d", 1+min(4, int(5*(heat[n.ID]-least)/max(most-least, 1e-9))))
			}
		}
		return s
	}
}

// maxInside is the number of child runs that a graph reads for the states inside blocks.
const maxInside = 10

// inside returns a function that paints the steps in a block as its child run executes them. If the block has several child
// runs, that is the one of the selected item, or else of the item with the most important state.
func (b graphPart) inside() func(*diagram.Node) (graph.Painter, bool) {
	left := maxInside
	return func(n *diagram.Node) (graph.Painter, bool) {
		var list []*record.Step
		for _, st := range b.Steps {
			if st.Node == n.ID {
				list = append(list, st)
			}
		}
		if len(list) == 0 || left == 0 {
			return graph.Painter{}, false
		}
		st := b.latest(list)
		if b.Chosen != nil && b.Chosen.Node == n.ID {
			st = b.Chosen
		}
		child := st.Child()
		if child == "" {
			return graph.Painter{}, false
		}
		left--
		record, err := b.Open(child)
		if err != nil { // it was not created yet, or was deleted
			return graph.Painter{}, false
		}
		in := graphPart{record}
		return graph.Painter{States: in.states(), Taken: in.takenEdges(), Inside: in.inside()}, true
	}
}

// shares returns each step's share of the total time, from 0 to 1. Only the longest item of a
// foreach counts.
func (b graphPart) shares(now time.Time) map[string]float64 {
	took := map[record.VisitKey]time.Duration{}
	for _, st := range b.Steps {
		k := record.VisitKey{Node: st.Node, Visit: st.Visit, Item: -1}
		if !st.Reused {
			took[k] = max(took[k], st.Took(now))
		}
	}
	out := map[string]float64{}
	var all time.Duration
	for k, d := range took {
		all += d
		out[k.Node] += float64(d)
	}
	for node := range out {
		out[node] /= float64(max(all, 1))
	}
	return out
}

// countsDown adds the time until a waiting step continues automatically.
func (b graphPart) countsDown(s *graph.State, st *record.Step) {
	if reason := st.WaitsFor(); reason != domain.WaitRetry && reason != domain.WaitTimer {
		return
	}
	for _, w := range b.Detail.Waits {
		if w.Node == st.Node && w.Visit == st.Visit && w.Item == st.Item && w.Due.After(b.Site.Now()) {
			s.Detail, s.Until = b.T("in %s", ""), w.Due
			return
		}
	}
}

// times adds the number of iterations of a step.
func times(s *graph.State, n int) {
	if s.Until.IsZero() {
		s.Detail += fmt.Sprintf(" ×%d", n)
		return
	}
	s.Detail = fmt.Sprintf("×%d %s", n, s.Detail)
}

// latest returns the execution that determines the state of a step: the last iteration, and the
// item with the most important state.
func (b graphPart) latest(list []*record.Step) *record.Step {
	last := list[len(list)-1]
	for _, st := range list {
		if st.Visit == last.Visit && slices.Index(record.Loudest, st.Status) < slices.Index(record.Loudest, last.Status) {
			last = st
		}
	}
	return last
}

// groupState returns the state of several steps in one box, with a count.
func (b graphPart) groupState(n *diagram.Node, steps map[string][]*record.Step) graph.State {
	count := map[domain.NodeStatus]int{}
	first, least := n.Members[0], len(record.Loudest)
	for _, id := range n.Members {
		status := domain.NodePending
		if list := steps[id]; len(list) > 0 {
			status = b.latest(list).Status
		}
		count[status]++
		if i := slices.Index(record.Loudest, status); i >= 0 && i < least {
			least, first = i, id
		}
	}
	s := graph.State{Status: record.StepStatus(domain.NodePending),
		Href: b.Href(url.Values{"node": {first}, "step": nil, "try": nil, "tab": nil})}
	if least < len(record.Loudest) {
		s.Status = b.latest(steps[first]).Shown()
		s.Detail = b.Number(int64(count[record.Loudest[least]])) + " " + b.T(s.Status.Word)
	} else {
		s.Detail = b.T("not started")
	}
	if count[domain.NodePending] > 0 && least < len(record.Loudest) && s.Status.Key == "ok" {
		s.Detail += " …"
	}
	return s
}

// heat returns the shaded value of each step (seconds, cost, or attempts), and the minimum and
// maximum.
func (b graphPart) heat(key string) (of map[string]float64, least, most float64) {
	of = map[string]float64{}
	if key == "" {
		return of, 0, 0
	}
	now := b.Site.Now()
	for _, st := range b.Steps {
		switch key {
		case "took":
			of[st.Node] += st.Took(now).Seconds()
		case "cost":
			of[st.Node] += st.Usage().Cost
		case "attempts":
			of[st.Node] += float64(len(st.Attempts))
		}
	}
	first := true
	for _, v := range of {
		if first || v < least {
			least = v
		}
		most, first = max(most, v), false
	}
	return of, least, most
}

// amount formats a shaded value.
func (b graphPart) amount(key string, v float64) string {
	switch key {
	case "took":
		return kit.Duration(time.Duration(v * float64(time.Second)))
	case "cost":
		return value.Cost(b.Context, v)
	}
	return b.N(int(v), "%s attempt", "%s attempts")
}

// asRan draws the actual path of the run, with one box per iteration. All items of a foreach are in
// one box.
func (b graphPart) asRan(o diagram.Options) (graph.Painter, int) {
	var visits []diagram.Visit
	of := map[string][]*record.Step{} // by label
	at := map[record.VisitKey]int{}
	var firsts []*record.Step
	for _, st := range b.Steps {
		k := record.VisitKey{Node: st.Node, Visit: st.Visit, Item: -1}
		if _, ok := at[k]; !ok {
			at[k] = len(visits)
			label := kit.StepName(st.Node, st.Visit)
			visits = append(visits, diagram.Visit{Node: st.Node, Label: label})
			firsts = append(firsts, st)
		}
		label := visits[at[k]].Label
		of[label] = append(of[label], st)
	}
	used := map[int]bool{}
	for i := range visits {
		needs, edges := b.Before(visits[i].Node)
		if race, first := b.Winner(visits[i].Node); race == visits[i].Node && first != nil {
			needs = []string{first.Node}
		}
		for _, n := range needs {
			if j, ok := at[record.VisitKey{Node: n, Visit: 1, Item: -1}]; ok && j < i {
				visits[i].From = append(visits[i].From, j)
			}
		}
		for j := i - 1; j >= 0 && len(needs) == 0; j-- { // the last step that led to this one
			if !used[j] && slices.Contains(edges, visits[j].Node) && (firsts[j].Led() == visits[i].Node || firsts[j].Led() == "") {
				used[j] = true
				visits[i].From = []int{j}
				break
			}
		}
	}
	if len(visits) > graph.FoldFrom && b.Query("all") == "" {
		o.Most = graph.FoldTo
	}
	selected := ""
	if b.Chosen != nil {
		selected = kit.StepName(b.Chosen.Node, b.Chosen.Visit)
	}
	o.Focus = selected
	p := graph.Painter{Drawing: diagram.LayoutRun(graph.WithEffects(b.Program, b.Effects), visits, o), Selected: selected}
	now := b.Site.Now()
	p.States = func(n *diagram.Node) graph.State {
		if len(n.Members) > 1 {
			g := *n
			return b.groupState(&g, of)
		}
		list := of[n.ID]
		st := b.latest(list)
		s := graph.State{
			Status: st.Shown(),
			Href:   b.Href(url.Values{"step": {strconv.FormatInt(st.Seq, 10)}, "node": nil, "try": nil, "tab": nil}) + "#inspector",
		}
		var span timeline.Span
		for i, x := range list {
			if i == 0 || x.Started.Before(span.From) {
				span.From = x.Started
			}
			if end := x.Until(now); end.After(span.To) {
				span.To = end
			}
		}
		s.Detail = b.T(s.Status.Word)
		b.countsDown(&s, st)
		if st.Status == domain.NodeCompleted || st.Status == domain.NodeFailed {
			s.Detail = kit.Duration(span.Len())
		}
		if len(list) > 1 {
			times(&s, len(list))
		}
		for _, a := range st.Attempts {
			s.Attempts = append(s.Attempts, a.Status == domain.NodeFailed || a.Status == domain.NodeInDoubt)
		}
		return s
	}
	return p, len(visits)
}

// graphFile handles the download of a run's graph as SVG.
func graphFile(r *record.Request) error {
	b, err := r.Open(r.Param("run"))
	if err != nil {
		return err
	}
	d := b.Layouts.Draw(b.Program, b.Effects, diagram.Options{})
	h := b.Echo.Response().Header()
	h.Set(
		"Content-Disposition",
		fmt.Sprintf("attachment; filename=\"%s-%s.svg\"", kit.SafeName(b.Detail.Run.PlanKey), domain.ShortID(b.Detail.Run.ID)),
	)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	p := graph.Painter{Drawing: d, States: graphPart{b}.states(), Taken: graphPart{b}.takenEdges()}
	place := graph.Boxes(d)
	return b.Echo.Blob(http.StatusOK, "image/svg+xml", diagram.RunSVG(d, func(n *diagram.Node) diagram.StepState {
		st := p.States(n)
		text := st.Detail
		if !st.Until.IsZero() {
			text += kit.ApproxDuration(max(0, st.Until.Sub(b.Site.Now())))
		}
		says := st.InWords(b.Context, text)
		if n.Unsafe {
			says += ", " + b.T("side effects")
		}
		return diagram.StepState{Class: cmp.Or(st.Status.Key, "idle"), Text: text, Detail: says, Tries: st.Tries()}
	}, func(e *diagram.Edge) diagram.Passage { return p.Passage(e, place) }))
}
