package run

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/run/events"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/run/state"
	"github.com/kairosd/kairosd/web/run/step"
)

// show handles requests for the page of a run, or for a fragment of it.
func show(r *record.Request) error {
	found, err := r.Reader.FindRun(r.Context, r.Param("run"))
	if err != nil {
		return noRun(r, r.Param("run"), err)
	}
	if found.ID != r.Param("run") {
		return r.Echo.Redirect(http.StatusSeeOther, "/runs/"+found.ID)
	}
	b, err := r.Open(found.ID)
	if err != nil {
		return err
	}
	p := newPage(b)
	switch r.Target() {
	case "state": // the slider selected another checkpoint
		return p.checkpoint()
	case "pane": // the user selected another view, step, attempt, or tab
		return p.pane()
	case "inspector": // another step became active
		i := p.beside()
		if i == nil {
			return r.Echo.NoContent(http.StatusNoContent)
		}
		return r.Render(http.StatusOK, step.InspectorPanel(*i))
	}
	whole, err := p.whole()
	if err != nil {
		return err
	}
	return r.Render(http.StatusOK, Run(whole))
}

// page builds the page of one run: its head, the view, and the inspector.
type page struct {
	*record.Record
	events *events.Part // for the events view, and for the count in its tab
}

func newPage(b *record.Record) *page {
	return &page{Record: b, events: events.New(b)}
}

// view returns the view of the selected tab.
func (b *page) view() view { return views[b.Tab.ID] }

// whole returns the complete page.
func (b *page) whole() (p RunPage, err error) {
	run := b.Detail.Run
	top, err := newHead(b.Record)
	if err != nil {
		return p, err
	}
	if p.Head, err = top.build(); err != nil {
		return p, err
	}
	p.Shell = b.Shell("runs", p.Head.Title)
	if p.Crumbs, err = b.crumbs(top); err != nil {
		return p, err
	}
	p.Live, p.Favicon, p.Notices = true, favicon(run.Status), append(p.Notices, b.notices()...)
	if b.Principal.Role.Includes(domain.RoleOperator) {
		for _, act := range []string{"pause", "unpause"} { // the head may offer either of them after an update
			p.Once = append(
				p.Once,
				kit.Once{ID: "once-" + act, Action: top.actionAt(act), Idem: kit.NewID(), Rev: strconv.FormatInt(run.LastSeq, 10)},
			)
		}
	}
	if p.Approvals, err = b.approvals(top.asked); err != nil {
		return p, err
	}
	p.Views = b.tabs()
	p.Pane, err = b.content()
	return p, err
}

// pane renders the view and the inspector after the click on a link.
func (b *page) pane() error {
	shown, err := b.content()
	if err != nil {
		return err
	}
	at, err := url.Parse(b.Echo.Request().Header.Get("HX-Current-URL"))
	if err == nil && at.RequestURI() == b.Echo.Request().URL.RequestURI() {
		b.Echo.Response().Header().Set("HX-Push-Url", "false") // the address is already in the history
	}
	return b.Render(http.StatusOK, RunPaneAlong(shown, b.tabs()))
}

// content returns the content below the tabs.
func (b *page) content() (p Pane, err error) {
	if p.View, err = b.shown(); err != nil {
		return p, err
	}
	if b.view().values != nil {
		if p.Values, err = b.view().values(b); err != nil {
			return p, err
		}
	}
	if p.Inspector = p.View.Inspector; p.Inspector == nil {
		p.Inspector = b.beside()
	} else {
		p.Inspector.Beside = "/runs/" + b.Detail.Run.ID
	}
	p.Split = b.Tab.Steps || p.Inspector != nil
	p.Reading = !b.Tab.Steps
	return p, nil
}

// shown returns the live region of the view.
func (b *page) shown() (View, error) {
	v := View{}
	if b.view().build != nil {
		var err error
		if v, err = b.view().build(b); err != nil {
			return v, err
		}
	}
	v.Refresh = b.Refresh()
	return v, nil
}

// tabs returns the links to the views.
func (b *page) tabs() (out []kit.Link) {
	for _, t := range record.Tabs {
		l := kit.Link{Text: b.T(t.Title), Href: b.Href(url.Values{"view": {t.ID}, "handoff": nil}), Current: t.ID == b.Tab.ID}
		if v := views[t.ID]; v.count != nil {
			l.Count = v.count(b)
		}
		out = append(out, l)
	}
	return out
}

// beside returns the inspector, or nil. Views of steps always have one. Other views have one only
// if the user selected a step.
func (b *page) beside() *step.Inspector {
	if !b.Tab.Steps && b.Query("step") == "" && b.Query("node") == "" {
		return nil
	}
	var i step.Inspector
	switch {
	case b.Chosen != nil:
		i = step.Of(b.Record)
		if b.view().values != nil {
			i.Find = nil // the search form of the page also applies to the inspector
		}
	case b.Node != "":
		i = step.OfNode(b.Record, b.Node)
	default:
		return nil
	}
	i.Beside = "/runs/" + b.Detail.Run.ID
	return &i
}

// notices returns notices about retention, deletion, and damage.
func (b *page) notices() (out []kit.Notice) {
	run := b.Detail.Run
	if !run.PurgedAt.IsZero() {
		out = append(
			out,
			kit.Notice{Text: b.T("Retention removed the journal, input and output of this run on %s.", b.Time(run.PurgedAt).Text)},
		)
	}
	if !run.DeletedAt.IsZero() {
		out = append(out, kit.Notice{Text: b.T("This run was deleted on %s: no list shows it any more.", b.Time(run.DeletedAt).Text)})
	}
	for _, w := range b.Detail.WorkerWaits {
		out = append(out, kit.Notice{Bad: w.Workers == 0, Text: b.Message(w.Message())})
	}
	if b.Detail.Damage == nil {
		for _, text := range b.DamagedParts(run.Damaged) { // damage that does not stop the run, such as of its output
			out = append(out, kit.Notice{Bad: true, Text: text})
		}
	}
	return out
}

// manyPredictions is the maximum number of pending approval requests whose answers are predicted on
// the page. The inbox predicts the answers of each request.
const manyPredictions = 5

// approvals returns the cards of the run's pending approval requests.
func (b *page) approvals(open []domain.Approval) (out []approval.Card, err error) {
	for _, a := range open {
		v, err := b.Cards.Card(b.Context, a)
		if err != nil {
			return nil, err
		}
		v.OnRun = true
		for i := range b.Detail.Journal {
			if e := &b.Detail.Journal[i]; e.Ref == a.ID && e.Kind == domain.EntryWait {
				approval.Tail(b.Context, e, b.Detail.Run, &v)
			}
		}
		if len(out) < manyPredictions {
			if err := b.Cards.Prediction(b.Context, a, &v); err != nil {
				return nil, err
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// checkpoint renders the state at another checkpoint.
func (b *page) checkpoint() error {
	if b.Tab.ID != "state" {
		return b.Echo.NoContent(http.StatusNoContent)
	}
	st, err := state.Of(b.Record)
	if err != nil {
		return err
	}
	b.Echo.Response().Header().Set("HX-Replace-Url", b.Href(url.Values{"nthcp": nil, "cp": {strconv.FormatInt(st.At, 10)}}))
	return b.Render(http.StatusOK, state.StatePart(st))
}

// neighbors is the maximum number of runs with the same failure that are counted.
const neighbors = 50

// way returns the breadcrumb. For a failure group, it includes the position in the group and a link
// to the next run.
func (b *page) crumbs(top *headPart) (kit.Crumbs, error) {
	run := b.Detail.Run
	way := kit.Crumbs{Path: b.WayHere()}
	if top.similar.Href == "" {
		return way, nil
	}
	list, err := b.Reader.Runs(b.Context, domain.RunFilter{
		Statuses: []domain.RunStatus{domain.RunFailed}, PlanKey: run.PlanKey, Node: run.Error.Node, ErrorCode: run.Error.Code,
		Fingerprint: run.Fingerprint, Page: domain.Page{Limit: neighbors},
	})
	if err != nil {
		return way, err
	}
	at := slices.IndexFunc(list.Items, func(o domain.Run) bool { return o.ID == run.ID })
	if n := len(list.Items); at >= 0 && n > 1 {
		way.Siblings = b.T("%s of %s", b.Number(int64(at+1)), b.Number(int64(n)))
		if n == neighbors {
			way.Siblings = b.T("%s of more than %s", b.Number(int64(at+1)), b.Number(int64(n-1)))
		}
		way.Next = kit.Link{Text: b.T("Next failure"), Href: "/runs/" + list.Items[(at+1)%n].ID, Key: "next"}
	}
	return way, nil
}
