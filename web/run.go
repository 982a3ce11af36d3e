package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/static"
	"github.com/kairosd/kairosd/web/view"
)

// step is one visit, or one item of it, put together from journal rows.
type step struct {
	node           string
	visit, item    int
	seq            int64 // of its first row: its address
	status         kairos.NodeStatus
	attempts       []attempt
	waits          []kairos.Entry
	started, ended time.Time
	last           kairos.Entry // newest row
	final          *kairos.Entry
}

// attempt is one try of a step.
type attempt struct {
	number         int
	status         kairos.NodeStatus
	started, ended time.Time
	entry          kairos.Entry
	input          kairos.RawJSON
}

// steps folds a journal into what the timeline shows.
func steps(journal []kairos.Entry) []*step {
	type key struct {
		node        string
		visit, item int
	}
	at := map[key]*step{}
	var out []*step
	for _, e := range journal {
		if e.Node == "" || e.Kind == kairos.EntryReset {
			continue
		}
		k := key{e.Node, e.Visit, e.Item}
		st := at[k]
		if st == nil {
			st = &step{node: e.Node, visit: e.Visit, item: e.Item, seq: e.Seq, started: cmpTime(e.StartedAt, e.At)}
			at[k] = st
			out = append(out, st)
		}
		st.add(e)
	}
	return out
}

func cmpTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func (st *step) add(e kairos.Entry) {
	st.last, st.ended = e, e.At
	switch e.Kind {
	case kairos.EntryIntent:
		st.status = kairos.NodeRunning
		st.final = nil
		st.attempts = append(st.attempts, attempt{number: e.Attempt, status: kairos.NodeRunning, started: cmpTime(e.StartedAt, e.At), entry: e, input: e.Input})
	case kairos.EntryResult:
		st.status = e.Status
		a := attempt{number: e.Attempt, status: e.Status, started: cmpTime(e.StartedAt, e.At), ended: e.At, entry: e, input: e.Input}
		if n := len(st.attempts); n > 0 && st.attempts[n-1].number == e.Attempt {
			if a.input == nil {
				a.input = st.attempts[n-1].input
			}
			st.attempts[n-1] = a
		} else {
			st.attempts = append(st.attempts, a)
		}
		if e.Final {
			st.final = &e
		}
	case kairos.EntryWait:
		st.status = kairos.NodeWaiting
		st.waits = append(st.waits, e)
	case kairos.EntryResolve:
		if e.Final {
			st.status, st.final = e.Status, &e
			st.attempts = append(st.attempts, attempt{number: e.Attempt, status: e.Status, started: e.At, ended: e.At, entry: e})
		}
	}
}

func (st *step) label() string {
	l := st.node
	if st.visit > 1 {
		l += fmt.Sprintf(" #%d", st.visit)
	}
	if st.item >= 0 {
		l += fmt.Sprintf(" [%d]", st.item)
	}
	return l
}

func (r *request) run() error {
	found, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	if found.ID != r.c.Param("run") {
		return r.c.Redirect(http.StatusSeeOther, "/runs/"+found.ID)
	}
	d, err := r.s.Engine.Detail(r.ctx, found.ID)
	if err != nil {
		return err
	}
	program, err := r.s.Engine.Program(r.ctx, d.Run.Hash)
	if err != nil {
		return err
	}
	b := &runPage{request: r, d: d, program: program, steps: steps(d.Journal)}
	p, err := b.build()
	if err != nil {
		return err
	}
	if r.htmx() {
		switch r.c.Request().Header.Get("HX-Target") {
		case "head":
			return r.render(http.StatusOK, view.RunHead(p))
		case "view":
			return r.render(http.StatusOK, view.RunView(p))
		}
	}
	return r.render(http.StatusOK, view.Run(p))
}

// runPage builds the page of one run.
type runPage struct {
	*request
	d       kairos.RunDetail
	program *planner.Program
	steps   []*step
	chosen  *step
	view    string
}

func (b *runPage) build() (view.RunPage, error) {
	run := b.d.Run
	status := runStatus(run.Status, run.WaitReason)
	p := view.RunPage{Shell: b.shell("runs", b.t(status.Word)+" · "+run.PlanKey+" · "+kairos.ShortID(run.ID)), ID: run.ID, Short: kairos.ShortID(run.ID), Status: status,
		Plan:    view.Link{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)},
		Version: view.Link{Text: fmt.Sprintf("v%d", run.Version), Href: fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(run.PlanKey), run.Version)},
		Topic:   "run-" + run.ID, Terminal: run.Status.Final()}
	p.Live, p.Favicon = true, favicon(run.Status)
	if !run.PurgedAt.IsZero() {
		p.Notices = append(p.Notices, view.Notice{Text: b.t("Retention removed the journal, input and output of this run on %s.", b.time(run.PurgedAt).Text)})
	}
	b.view = b.c.QueryParam("view")
	if !slices.Contains([]string{"timeline", "graph", "state", "log", "agents", "handoffs", "events", "io"}, b.view) {
		b.view = "timeline"
	}
	p.View = b.view
	b.chosen = b.choose()
	p.Refresh = b.href(nil)
	b.times(&p)
	p.Actions = b.actions()
	why, err := b.why()
	if err != nil {
		return p, err
	}
	p.Why = why
	if why != nil {
		if why.Links, err = b.whyLinks(); err != nil {
			return p, err
		}
	}
	p.Summary = b.summary()
	p.FaviconPath = static.Path("fav-" + p.Favicon + ".svg")
	b.facts(&p)
	for _, v := range []struct{ id, text string }{{"timeline", locale.Mark("Timeline")}, {"graph", locale.Mark("Graph")}, {"state", locale.Mark("State")}, {"log", locale.Mark("Log")}, {"agents", locale.Mark("Agents")}, {"handoffs", locale.Mark("Handoffs")}, {"events", locale.Mark("Events")}, {"io", locale.Mark("Input and output")}} {
		l := view.Link{Text: b.t(v.text), Href: b.href(url.Values{"view": {v.id}}), Current: v.id == b.view}
		if v.id == "events" {
			l.Count = strconv.Itoa(len(b.d.Journal))
		}
		p.Views = append(p.Views, l)
	}
	switch b.view {
	case "timeline":
		b.timeline(&p)
		if len(b.program.Nodes) <= smallGraph { // a larger one is a view of its own
			p.Graph = b.graph()
		}
	case "graph":
		p.Graph = b.graph()
	case "state":
		st := b.state()
		p.State = &st
	case "handoffs":
		if p.Handoffs, err = b.handoffs(); err != nil {
			return p, err
		}
	case "events":
		p.Events = b.events()
	case "log":
		p.Log = b.log()
	case "agents":
		if p.Talk, err = b.talk(); err != nil {
			return p, err
		}
	case "io":
		p.Blocks = []view.Block{block("in", b.t("Input"), run.Input, ""), block("out", b.t("Output"), run.Output, "")}
	}
	if b.chosen != nil {
		i := b.inspector()
		p.Inspector = &i
	}
	if err := b.approvals(&p); err != nil {
		return p, err
	}
	related, err := b.s.Reader.Lineage(b.ctx, run.ID)
	if err != nil {
		return p, err
	}
	p.Related = b.runRows(related)
	return p, nil
}

// href is this page with some parameters changed.
func (b *runPage) href(set url.Values) string {
	q := url.Values{}
	for _, key := range []string{"view", "step", "try", "tab", "cp"} {
		if v := b.c.QueryParam(key); v != "" {
			q.Set(key, v)
		}
	}
	for k, v := range set {
		q[k] = v
	}
	path := "/runs/" + b.d.Run.ID
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// choose is the step that the page opens on: the answer (UI 0.1). What failed
// comes first, then what waits, then what runs, then the last.
func (b *runPage) choose() *step {
	if s := b.c.QueryParam("step"); s != "" {
		for _, st := range b.steps {
			if strconv.FormatInt(st.seq, 10) == s || st.node == s {
				return st
			}
		}
	}
	for _, want := range []kairos.NodeStatus{kairos.NodeInDoubt, kairos.NodeFailed, kairos.NodeWaiting, kairos.NodeRunning} {
		if b.d.Run.Status == kairos.RunCompleted && want == kairos.NodeFailed {
			continue // handled
		}
		for _, st := range b.steps {
			if st.status == want {
				return st
			}
		}
	}
	if n := len(b.steps); n > 0 {
		return b.steps[n-1]
	}
	return nil
}

func (b *runPage) times(p *view.RunPage) {
	run := b.d.Run
	switch {
	case !run.EndedAt.IsZero():
		p.Sub, p.Ended = b.t("ran %s, ended", took(run.EndedAt.Sub(run.CreatedAt))), b.time(run.EndedAt)
	default:
		p.Sub, p.Ended = b.t("started"), b.time(run.CreatedAt)
	}
}

// actions are the verbs that the run's state allows; what the role may never do
// is not shown.
func (b *runPage) actions() []view.Link {
	if !b.who.Role.Includes(kairos.RoleOperator) {
		return nil
	}
	link := func(text, action string, primary bool) view.Link {
		l := view.Link{Text: text, Href: "/runs/" + b.d.Run.ID + "/" + action, Primary: primary, Danger: action == "cancel" || action == "delete"}
		if action == "resume" || action == "fork" {
			l.Key = action
		}
		return l
	}
	run := b.d.Run
	switch {
	case run.Status == kairos.RunFailed || run.Status == kairos.RunCancelled:
		text := b.t("Resume")
		if b.chosen != nil {
			text = b.t("Resume from %s", b.chosen.node)
		}
		return []view.Link{link(text, "resume", true), link(b.t("Fork…"), "fork", false), link(b.t("Rerun…"), "rerun", false), link(b.t("Delete…"), "delete", false)}
	case run.Status == kairos.RunCompleted:
		return []view.Link{link(b.t("Rerun…"), "rerun", true), link(b.t("Fork…"), "fork", false), link(b.t("Delete…"), "delete", false)}
	case run.WaitReason == kairos.WaitPaused || run.Paused:
		return []view.Link{link(b.t("Continue"), "continue", true), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitRetry:
		return []view.Link{link(b.t("Retry now"), "retry-now", true), link(b.t("Pause"), "pause", false), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitQuarantined || run.WaitReason == kairos.WaitHeld:
		return []view.Link{link(b.t("Release…"), "release", true), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitBudget:
		return []view.Link{link(b.t("Raise limits…"), "limits", true), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
	}
	return []view.Link{link(b.t("Pause"), "pause", false), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
}

// why is the band that says what is wrong, or for what the run waits, and what
// resuming will do.
func (b *runPage) why() (*view.Why, error) {
	run := b.d.Run
	w := &view.Why{Headline: visible(run.Headline)}
	switch {
	case run.Status == kairos.RunFailed && run.Error != nil:
		if w.Headline == "" {
			w.Headline = b.t("%s failed", run.Error.Node)
		}
		if w.Message = visible(run.Error.Message); strings.Contains(w.Headline, w.Message) {
			w.Message = "" // the headline says it all
		}
		if !b.who.Role.Includes(kairos.RoleOperator) {
			return w, nil
		}
		pre, err := b.s.Engine.Preview(b.ctx, b.who.actor(), kairos.VerbRequest{Run: run.ID, Action: kairos.ActionResume})
		if err != nil {
			return nil, err
		}
		w.Then = b.consequence(pre)
	case run.Status == kairos.RunWaiting || run.Status == kairos.RunQueued && run.Headline != "":
		w.Class = "need"
		if !run.WaitReason.NeedsPerson() {
			w.Class = "now"
		}
		if w.Headline == "" {
			w.Headline = b.t("Waits: %s", b.reason(run.WaitReason))
		}
		for _, wait := range b.d.Waits {
			if len(b.d.Waits) == 1 && wait.Due.IsZero() && visible(wait.Message) == w.Headline {
				break // the headline says it all
			}
			text := strings.TrimSpace(b.t("%s at %s", b.reason(wait.Reason), wait.Node) + " " + visible(wait.Message))
			if wait.Node == "" {
				text = strings.TrimSpace(b.reason(wait.Reason) + " " + visible(wait.Message))
			}
			if !wait.Due.IsZero() {
				text += b.t(", until %s", b.time(wait.Due).Text)
			}
			w.Items = append(w.Items, text)
		}
	default:
		return nil, nil
	}
	return w, nil
}

// reason is a wait reason as people read it.
func (r *request) reason(w kairos.WaitReason) string { return r.t(reasonWords[w]) }

var reasonWords = map[kairos.WaitReason]string{kairos.WaitQuarantined: locale.Mark("quarantined"), kairos.WaitHeld: locale.Mark("held"),
	kairos.WaitPaused: locale.Mark("paused"), kairos.WaitInDoubt: locale.Mark("in doubt"), kairos.WaitBudget: locale.Mark("budget"),
	kairos.WaitApproval: locale.Mark("approval"), kairos.WaitReplan: locale.Mark("replan"), kairos.WaitChild: locale.Mark("child run"),
	kairos.WaitRetry: locale.Mark("retry"), kairos.WaitTimer: locale.Mark("timer")}

// consequence is the sentences that say what resuming will do, before it is
// done.
func (r *request) consequence(p kairos.Preview) string {
	if !p.Allowed {
		return strings.TrimSpace(p.Refusal + ". " + p.Suggestion)
	}
	again, fresh := r.n(len(p.Again), "%s step again", "%s steps again"), r.n(len(p.New), "%s that never started", "%s that never started")
	out := []string{r.t("Resume runs %s and %s.", again, fresh)}
	if n := len(p.Keep); n > 0 {
		out = append(out, r.n(n, "The %s finished step keeps its saved result and is not repeated.", "The %s finished steps keep their saved results and are not repeated."))
	}
	if n := len(p.Effects); n > 0 {
		var names []string
		for _, e := range p.Effects[:min(n, 5)] {
			names = append(names, fmt.Sprintf("%s (%s)", e.Node, e.Effect))
		}
		out = append(out, r.t("Ahead: %s.", strings.Join(names, ", ")))
	}
	return strings.Join(out, " ")
}

func (b *runPage) facts(p *view.RunPage) {
	run := b.d.Run
	add := func(term, text, href string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: term, Text: text, Href: href})
		}
	}
	add(b.t("Started by"), visible(run.Actor), "")
	add(b.t("Checkpoint"), strconv.FormatInt(run.LastSeq, 10), b.href(url.Values{"view": {"events"}}))
	add(b.t("Steps"), strconv.FormatInt(run.Steps, 10), "")
	if !run.Usage.Zero() {
		add(b.t("Tokens"), strconv.FormatInt(run.Usage.InputTokens+run.Usage.OutputTokens, 10), "")
		add(b.t("Cost"), fmt.Sprintf("%.4f", run.Usage.Cost), "")
	}
	if run.ForkedFrom != "" {
		add(b.t("Forked from"), kairos.ShortID(run.ForkedFrom), "/runs/"+run.ForkedFrom)
	}
	if run.RerunOf != "" {
		add(b.t("Rerun of"), kairos.ShortID(run.RerunOf), "/runs/"+run.RerunOf)
	}
	if run.Parent != nil {
		add(b.t("Child of"), b.t("%s at %s", kairos.ShortID(run.Parent.Run), run.Parent.Node), "/runs/"+run.Parent.Run)
	}
	for _, k := range sortedLabels(run.Labels) {
		add(k, visible(run.Labels[k]), "")
	}
	if run.Crashes > 0 {
		add(b.t("Interrupted"), b.n(run.Crashes, "%s time", "%s times"), "")
	}
}

func sortedLabels(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// smallGraph is how many nodes a picture below the timeline may have.
const smallGraph = 60

// timelineRows bounds how many steps are listed; the rest is counted.
const timelineRows = 500

// timeline lays steps out over the run's span.
func (b *runPage) timeline(p *view.RunPage) {
	run := b.d.Run
	start := run.CreatedAt
	if len(b.steps) > 0 && b.steps[0].started.Before(start) || !run.StartedAt.IsZero() {
		start = cmpTime(run.StartedAt, start)
	}
	end := time.Now()
	if !run.EndedAt.IsZero() {
		end = run.EndedAt
	}
	for _, st := range b.steps { // a fork keeps steps that are older than itself
		if st.started.Before(start) && run.ForkedFrom == "" {
			start = st.started
		}
	}
	span := max(end.Sub(start), time.Millisecond)
	x := func(t time.Time) float64 { return min(100, max(0, float64(t.Sub(start))/float64(span)*100)) }
	for _, tick := range ticks(span) {
		p.Ticks = append(p.Ticks, view.Tick{X: percent(float64(tick) / float64(span) * 100), Label: took(tick)})
	}
	shown := b.steps
	if len(shown) > timelineRows {
		shown = shown[len(shown)-timelineRows:]
	}
	seen := map[string]bool{}
	for _, st := range b.steps {
		seen[st.node] = true
	}
	for i, st := range shown {
		row := view.StepRow{Number: strconv.Itoa(len(b.steps) - len(shown) + i + 1), Name: st.label(), Status: stepStatus(st.status),
			Href: b.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}, "try": nil, "tab": nil}) + "#inspector", Selected: st == b.chosen, Sub: st.item >= 0,
			Kind: b.kind(st.node), Notes: b.notes(st), Dim: st.status == kairos.NodeSkipped}
		if st.status == kairos.NodeRunning {
			row.Since, row.Took = st.started.UnixMilli(), took(time.Since(st.started))
		} else {
			row.Took = took(st.ended.Sub(st.started))
		}
		for _, w := range st.waits {
			until := end
			for _, a := range st.attempts {
				if a.started.After(w.At) {
					until = a.started
					break
				}
			}
			if st.final != nil && st.final.At.After(w.At) && st.final.At.Before(until) {
				until = st.final.At
			}
			row.Bars = append(row.Bars, bar(x(w.At), x(until), "g-wait", "42%", "16%"))
		}
		for _, a := range st.attempts {
			until, class := a.ended, "g-ok"
			switch a.status {
			case kairos.NodeRunning:
				until, class = end, "g-now live-bar"
			case kairos.NodeFailed, kairos.NodeInDoubt:
				class = "g-fail"
			case kairos.NodeSkipped, kairos.NodeCancelled:
				class = "g-idle"
			}
			row.Bars = append(row.Bars, bar(x(a.started), x(until), class, "28%", "44%"))
		}
		p.Steps = append(p.Steps, row)
	}
	if len(b.program.Nodes) <= timelineRows {
		for i := range b.program.Nodes {
			n := &b.program.Nodes[i]
			if seen[n.ID] {
				continue
			}
			st := notStarted(run.Status == kairos.RunCompleted)
			p.Steps = append(p.Steps, view.StepRow{Number: "–", Name: n.ID, Status: st.status, Href: b.href(url.Values{"view": {"graph"}}), Kind: b.kind(n.ID), Dim: true})
		}
	}
	for _, s := range []kairos.NodeStatus{kairos.NodeCompleted, kairos.NodeFailed, kairos.NodeRunning, kairos.NodeWaiting, kairos.NodeInDoubt, kairos.NodeSkipped, kairos.NodePending} {
		p.Legend = append(p.Legend, stepStatus(s))
	}
}

// bar is a segment at least wide enough to be seen.
func bar(from, to float64, class, y, h string) view.Bar {
	w := max(to-from, 0.4)
	return view.Bar{X: percent(min(from, 99.6)), W: percent(w), Y: y, H: h, Class: class}
}

// ticks are round times inside a span, three to six of them.
func ticks(span time.Duration) []time.Duration {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute,
		5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour} {
		for _, f := range []time.Duration{1, 2, 5} {
			if step := unit * f; span/step <= 5 {
				var out []time.Duration
				for t := time.Duration(0); t < span; t += step {
					out = append(out, t)
				}
				return out
			}
		}
	}
	return nil
}

func (b *runPage) kind(node string) string {
	i, ok := b.program.Index[node]
	if !ok {
		return ""
	}
	n := &b.program.Nodes[i]
	switch {
	case n.Tool != "":
		return "tool · " + n.Tool
	case n.Agent != "":
		return n.Type + " · " + n.Agent
	}
	return n.Type
}

func (b *runPage) notes(st *step) string {
	var out []string
	if len(st.attempts) > 1 {
		out = append(out, b.n(len(st.attempts), "%s attempt", "%s attempts"))
	}
	if st.final != nil {
		if d := decision(st.final.Decision); d.To != "" {
			out = append(out, "→ "+d.To)
		} else if d.Ended != "" {
			out = append(out, "ended: "+d.Ended)
		}
	}
	if st.status == kairos.NodeWaiting && len(st.waits) > 0 {
		w := st.waits[len(st.waits)-1]
		out = append(out, w.Reason)
	}
	return strings.Join(out, " · ")
}

func decision(j kairos.RawJSON) planner.Decision {
	var d planner.Decision
	if len(j) > 0 && json.Unmarshal(j, &d) != nil {
		return planner.Decision{}
	}
	return d
}

// graph is the plan's picture with what became of each node.
func (b *runPage) graph() *view.Graph {
	latest := map[string]*step{}
	count := map[string]int{}
	taken := map[int]int{}
	for _, st := range b.steps {
		if st.item < 0 || latest[st.node] == nil || st.status != kairos.NodeCompleted {
			latest[st.node] = st
		}
		count[st.node]++
		if st.final == nil {
			continue
		}
		if d := decision(st.final.Decision); d.Edge > 0 {
			taken[d.Edge-1]++
		} else if i, ok := b.program.Index[st.node]; ok && len(b.program.Nodes[i].Out) == 1 && st.status == kairos.NodeCompleted {
			taken[b.program.Nodes[i].Out[0].Position]++
		}
	}
	selected := ""
	if b.chosen != nil {
		selected = b.chosen.node
	}
	return b.graphOf(b.program, func(node string) nodeState {
		st := latest[node]
		if st == nil {
			s := notStarted(b.d.Run.Status == kairos.RunCompleted)
			s.detail = b.t(s.status.Word)
			s.href = "/plans/" + url.PathEscape(b.d.Run.PlanKey)
			return s
		}
		s := nodeState{status: stepStatus(st.status), href: b.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}}) + "#inspector"}
		s.detail = b.t(s.status.Word)
		if st.status == kairos.NodeCompleted {
			s.detail = took(st.ended.Sub(st.started))
		}
		if count[node] > 1 {
			s.detail += fmt.Sprintf(" ×%d", count[node])
		}
		return s
	}, taken, selected)
}

func (b *runPage) events() []view.EventRow {
	rows := make([]view.EventRow, 0, len(b.d.Journal))
	for _, e := range b.d.Journal {
		row := view.EventRow{Seq: strconv.FormatInt(e.Seq, 10), At: b.time(e.At), What: strings.TrimSpace(string(e.Kind) + " " + string(e.Status)), Where: e.Node, Who: visible(e.Actor), Text: visible(e.Reason)}
		if e.Visit > 1 {
			row.Where += fmt.Sprintf(" visit %d", e.Visit)
		}
		if e.Item >= 0 && e.Node != "" {
			row.Where += fmt.Sprintf(" [%d]", e.Item)
		}
		if e.Attempt > 1 {
			row.Where += fmt.Sprintf(" attempt %d", e.Attempt)
		}
		if e.Failure != nil {
			row.Text = visible(e.Failure.Message)
		} else if d := decision(e.Decision); e.Final && d.To != "" {
			row.Text = "→ " + d.To
		}
		rows = append(rows, row)
	}
	return rows
}

func (b *runPage) log() []view.LogLine {
	var out []view.LogLine
	for _, e := range b.d.Journal {
		var lines []struct {
			At      time.Time `json:"at"`
			Level   string    `json:"level"`
			Message string    `json:"message"`
		}
		if len(e.Log) == 0 || json.Unmarshal(e.Log, &lines) != nil {
			continue
		}
		for _, l := range lines {
			out = append(out, view.LogLine{Number: strconv.Itoa(len(out) + 1), Level: l.Level, Step: e.Node, Text: visible(l.Message), At: b.time(cmpTime(l.At, e.At))})
		}
	}
	return out
}

var tabWords = map[string]string{"error": locale.Mark("Error"), "output": locale.Mark("Output"), "input": locale.Mark("Input"), "decision": locale.Mark("Decision"), "log": locale.Mark("Log")}

// inspector shows the chosen step; tabs are links.
func (b *runPage) inspector() view.Inspector {
	st := b.chosen
	seq := strconv.FormatInt(st.seq, 10)
	i := view.Inspector{Name: st.label(), Sub: b.kind(st.node), Status: stepStatus(st.status)}
	if n, ok := b.program.Index[st.node]; ok && b.program.Nodes[n].Timeout > 0 {
		i.Sub += " · " + b.t("timeout") + " " + b.program.Nodes[n].Timeout.String()
	}
	var a *attempt
	try := b.c.QueryParam("try")
	for n := range st.attempts {
		if text := strconv.Itoa(st.attempts[n].number); text == try || try == "" && n == len(st.attempts)-1 {
			a = &st.attempts[n]
		}
	}
	if len(st.attempts) > 1 {
		for n := range st.attempts {
			text := strconv.Itoa(st.attempts[n].number)
			i.Attempts = append(i.Attempts, view.Link{Text: text, Href: b.href(url.Values{"step": {seq}, "try": {text}}) + "#inspector", Current: &st.attempts[n] == a})
		}
	}
	if st.status == kairos.NodeInDoubt && a != nil && b.who.Role.Includes(kairos.RoleOperator) {
		what := b.t("The daemon stopped inside attempt %d of %s.", a.number, st.node)
		if a.entry.Failure != nil {
			what = b.t("Attempt %d of %s was sent, and its answer was lost.", a.number, st.node)
		}
		i.Doubt = &view.DoubtForm{What: what, Action: fmt.Sprintf("/runs/%s/nodes/%s/resolve", b.d.Run.ID, url.PathEscape(st.node)), CSRF: b.who.csrf, Idem: newID(),
			Rev: strconv.FormatInt(b.d.Run.LastSeq, 10), Node: st.node, Visit: strconv.Itoa(st.visit), Item: strconv.Itoa(st.item), Attempt: strconv.Itoa(a.number), Key: a.entry.IdempotencyKey}
	}
	tabs := []string{}
	if a != nil && a.entry.Failure != nil {
		tabs = append(tabs, "error")
	}
	tabs = append(tabs, "output", "input")
	if st.final != nil && len(st.final.Decision) > 0 {
		tabs = append(tabs, "decision")
	}
	if a != nil && len(a.entry.Log) > 0 {
		tabs = append(tabs, "log")
	}
	tab := b.c.QueryParam("tab")
	if !slices.Contains(tabs, tab) {
		tab = tabs[0]
	}
	for _, t := range tabs {
		i.Tabs = append(i.Tabs, view.Link{Text: b.t(tabWords[t]), Href: b.href(url.Values{"step": {seq}, "tab": {t}}) + "#inspector", Current: t == tab})
	}
	if a != nil {
		i.Blocks = b.blocks(st, a, tab)
	}
	if b.who.Role.Includes(kairos.RoleOperator) && st.final != nil {
		i.Actions = append(i.Actions, view.Link{Text: b.t("Fork after this step…"), Href: fmt.Sprintf("/runs/%s/fork?at=%d", b.d.Run.ID, st.final.Seq)})
	}
	return i
}

func (b *runPage) blocks(st *step, a *attempt, tab string) []view.Block {
	raw := func(part string) string { return fmt.Sprintf("/runs/%s/raw/%d/%s", b.d.Run.ID, a.entry.Seq, part) }
	switch tab {
	case "error":
		f := a.entry.Failure
		text := f.Message
		for _, more := range []string{f.Suggestion, f.Detail, f.Stack} {
			if more != "" && more != f.Message {
				text += "\n\n" + more
			}
		}
		retry := b.t("retryable")
		if f.Permanent {
			retry = b.t("permanent")
		}
		return []view.Block{{ID: "err", Title: f.Code + " · " + retry, Text: visible(text)}, block("in", b.t("Input"), a.input, raw("input"))}
	case "input":
		return []view.Block{block("in", b.t("Input"), a.input, raw("input"))}
	case "decision":
		d := decision(st.final.Decision)
		var lines []string
		for _, e := range d.Evaluated {
			line := fmt.Sprintf("%s  %s  → %s", e.Result, e.Condition, e.To)
			if e.Saw != "" {
				line += "   saw " + e.Saw
			}
			lines = append(lines, line)
		}
		for _, c := range d.Settled {
			lines = append(lines, fmt.Sprintf("%s %s %s", c.Node, c.Status, c.Reason))
		}
		switch {
		case d.To != "":
			lines = append(lines, "taken: → "+d.To)
		case d.Ended != "":
			lines = append(lines, "ended: "+d.Ended)
		}
		return []view.Block{{ID: "dec", Title: b.t("Why did it go there?"), Text: visible(strings.Join(lines, "\n"))}}
	case "log":
		return []view.Block{block("log", b.t("Log"), a.entry.Log, "")}
	}
	return []view.Block{block("out", b.t("Output"), a.entry.Output, raw("output"))}
}

func (b *runPage) approvals(p *view.RunPage) error {
	if b.d.Run.Status != kairos.RunWaiting {
		return nil
	}
	list, err := b.s.Reader.Approvals(b.ctx, kairos.ApprovalFilter{Run: b.d.Run.ID, Status: "open"})
	if err != nil {
		return err
	}
	for _, a := range list.Items {
		p.Approvals = append(p.Approvals, b.approvalView(a))
	}
	return nil
}

// raw downloads a journal row's value: as an attachment that no browser runs.
func (r *request) raw() error {
	seq, err := strconv.ParseInt(r.c.Param("seq"), 10, 64)
	if err != nil || seq < 1 {
		return kairos.Errorf(kairos.CodeNotFound, "no such row")
	}
	rows, err := r.s.Reader.JournalPage(r.ctx, r.c.Param("run"), seq-1, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return kairos.Errorf(kairos.CodeNotFound, "no such row")
	}
	j := map[string]kairos.RawJSON{"input": rows[0].Input, "output": rows[0].Output}[r.c.Param("part")]
	h := r.c.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s-%d-%s.json\"", kairos.ShortID(r.c.Param("run")), seq, safePart(r.c.Param("part"))))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return r.c.Blob(http.StatusOK, "text/plain; charset=utf-8", j)
}

// safePart keeps a path parameter out of a header unless it is known.
func safePart(p string) string {
	if p == "input" || p == "output" {
		return p
	}
	return "value"
}
