package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/static"
	"github.com/kairosd/kairosd/web/view"
)

func (r *request) run() error {
	found, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return r.noRun(r.c.Param("run"), err)
	}
	if found.ID != r.c.Param("run") {
		return r.c.Redirect(http.StatusSeeOther, "/runs/"+found.ID)
	}
	b, err := r.openRun(found.ID)
	if err != nil {
		return err
	}
	p, err := b.build()
	if err != nil {
		return err
	}
	here := r.c.Request().URL.RequestURI()
	push := func() {
		if was, err := url.Parse(r.c.Request().Header.Get("HX-Current-URL")); err != nil || was.RequestURI() != here {
			r.c.Response().Header().Set("HX-Push-Url", here)
		}
	}
	switch r.target() {
	case "head":
		return r.render(http.StatusOK, view.RunHeadAlong(p))
	case "view":
		return r.render(http.StatusOK, view.RunView(p))
	case "graph":
		return r.render(http.StatusOK, view.RunGraph(p))
	case "steplog":
		if p.Inspector != nil && p.Inspector.Log != nil {
			return r.render(http.StatusOK, view.StepLogView(*p.Inspector.Log))
		}
		return r.c.NoContent(http.StatusNoContent)
	case "state": // another checkpoint, by the slider
		if p.State == nil {
			return r.c.NoContent(http.StatusNoContent)
		}
		r.c.Response().Header().Set("HX-Replace-Url", b.href(url.Values{"nthcp": nil, "cp": {strconv.FormatInt(p.State.At, 10)}}))
		return r.render(http.StatusOK, view.StatePart(*p.State))
	case "pane": // another view of the same run
		push()
		return r.render(http.StatusOK, view.RunPaneAlong(p))
	case "inspector": // another step, attempt or tab
		if p.Inspector != nil {
			push()
			return r.render(http.StatusOK, view.InspectorPanel(*p.Inspector))
		}
		r.c.Response().Header().Set("HX-Redirect", here)
		return r.c.NoContent(http.StatusNoContent)
	}
	return r.render(http.StatusOK, view.Run(p))
}

// openRun reads what the pages of a run are made of.
func (r *request) openRun(id string) (*runPage, error) {
	d, err := r.s.Engine.Detail(r.ctx, id)
	if err != nil {
		return nil, err
	}
	program, err := r.s.Engine.Program(r.ctx, d.Run.Hash)
	if err != nil {
		return nil, err
	}
	b := &runPage{request: r, d: d, program: program, steps: stepsOf(d.Run, d.Journal)}
	b.settleLost()
	return b, nil
}

// runPage builds the page of one run.
type runPage struct {
	*request
	d       kairos.RunDetail
	program *planner.Program
	steps   []*step
	chosen  *step
	node    string // chosen, when it has no step
	view    string
	alike   string           // that other runs failed so, for the summary
	since   string           // what changed before, for the summary
	resume  *kairos.Preview  // what resuming would do, if it can be asked
	never   []string         // nodes without a step
	into    map[int][]string // sources of the edges to a node
	front   map[int]bool     // nodes that the run may still come to
	taken   map[int]int      // how often edges were taken
}

func (b *runPage) build() (view.RunPage, error) {
	run := b.d.Run
	status := b.statusOf(run)
	p := view.RunPage{Shell: b.shell("runs", b.titled(status)+" · "+run.PlanKey+" · "+kairos.ShortID(run.ID)), ID: run.ID, Short: kairos.ShortID(run.ID), Status: status,
		Plan:    view.Link{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)},
		Version: view.Link{Text: fmt.Sprintf("v%d", run.Version), Href: fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(run.PlanKey), run.Version)},
		Topic:   "run-" + run.ID, Terminal: run.Status.Final()}
	p.Live, p.Favicon = true, favicon(run.Status)
	if !run.PurgedAt.IsZero() {
		p.Notices = append(p.Notices, view.Notice{Text: b.t("Retention removed the journal, input and output of this run on %s.", b.time(run.PurgedAt).Text)})
	}
	if b.d.Damage == nil {
		for _, text := range b.damagedParts(run.Damaged) { // what ends nothing: its output
			p.Notices = append(p.Notices, view.Notice{Bad: true, Text: text})
		}
	}
	b.view = b.c.QueryParam("view")
	if !slices.Contains([]string{"timeline", "graph", "state", "log", "handoffs", "events", "io"}, b.view) {
		b.view = "timeline"
	}
	p.View = b.view
	b.chosen = b.choose()
	p.Refresh = b.href(nil)
	b.times(&p)
	why, err := b.why()
	if err != nil {
		return p, err
	}
	p.Why, p.Actions = why, b.actions()
	if b.who.Role.Includes(kairos.RoleOperator) {
		if run := b.d.Run; run.Status == kairos.RunFailed && run.Attention {
			p.More = append(p.More, view.Link{Text: b.t("Acknowledge…"), Href: "/runs/" + run.ID + "/ack", Dialog: true})
		}
		p.More = append(p.More, view.Link{Text: b.t("Note…"), Href: "/runs/" + run.ID + "/note", Dialog: true})
	}
	if b.who.Role.Includes(kairos.RoleAuthor) && b.s.API != nil {
		p.More = append(p.More, view.Link{Text: b.t("Export"), Href: "/runs/" + run.ID + "/export"})
	}
	if t := b.target(); why != nil && (t == "" || t == "head" || t == "dialog") { // the other parts do not show it
		if err = b.whyLinks(why); err != nil {
			return p, err
		}
	}
	if p.Notes, err = b.notes(run.ID); err != nil {
		return p, err
	}
	p.Summary = b.summary()
	p.FaviconPath = static.Path("fav-" + p.Favicon + ".svg")
	related, err := b.s.Reader.Lineage(b.ctx, run.ID)
	if err != nil {
		return p, err
	}
	p.Related = b.runRows(related)
	b.facts(&p)
	for _, v := range []struct{ id, text string }{{"timeline", locale.Mark("Timeline")}, {"graph", locale.Mark("Graph")}, {"state", locale.Mark("State")}, {"log", locale.Mark("Log")}, {"handoffs", locale.Mark("Handoffs")}, {"events", locale.Mark("Events")}, {"io", locale.Mark("Input and output")}} {
		l := view.Link{Text: b.t(v.text), Href: b.href(url.Values{"view": {v.id}}), Current: v.id == b.view}
		switch v.id {
		case "state":
			l.Count = b.number(int64(b.checkpoints() + 1))
		case "events":
			l.Count = b.number(int64(len(b.d.Journal)))
		}
		p.Views = append(p.Views, l)
	}
	switch b.view {
	case "timeline":
		b.timeline(&p)
		if len(b.program.Nodes) <= smallGraph { // a larger one is a view of its own
			p.Graph = b.graph(false)
		}
	case "graph":
		p.Graph = b.graph(true)
	case "state":
		st := b.state()
		if p.State = &st; !run.PurgedAt.IsZero() {
			if st.Blocks, err = b.removedBlocks(true); err != nil {
				return p, err
			}
			st.Find, st.Fork = nil, ""
		}
	case "handoffs":
		if p.Handoffs, err = b.handoffs(); err != nil {
			return p, err
		}
	case "events":
		if p.Events, err = b.events(); err != nil {
			return p, err
		}
	case "log":
		p.Log = b.log()
	case "io":
		read := b.reading()
		p.Blocks = []view.Block{read.block("in", b.t("Input"), run.Input, "/runs/"+run.ID+"/raw/0/input"), read.block("out", b.t("Output"), run.Output, "/runs/"+run.ID+"/raw/0/output")}
		for i, part := range []kairos.RunPart{kairos.PartInput, kairos.PartOutput} {
			if text := b.damagedValue(run, part); text != "" {
				p.Blocks[i].Text, p.Blocks[i].Raw = text, ""
			}
		}
		if !run.PurgedAt.IsZero() { // there is nothing to show, and nothing to download
			if p.Blocks, err = b.removedBlocks(false); err != nil {
				return p, err
			}
		}
		p.Find = b.findForm(p.Blocks)
	}
	if b.view == "timeline" || b.view == "graph" {
		switch {
		case b.chosen != nil:
			i := b.inspector()
			p.Inspector = &i
		case b.node != "":
			i := b.nodeInspector(b.node)
			p.Inspector = &i
		}
	}
	if b.d.Damage == nil { // else no answer can be taken
		if err := b.approvals(&p); err != nil {
			return p, err
		}
	}
	if len(p.Approvals) == 1 && p.Why != nil && p.Why.Headline == p.Approvals[0].Message {
		p.Why = nil // the question is asked below
	}
	return p, nil
}

// kept are the parameters that stay when others change: what is looked at, and
// how.
var kept = []string{"view", "step", "node", "try", "tab", "cp", "against", "only", "sort", "idle", "critical", "open", "from", "to", "rows", "paint", "zoom", "mode", "all", "logstep", "level", "logq", "line", "lines", "delta", "kinds", "find", "into", "nth"}

// href is this page with some parameters changed.
func (b *runPage) href(set url.Values) string {
	q := url.Values{}
	for _, key := range kept {
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
		if seq, err := strconv.ParseInt(s, 10, 64); err == nil && seq > 0 && seq <= int64(len(b.d.Journal)) {
			if st := b.stepAt(seq, ""); st != nil {
				return st
			}
		}
		for _, st := range b.steps {
			if st.lost != nil && strconv.FormatInt(st.seq, 10) == s || st.node == s || st.visit > 1 && stepName(st.node, st.visit) == s {
				return st
			}
		}
	}
	if id := b.c.QueryParam("node"); id != "" {
		if _, ok := b.program.Index[id]; ok {
			for _, st := range slices.Backward(b.steps) {
				if st.node == id {
					return st
				}
			}
			b.node = id
			return nil
		}
	}
	if e := b.d.Run.Error; b.d.Run.Status == kairos.RunFailed && e != nil { // not one whose failure was handled
		var worst *step
		for _, st := range b.steps {
			if st.node == e.Node && st.status == kairos.NodeFailed && (worst == nil || st.visit > worst.visit) {
				worst = st
			}
		}
		if worst != nil {
			return worst
		}
	}
	for _, want := range []kairos.NodeStatus{nodeLost, kairos.NodeInDoubt, kairos.NodeFailed, kairos.NodeWaiting, kairos.NodeRunning} {
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
		l := view.Link{Text: text, Href: "/runs/" + b.d.Run.ID + "/" + action, Primary: primary, Danger: action == "cancel" || action == "delete", Dialog: action != "fork"}
		if action == "resume" || action == "fork" {
			l.Key = action
		}
		return l
	}
	run := b.d.Run
	switch {
	case b.d.Damage != nil:
		return b.damagedActions(link)
	case run.Status == kairos.RunFailed || run.Status == kairos.RunCancelled:
		text := b.t("Resume")
		if b.resume != nil && len(b.resume.Again) > 0 {
			text = b.t("Resume from %s", b.resume.Again[0].Node)
		}
		return []view.Link{link(text, "resume", true), link(b.t("Fork…"), "fork", false), link(b.t("Rerun…"), "rerun", false), link(b.t("Delete…"), "delete", false)}
	case run.Status == kairos.RunCompleted:
		return []view.Link{link(b.t("Rerun…"), "rerun", true), link(b.t("Fork…"), "fork", false), link(b.t("Delete…"), "delete", false)}
	case b.scheduled(run):
		return []view.Link{link(b.t("Start now"), "start-now", true), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitPaused || run.Paused:
		return []view.Link{link(b.t("Continue"), "continue", true), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitRetry:
		return []view.Link{link(b.t("Retry now"), "retry-now", true), link(b.t("Pause"), "pause", false), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitQuarantined || run.WaitReason == kairos.WaitHeld:
		return []view.Link{link(b.t("Release…"), "release", true), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitBudget:
		return []view.Link{link(b.t("Raise limits…"), "limits", true), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
	case run.WaitReason == kairos.WaitInDoubt && b.view == "timeline":
		return []view.Link{{Text: b.t("Decide"), Href: "#inspector", Primary: true}, link(b.t("Pause"), "pause", false), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
	}
	return []view.Link{link(b.t("Pause"), "pause", false), link(b.t("Fork…"), "fork", false), link(b.t("Cancel…"), "cancel", false)}
}

// scheduled reports whether the run waits for the time that it is to start at.
func (r *request) scheduled(run kairos.Run) bool {
	return run.Status == kairos.RunQueued && run.StartedAt.IsZero() && run.StartAt.After(r.s.now())
}

// why is the band that says what is wrong, or for what the run waits, and what
// resuming will do.
func (b *runPage) why() (*view.Why, error) {
	run := b.d.Run
	if b.d.Damage != nil {
		return b.damaged(), nil
	}
	w := &view.Why{Headline: b.headline(run)}
	switch {
	case run.Status == kairos.RunFailed && run.Error != nil:
		if w.Headline == "" {
			w.Headline = b.t("%s has failed", run.Error.Node)
		}
		if w.Message = visible(run.Error.Message); strings.Contains(w.Headline, w.Message) {
			w.Message = "" // the headline says it all
		}
		if !b.who.Role.Includes(kairos.RoleOperator) {
			return w, nil
		}
		if err := b.foresee(run, w); err != nil {
			return nil, err
		}
	case run.Status == kairos.RunCancelled:
		w.Class = "quiet"
		if w.Headline == "" {
			w.Headline = b.t("Cancelled")
		}
		if b.who.Role.Includes(kairos.RoleOperator) && run.PurgedAt.IsZero() {
			if err := b.foresee(run, w); err != nil {
				return nil, err
			}
		}
	case run.Status == kairos.RunQueued && run.Headline == "" && !run.StartAt.After(b.s.now()):
		w.Class, w.Headline = "now", b.t("Queued: it starts when a slot is free; higher priorities go first, then the older ones")
		if c := run.Concurrency; c != nil {
			w.Headline = b.n(c.Limit, "Queued: at most %s run with the key %s is active at once", "Queued: at most %s runs with the key %s are active at once", visible(c.Key))
		}
		w.Links = append(w.Links, view.Link{Text: b.t("What runs now"), Href: "/runs?q=" + url.QueryEscape("status:running")})
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

// foresee says what resuming would do; or why it can do nothing, when the plan
// names what is no longer configured.
func (b *runPage) foresee(run kairos.Run, w *view.Why) error {
	pre, err := b.s.Engine.Preview(b.ctx, b.who.actor(), kairos.VerbRequest{Run: run.ID, Action: kairos.ActionResume})
	if e, ok := errors.AsType[*kairos.Error](err); ok && (e.Code == kairos.CodeInvalid || e.Code == kairos.CodeCorrupt) {
		w.Then = visible(strings.TrimSuffix(e.Message+"; "+e.Suggestion, "; "))
		return nil
	}
	if err != nil {
		return err
	}
	expected, err := b.expected(run.PlanKey, pre)
	if err != nil {
		return err
	}
	b.resume, w.Then = &pre, strings.TrimSpace(b.consequence(pre)+" "+expected)
	return nil
}

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
	if n := len(p.Later); n > 0 {
		out = append(out, r.n(n, "Then the run pauses, and %s step waits until you continue it.", "Then the run pauses, and %s steps wait until you continue it."))
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
	if plan, err := b.s.Reader.Plan(b.ctx, run.PlanID); err == nil && plan.Latest > run.Version { // a hint: the page does not fail for it
		add(b.t("Version"), b.t("v%d is newer", plan.Latest), fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), run.Version, plan.Latest))
	}
	add(b.t("Checkpoint"), strconv.FormatInt(run.LastSeq, 10), b.href(url.Values{"view": {"events"}}))
	add(b.t("Steps"), strconv.FormatInt(run.Steps, 10), "")
	if !run.Usage.Zero() {
		add(b.t("Tokens"), b.number(run.Usage.InputTokens+run.Usage.OutputTokens), "")
		add(b.t("Cost"), costText(run.Usage.Cost), "")
	}
	if run.Session != "" && run.Session != run.ID {
		href := ""
		if b.s.Memory != nil && (run.Actor == b.who.Name || b.who.Role.Includes(kairos.RoleAdmin)) {
			href = b.memoryHref("/memory", run.Actor, run.Session, "")
		}
		add(b.t("Session"), visible(run.Session), href)
	}
	if run.Dry() {
		add(b.t("Dry run"), b.t("what might change something, or asks a model, was left undone; such outputs are made up"), "")
	}
	if run.ForkedFrom != "" {
		add(b.t("Forked from"), kairos.ShortID(run.ForkedFrom), "/runs/"+run.ForkedFrom)
	}
	if run.RerunOf != "" {
		add(b.t("Rerun of"), kairos.ShortID(run.RerunOf), "/runs/"+run.RerunOf)
	}
	for _, re := range kairos.ReplansOf(b.d) {
		text := b.t("v%d → v%d, after %s failed", re.From, re.To, visible(re.Node))
		if re.Proposed {
			text = b.t("v%d → v%d, after %s failed, if it is accepted", re.From, re.To, visible(re.Node))
		}
		add(b.t("Planned anew"), text, fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), re.From, re.To))
	}
	if run.Parent != nil {
		add(b.t("Child of"), b.t("%s at %s", kairos.ShortID(run.Parent.Run), run.Parent.Node), "/runs/"+run.Parent.Run)
	}
	if len(p.Related) > 0 {
		add(b.t("Lineage"), b.n(len(p.Related), "%s related run", "%s related runs"), "/runs/"+run.ID+"/lineage")
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

// manyForecasts bounds of how many open questions of a run the page says where
// each answer leads; the inbox says it of each.
const manyForecasts = 5

// approvals are the open questions of the run: whoever decides here sees where each
// answer leads, as in the inbox.
func (b *runPage) approvals(p *view.RunPage) error {
	if b.d.Run.Status.Final() { // it may be asked while another branch runs
		return nil
	}
	list, err := b.s.Reader.Approvals(b.ctx, kairos.ApprovalFilter{Run: b.d.Run.ID, Status: "open"})
	if err != nil {
		return err
	}
	for _, a := range list.Items {
		v, err := b.approvalView(a)
		if err != nil {
			return err
		}
		v.OnRun = true
		for i := range b.d.Journal {
			if e := &b.d.Journal[i]; e.Ref == a.ID && e.Kind == kairos.EntryWait {
				b.tailOf(e, b.d.Run, &v)
			}
		}
		if len(p.Approvals) < manyForecasts {
			if err := b.forecasts(a, &v); err != nil {
				return err
			}
		}
		p.Approvals = append(p.Approvals, v)
	}
	return nil
}
