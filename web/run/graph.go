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
)

// paints are what the shade of a node may say.
var paints = []struct{ key, word string }{
	{"", locale.Mark("Status")},
	{"took", locale.Mark("Duration")},
	{"cost", locale.Mark("Cost")},
	{"attempts", locale.Mark("Attempts")},
}

// graphPart makes the view of the plan with what became of each node.
type graphPart struct{ *record }

// graph is the plan's picture with what became of each node, or the run as it
// went; in its own view it can be set.
func (b graphPart) graph(own bool) *graph.Graph {
	o := diagram.Options{Focus: b.node, Room: graph.Strip}
	if own {
		o.Room = graph.Pane
	}
	if b.chosen != nil {
		o.Focus = b.chosen.node
	}
	asRan := own && b.Query("mode") == "ran"
	size := len(b.program.Nodes)
	var p graph.Painter
	if asRan {
		p, size = b.asRan(o)
	} else {
		if size > graph.FoldFrom && b.Query("all") == "" {
			o.Most = graph.FoldTo
		}
		p = graph.Painter{Drawing: b.Layouts.Draw(b.program, b.effects, o), States: b.states(), Taken: b.takenEdges(), Selected: o.Focus}
	}
	p.Focus = own && (b.Query("step") != "" || b.Query("node") != "")
	g := p.Paint(b.Context)
	g.Swaps = true
	if !own {
		g.Fit(p.Drawing, graph.Overview)
		return g
	}
	if size > graph.FoldFrom && b.Query("all") == "" {
		g.Fold(b.Context, p.Drawing, size, b.href(url.Values{"all": {"1"}}))
	}
	b.settings(g, p.Drawing)
	if b.Query("mode") == "" {
		g.File = "/runs/" + b.d.Run.ID + "/graph.svg"
	}
	if key := b.Query("paint"); key != "" && !asRan {
		_, least, most := b.heat(key)
		if most > 0 {
			g.Scale = &graph.Scale{What: b.T("Shades:"), Least: b.amount(key, least), Most: b.amount(key, most)}
		}
	}
	return g
}

// settings are links to the same graph, drawn otherwise.
func (b graphPart) settings(g *graph.Graph, d *diagram.Drawing) {
	row := func(name, key string, links []kit.Link) {
		g.Settings = append(g.Settings, graph.Setting{Name: name, Links: links})
	}
	link := func(key, value, text string) kit.Link {
		set := url.Values{key: {value}}
		if value == "" {
			set[key] = nil
		}
		return kit.Link{Text: text, Href: b.href(set), Current: b.Query(key) == value}
	}
	row(b.T("Draw"), "mode", []kit.Link{link("mode", "", b.T("Plan")), link("mode", "ran", b.T("As it ran"))})
	var list []kit.Link
	for _, p := range paints {
		list = append(list, link("paint", p.key, b.T(p.word)))
	}
	row(b.T("Shade"), "paint", list)
	g.Zoom(b.Context, d, func(size string) string { return link("zoom", size, "").Href })
}

// takenEdges counts how often each edge of the document was taken.
func (b graphPart) takenEdges() map[int]int {
	taken := map[int]int{}
	for _, st := range b.steps {
		if st.final == nil {
			continue
		}
		if d := st.decision(); d.Edge > 0 {
			taken[d.Edge-1]++
		} else if i, ok := b.program.Index[st.node]; ok && len(b.program.Nodes[i].Out) == 1 &&
			(st.status == domain.NodeCompleted || d.Handled != "") {
			taken[b.program.Nodes[i].Out[0].Position]++
		}
	}
	return taken
}

// states reports what became of each box: of many steps, what must be seen first.
func (b graphPart) states() func(*diagram.Node) graph.State {
	steps := map[string][]*step{}
	for _, st := range b.steps {
		steps[st.node] = append(steps[st.node], st)
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
			state, _ := b.noStep(n.ID)
			s := graph.State{Status: wordOf(state)}
			s.Detail = b.T(s.Status.Word)
			s.Href = b.href(url.Values{"node": {n.ID}, "step": nil, "try": nil, "tab": nil}) + "#inspector"
			return s
		}
		st := b.latest(list)
		s := graph.State{
			Status: st.shown(),
			Href:   b.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}, "node": nil, "try": nil, "tab": nil}) + "#inspector",
		}
		s.Share = share[n.ID]
		s.Detail = b.T(s.Status.Word)
		b.countsDown(&s, st)
		if st.status == domain.NodeCompleted || st.status == domain.NodeFailed {
			s.Detail = kit.Took(st.took(now))
		}
		if len(list) > 1 {
			times(&s, len(list))
		}
		for _, a := range st.attempts {
			s.Attempts = append(s.Attempts, a.status == domain.NodeFailed || a.status == domain.NodeInDoubt)
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

// shares are what part of the time of all nodes each took; of items at once, the longest counts.
func (b graphPart) shares(now time.Time) map[string]float64 {
	took := map[visitKey]time.Duration{}
	for _, st := range b.steps {
		k := visitKey{st.node, st.visit, -1}
		if !st.reused {
			took[k] = max(took[k], st.took(now))
		}
	}
	out := map[string]float64{}
	var all time.Duration
	for k, d := range took {
		all += d
		out[k.node] += float64(d)
	}
	for node := range out {
		out[node] /= float64(max(all, 1))
	}
	return out
}

// countsDown is when a waiting step continues automatically: "in 52 s".
func (b graphPart) countsDown(s *graph.State, st *step) {
	if reason := st.waitsFor(); reason != domain.WaitRetry && reason != domain.WaitTimer {
		return
	}
	for _, w := range b.d.Waits {
		if w.Node == st.node && w.Visit == st.visit && w.Item == st.item && w.Due.After(b.Site.Now()) {
			s.Detail, s.Until = b.T("in %s", ""), w.Due
			return
		}
	}
}

// times adds how often a node was passed through.
func times(s *graph.State, n int) {
	if s.Until.IsZero() {
		s.Detail += fmt.Sprintf(" ×%d", n)
		return
	}
	s.Detail = fmt.Sprintf("×%d %s", n, s.Detail)
}

// latest is the step by which a node is judged: the last visit, and of its items
// what must be seen first.
func (b graphPart) latest(list []*step) *step {
	last := list[len(list)-1]
	for _, st := range list {
		if st.visit == last.visit && slices.Index(loudest, st.status) < slices.Index(loudest, last.status) {
			last = st
		}
	}
	return last
}

// groupState is the state of several nodes in one box, with a count.
func (b graphPart) groupState(n *diagram.Node, steps map[string][]*step) graph.State {
	count := map[domain.NodeStatus]int{}
	first, least := n.Members[0], len(loudest)
	for _, id := range n.Members {
		status := domain.NodePending
		if list := steps[id]; len(list) > 0 {
			status = b.latest(list).status
		}
		count[status]++
		if i := slices.Index(loudest, status); i >= 0 && i < least {
			least, first = i, id
		}
	}
	s := graph.State{Status: stepStatus(domain.NodePending), Href: b.href(url.Values{"node": {first}, "step": nil, "try": nil, "tab": nil})}
	if least < len(loudest) {
		s.Status = b.latest(steps[first]).shown()
		s.Detail = b.Number(int64(count[loudest[least]])) + " " + b.T(s.Status.Word)
	} else {
		s.Detail = b.T("not started")
	}
	if count[domain.NodePending] > 0 && least < len(loudest) && s.Status.Key == "ok" {
		s.Detail += " …"
	}
	return s
}

// heat sums the shaded figure per node: seconds, cost, or attempts; and the least and most of all.
func (b graphPart) heat(key string) (of map[string]float64, least, most float64) {
	of = map[string]float64{}
	if key == "" {
		return of, 0, 0
	}
	now := b.Site.Now()
	for _, st := range b.steps {
		switch key {
		case "took":
			of[st.node] += st.took(now).Seconds()
		case "cost":
			of[st.node] += st.usage().Cost
		case "attempts":
			of[st.node] += float64(len(st.attempts))
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

// amount formats a shaded figure.
func (b graphPart) amount(key string, v float64) string {
	switch key {
	case "took":
		return kit.Took(time.Duration(v * float64(time.Second)))
	case "cost":
		return value.Cost(b.Context, v)
	}
	return b.N(int(v), "%s attempt", "%s attempts")
}

// asRan draws the run as it went: a box per visit, loops unrolled, the items of a
// foreach in one.
func (b graphPart) asRan(o diagram.Options) (graph.Painter, int) {
	var visits []diagram.Visit
	of := map[string][]*step{} // by label
	at := map[visitKey]int{}
	var firsts []*step
	for _, st := range b.steps {
		k := visitKey{st.node, st.visit, -1}
		if _, ok := at[k]; !ok {
			at[k] = len(visits)
			label := kit.StepName(st.node, st.visit)
			visits = append(visits, diagram.Visit{Node: st.node, Label: label})
			firsts = append(firsts, st)
		}
		label := visits[at[k]].Label
		of[label] = append(of[label], st)
	}
	used := map[int]bool{}
	for i := range visits {
		needs, edges := b.before(visits[i].Node)
		for _, n := range needs {
			if j, ok := at[visitKey{n, 1, -1}]; ok && j < i {
				visits[i].From = append(visits[i].From, j)
			}
		}
		for j := i - 1; j >= 0 && len(needs) == 0; j-- { // the last that led here
			if !used[j] && slices.Contains(edges, visits[j].Node) && (firsts[j].led() == visits[i].Node || firsts[j].led() == "") {
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
	if b.chosen != nil {
		selected = kit.StepName(b.chosen.node, b.chosen.visit)
	}
	o.Focus = selected
	p := graph.Painter{Drawing: diagram.LayoutRun(graph.WithEffects(b.program, b.effects), visits, o), Selected: selected}
	now := b.Site.Now()
	p.States = func(n *diagram.Node) graph.State {
		if len(n.Members) > 1 {
			g := *n
			return b.groupState(&g, of)
		}
		list := of[n.ID]
		st := b.latest(list)
		s := graph.State{
			Status: st.shown(),
			Href:   b.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}, "node": nil, "try": nil, "tab": nil}) + "#inspector",
		}
		var span timeline.Span
		for i, x := range list {
			if i == 0 || x.started.Before(span.From) {
				span.From = x.started
			}
			if end := x.until(now); end.After(span.To) {
				span.To = end
			}
		}
		s.Detail = b.T(s.Status.Word)
		b.countsDown(&s, st)
		if st.status == domain.NodeCompleted || st.status == domain.NodeFailed {
			s.Detail = kit.Took(span.Len())
		}
		if len(list) > 1 {
			times(&s, len(list))
		}
		for _, a := range st.attempts {
			s.Attempts = append(s.Attempts, a.status == domain.NodeFailed || a.status == domain.NodeInDoubt)
		}
		return s
	}
	return p, len(visits)
}

// graphFile is a run's picture as a file, with what became of each node.
func graphFile(r *request) error {
	b, err := r.open(r.Param("run"))
	if err != nil {
		return err
	}
	d := b.Layouts.Draw(b.program, b.effects, diagram.Options{})
	h := b.Echo.Response().Header()
	h.Set(
		"Content-Disposition",
		fmt.Sprintf("attachment; filename=\"%s-%s.svg\"", kit.SafeName(b.d.Run.PlanKey), domain.ShortID(b.d.Run.ID)),
	)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	p := graph.Painter{Drawing: d, States: graphPart{b}.states(), Taken: graphPart{b}.takenEdges()}
	place := graph.Boxes(d)
	return b.Echo.Blob(http.StatusOK, "image/svg+xml", diagram.RunSVG(d, func(n *diagram.Node) diagram.StepState {
		st := p.States(n)
		text := st.Detail
		if !st.Until.IsZero() {
			text += kit.About(max(0, st.Until.Sub(b.Site.Now())))
		}
		says := st.InWords(b.Context, text)
		if n.Unsafe {
			says += ", " + b.T("side effects")
		}
		return diagram.StepState{Class: cmp.Or(st.Status.Key, "idle"), Text: text, Detail: says, Tries: st.Tries()}
	}, func(e *diagram.Edge) diagram.Passage { return p.Went(e, place) }))
}
