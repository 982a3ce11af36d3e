package run

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/static"
)

func (r *request) run() error {
	found, err := r.Reader.FindRun(r.Context, r.Param("run"))
	if err != nil {
		return r.noRun(r.Param("run"), err)
	}
	if found.ID != r.Param("run") {
		return r.Echo.Redirect(http.StatusSeeOther, "/runs/"+found.ID)
	}
	b, err := r.openRun(found.ID)
	if err != nil {
		return err
	}
	p, err := b.build()
	if err != nil {
		return err
	}
	here := r.Echo.Request().URL.RequestURI()
	switch r.Target() {
	case "state": // another checkpoint, by the slider
		if p.State == nil {
			return r.Echo.NoContent(http.StatusNoContent)
		}
		r.Echo.Response().Header().Set("HX-Replace-Url", b.href(url.Values{"nthcp": nil, "cp": {strconv.FormatInt(p.State.At, 10)}}))
		return r.Render(http.StatusOK, StatePart(*p.State))
	case "pane": // another view, step, attempt or tab
		if at, err := url.Parse(r.Echo.Request().Header.Get("HX-Current-URL")); err == nil && at.RequestURI() == here {
			r.Echo.Response().Header().Set("HX-Push-Url", "false") // it is in the history
		}
		return r.Render(http.StatusOK, RunPaneAlong(p))
	case "inspector": // the step that is at work now
		if p.Inspector != nil {
			return r.Render(http.StatusOK, InspectorPanel(*p.Inspector))
		}
		return r.Echo.NoContent(http.StatusNoContent)
	}
	return r.Render(http.StatusOK, Run(p))
}

// openRun reads what the pages of a run are made of.
func (r *request) openRun(id string) (*page, error) {
	d, resume, err := r.Engine.Look(r.Context, r.Who.Actor(), id)
	if err != nil {
		return nil, err
	}
	program, err := r.Engine.Program(r.Context, d.Run.Hash)
	if err != nil {
		return nil, err
	}
	effects, err := r.Engine.Effects(r.Context, d.Run.Hash)
	if err != nil {
		return nil, err
	}
	b := &page{request: r, d: d, foretell: resume, program: program, effects: effects, steps: stepsOf(d.Run, d.Journal)}
	b.settleLost()
	return b, nil
}

// page builds the page of one run.
type page struct {
	*request
	d domain.RunDetail
	// foretell says once what resuming would do; nil: ask the engine.
	foretell func() (domain.Preview, error)
	program  *walk.Program
	effects  []walk.Effect // what its nodes may do
	steps    []*step
	chosen   *step
	node     string // chosen, when it has no step
	view     string
	alike    string              // that other runs failed so, for the summary
	since    string              // what changed before, for the summary
	around   []string            // what is still wrong around it, for the summary
	told     []domain.AuditEvent // what the audit log says of it, once it was read
	resume   *domain.Preview     // what resuming would do, if it can be asked
	never    []string            // nodes without a step
	into     map[int][]string    // sources of the edges to a node
	front    map[int]bool        // nodes that the run may still come to
	taken    map[int]int         // how often edges were taken
}

// build is the whole page.
func (b *page) build() (RunPage, error) {
	p := b.begin()
	if err := b.head(&p); err != nil {
		return p, err
	}
	if err := b.content(&p); err != nil {
		return p, err
	}
	b.views(&p)
	b.beside(&p)
	return p, nil
}

// begin is what every part of the page shows of the run.
func (b *page) begin() RunPage {
	run := b.d.Run
	b.view = b.Query("view")
	if !slices.Contains([]string{"timeline", "graph", "state", "log", "handoffs", "events", "io"}, b.view) {
		b.view = "timeline"
	}
	b.chosen = b.choose()
	return RunPage{ID: run.ID, Short: domain.ShortID(run.ID), Topic: "run-" + run.ID, Terminal: run.Status.Final(), View: b.view, Refresh: b.href(nil)}
}

// head is what stands above the views: the state of the run, what is wrong, and what can
// be done.
func (b *page) head(p *RunPage) error {
	run := b.d.Run
	p.Status = part.Status(b.Context, run)
	p.Shell = b.Shell("runs", b.titled(p.Status)+" · "+run.PlanKey+" · "+domain.ShortID(run.ID))
	p.Plan = kit.Link{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)}
	p.Version = kit.Link{Text: fmt.Sprintf("v%d", run.Version), Href: fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(run.PlanKey), run.Version)}
	p.Live, p.Favicon = true, favicon(run.Status)
	if !run.PurgedAt.IsZero() {
		p.Notices = append(p.Notices, kit.Notice{Text: b.T("Retention removed the journal, input and output of this run on %s.", b.Time(run.PurgedAt).Text)})
	}
	if !run.DeletedAt.IsZero() {
		p.Notices = append(p.Notices, kit.Notice{Text: b.T("This run was deleted on %s: no list shows it any more.", b.Time(run.DeletedAt).Text)})
	}
	if b.d.Damage == nil {
		for _, text := range b.damagedParts(run.Damaged) { // what ends nothing: its output
			p.Notices = append(p.Notices, kit.Notice{Bad: true, Text: text})
		}
	}
	b.times(p)
	why, err := b.why()
	if err != nil {
		return err
	}
	if b.d.Damage == nil { // else no answer can be taken
		if err := b.approvals(p); err != nil {
			return err
		}
	}
	if b.d.Plan != nil {
		p.Answer = kit.Visible(b.d.Plan.AggregatedResult)
	}
	p.Why, p.Actions = why, b.actions(len(p.Approvals) > 0)
	if b.Who.Role.Includes(domain.RoleOperator) {
		for _, act := range []string{"pause", "continue"} { // whichever its head comes to offer
			p.Once = append(p.Once, kit.Once{ID: "once-" + act, Action: b.actAt(act), Idem: kit.NewID(), Rev: strconv.FormatInt(run.LastSeq, 10)})
		}
		if run := b.d.Run; run.Status == domain.RunFailed && run.Attention {
			p.More = append(p.More, kit.Link{Text: b.T("Acknowledge…"), Href: "/runs/" + run.ID + "/ack", Dialog: true})
		} else {
			p.More = append(p.More, kit.Link{Text: b.T("Note…"), Href: "/runs/" + run.ID + "/note", Dialog: true})
		}
		if run.Status.Final() && run.DeletedAt.IsZero() && b.d.Damage == nil {
			p.More = append(p.More, kit.Link{Text: b.T("Delete…"), Href: "/runs/" + run.ID + "/delete", Dialog: true, Danger: true})
		}
	}
	if b.Who.Role.Includes(domain.RoleAuthor) && b.API {
		p.More = append(p.More, kit.Link{Text: b.T("Export"), Href: "/runs/" + run.ID + "/export"})
	}
	if t := b.Target(); why != nil && (t == "" || t == HeadPart || t == "dialog") { // the other parts do not show it
		if err = b.whyLinks(why); err != nil {
			return err
		}
	}
	if p.Notes, err = part.Notes(b.Context, b.App, run.ID); err != nil {
		return err
	}
	p.Summary = b.summary()
	p.FaviconPath = static.Path("fav-" + p.Favicon + ".svg")
	related, err := b.Reader.Lineage(b.Context, run.ID)
	if err != nil {
		return err
	}
	p.Related = part.Rows{Programs: b.Engine}.Of(b.Context, related)
	b.facts(p)
	if len(p.Approvals) == 1 && p.Why != nil && p.Why.Headline == p.Approvals[0].Message {
		p.Why = nil // the question is asked below
	}
	return nil
}

// views are the links to them.
func (b *page) views(p *RunPage) {
	for _, v := range []struct{ id, text string }{{"timeline", locale.Mark("Timeline")}, {"graph", locale.Mark("Graph")}, {"state", locale.Mark("State")}, {"log", locale.Mark("Log")}, {"handoffs", locale.Mark("Handoffs")}, {"events", locale.Mark("Events")}, {"io", locale.Mark("Input and output")}} {
		l := kit.Link{Text: b.T(v.text), Href: b.href(url.Values{"view": {v.id}, "handoff": nil}), Current: v.id == b.view}
		switch v.id {
		case "state":
			l.Count = b.Number(int64(b.checkpoints() + 1))
		case "events":
			l.Count = b.eventCount()
		}
		p.Views = append(p.Views, l)
	}
}

// content is what the chosen view shows.
func (b *page) content(p *RunPage) (err error) {
	run := b.d.Run
	switch b.view {
	case "timeline":
		b.timeline(p)
		b.small(p)
	case "graph":
		p.Graph = b.graph(true)
	case "state":
		st := b.state()
		if p.State = &st; !run.PurgedAt.IsZero() {
			if st.Blocks, err = b.removedBlocks(true); err != nil {
				return err
			}
			st.Find, st.Fork = nil, ""
		}
	case "handoffs":
		if p.Handoffs, err = b.handoffs(); err != nil {
			return err
		}
		p.Inspector = p.Handoffs.Chosen
	case "events":
		if p.Events, err = b.events(); err != nil {
			return err
		}
	case "log":
		p.Log = b.log()
	case "io":
		read := b.reading()
		p.Blocks = []kit.Block{read.Block("run-in", b.T("Input"), run.Input, "/runs/"+run.ID+"/raw/0/input"), read.Block("run-out", b.T("Output"), run.Output, "/runs/"+run.ID+"/raw/0/output")}
		for i, part := range []domain.RunPart{domain.PartInput, domain.PartOutput} {
			if text := b.damagedValue(run, part); text != "" {
				p.Blocks[i].Text, p.Blocks[i].Raw = text, ""
			}
		}
		if !run.PurgedAt.IsZero() { // there is nothing to show, and nothing to download
			if p.Blocks, err = b.removedBlocks(false); err != nil {
				return err
			}
		}
		p.Find = b.findForm(p.Blocks)
	}
	return nil
}

// small is the picture below the timeline; a larger one is a view of its own.
func (b *page) small(p *RunPage) {
	if len(b.program.Nodes) <= smallGraph {
		p.Graph = b.graph(false)
	}
}

// beside is the step that stands beside the view.
func (b *page) beside(p *RunPage) {
	if p.Inspector == nil && b.inspects() {
		switch {
		case b.chosen != nil:
			i := b.inspector()
			if p.Inspector = &i; b.view == "state" || b.view == "io" {
				i.Find = nil // what is looked for on the page is marked beside it, too
			}
		case b.node != "":
			i := b.nodeInspector(b.node)
			p.Inspector = &i
		}
	}
	if p.Inspector != nil {
		p.Inspector.Beside = "/runs/" + b.d.Run.ID
	}
}

// inspects reports whether a step stands beside the view: always beside the steps, and
// once somebody chose one beside what else there is to read of the run.
func (b *page) inspects() bool {
	return b.view == "timeline" || b.view == "graph" || b.Query("step") != "" || b.Query("node") != ""
}

// href is this page with some parameters changed.
func (b *page) href(set url.Values) string { return part.At(b.Context, b.d.Run.ID, set) }

func (b *page) times(p *RunPage) {
	run := b.d.Run
	switch {
	case !run.EndedAt.IsZero():
		p.Sub, p.Ended = b.T("ran %s, ended", kit.Took(run.EndedAt.Sub(run.CreatedAt))), b.Time(run.EndedAt)
	case run.Status == domain.RunQueued && run.StartedAt.IsZero():
		p.Sub, p.Ended = b.T("created"), b.Time(run.CreatedAt)
	default:
		p.Sub, p.Ended = b.T("started"), b.Time(run.CreatedAt)
	}
}

// manyForecasts bounds of how many open questions of a run the page says where
// each answer leads; the inbox says it of each.
const manyForecasts = 5

// approvals are the open questions of the run: whoever decides here sees where each
// answer leads, as in the inbox.
func (b *page) approvals(p *RunPage) error {
	if b.d.Run.Status.Final() { // it may be asked while another branch runs
		return nil
	}
	list, err := b.App.Approvals.List(b.Context, b.Who.Actor(), domain.ApprovalFilter{Run: b.d.Run.ID, Status: "open"})
	if err != nil {
		return err
	}
	for _, a := range list.Items {
		v, err := b.Cards.Card(b.Context, a)
		if err != nil {
			return err
		}
		v.OnRun = true
		for i := range b.d.Journal {
			if e := &b.d.Journal[i]; e.Ref == a.ID && e.Kind == domain.EntryWait {
				approval.Tail(b.Context, e, b.d.Run, &v)
			}
		}
		if len(p.Approvals) < manyForecasts {
			if err := b.Cards.Forecast(b.Context, a, &v); err != nil {
				return err
			}
		}
		p.Approvals = append(p.Approvals, v)
	}
	return nil
}
