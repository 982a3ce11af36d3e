package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/view"
)

// bulkVerb is what pages say of a verb on many runs.
type bulkVerb struct {
	action      domain.Action
	danger      bool
	needsReason bool
	canary      bool
}

var bulkVerbs = []bulkVerb{
	{domain.ActionResume, false, false, true},
	{domain.ActionRerun, false, false, true},
	{domain.ActionCancel, true, true, false},
	{domain.ActionDelete, true, true, false},
	{domain.ActionRelease, false, false, false},
	{domain.ActionAck, false, false, false},
	{domain.ActionLabel, false, false, false},
}

// heading is a verb with the number of runs. The calls are spelled out so that
// the catalogue's test finds their texts.
func (r *request) bulkHeading(a domain.Action, n int) string {
	switch a {
	case domain.ActionResume:
		return r.n(n, "Resume %s run", "Resume %s runs")
	case domain.ActionRerun:
		return r.n(n, "Start a new run like %s run", "Start new runs like %s runs")
	case domain.ActionCancel:
		return r.n(n, "Cancel %s run", "Cancel %s runs")
	case domain.ActionDelete:
		return r.n(n, "Delete %s run", "Delete %s runs")
	case domain.ActionRelease:
		return r.n(n, "Release %s run", "Release %s runs")
	case domain.ActionAck:
		return r.n(n, "Acknowledge %s run", "Acknowledge %s runs")
	case domain.ActionLabel:
		return r.n(n, "Label %s run", "Label %s runs")
	}
	return string(a) + " " + strconv.Itoa(n)
}

// groupQuery selects the runs of a failure group that need attention.
func groupQuery(g domain.FailureRef) string { return filter.FailuresToHandle(g) }

// groupTerms are the terms of a filter for the failures of a group, whether they
// need attention or not.
func groupTerms(g domain.FailureRef) string { return filter.Failures(g) }

func quoted(s string) string { return filter.Quote(s) }

func (r *request) groupRow(g domain.FailureGroup) view.GroupRow {
	q := groupQuery(g.Ref())
	row := view.GroupRow{Code: visible(g.Code), Node: visible(g.Node), Plan: visible(g.PlanKey), Version: fmt.Sprintf("v%d", g.Version), Href: "/runs?q=" + url.QueryEscape(q),
		Runs: r.number(g.Runs), First: r.time(g.First), Last: r.time(g.Last), Headline: r.failureLine(g.Headline),
		Newest: view.Link{Text: domain.ShortID(g.Newest), Href: "/runs/" + g.Newest}}
	if r.may(app.StartBulk) {
		row.Resume = "/bulk/new?" + url.Values{"do": {"resume"}, "q": {q}}.Encode()
	}
	if r.who.Role.Includes(domain.RoleOperator) {
		row.Ref = failure.Query(g.Ref())
		row.Ack = "/failures/ack?" + row.Ref
	}
	if a := g.Ack; a != nil {
		row.Acked, row.Note = r.t("It is back: %s took note of it on %s.", visible(a.Actor), r.time(a.At).Text), visible(a.Note)
	}
	if g.Runs == 1 {
		row.One, row.Href = true, row.Newest.Href
		if row.Resume != "" {
			row.Resume = row.Newest.Href + "/resume"
		}
	}
	return row
}

// bulkRequest reads what a list or a form asks for.
func (r *request) bulkRequest() (domain.BulkRequest, bulkVerb, error) {
	if err := r.c.Request().ParseForm(); err != nil {
		return domain.BulkRequest{}, bulkVerb{}, domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
	}
	form := r.c.Request().Form
	i := slices.IndexFunc(bulkVerbs, func(v bulkVerb) bool { return string(v.action) == form.Get("do") })
	if i < 0 {
		return domain.BulkRequest{}, bulkVerb{}, domain.Errorf(domain.CodeNotFound, "there is no act %q on many runs", form.Get("do"))
	}
	v := bulkVerbs[i]
	req := domain.BulkRequest{Action: v.action, Query: strings.TrimSpace(form.Get("q")), Reason: strings.TrimSpace(form.Get("reason")), Digest: form.Get("digest")}
	if form.Get("all") == "" { // the chosen runs, not all that match
		req.Runs = form["run"]
	}
	if len(req.Runs) > 0 {
		req.Query = ""
	}
	if s := form.Get("rate"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			return req, v, domain.Errorf(domain.CodeInvalid, "rate %q is not a number", s)
		}
		req.Rate = n
	}
	req.Canary = form.Get("canary") != ""
	labels, err := labelsOf(form.Get("labels"))
	if err != nil {
		return req, v, err
	}
	if len(labels) > 0 {
		req.Labels = labels
	}
	req.Tool = form.Get("tool")
	if req.Provider = form.Get("provider"); form.Get("at") != "" {
		at, err := time.ParseInLocation("2006-01-02T15:04", form.Get("at"), r.display.zone)
		if err != nil {
			return req, v, domain.Errorf(domain.CodeInvalid, "%q is not a time", form.Get("at")).Suggest("write 2030-01-31T08:00")
		}
		req.NotBefore = at
	}
	return req, v, nil
}

// bulkPreview says what an act on many runs would do; it is safe to open.
func (r *request) bulkPreview() error {
	req, v, err := r.bulkRequest()
	if err != nil {
		return err
	}
	req.Digest = ""
	req.Canary = v.canary
	req.Rate = 60
	return r.showBulkPreview(http.StatusOK, req, v, "")
}

func (r *request) showBulkPreview(code int, req domain.BulkRequest, v bulkVerb, problem string) error {
	pre, err := r.s.App.Bulk.Preview(r.ctx, r.who.actor(), req)
	if err != nil {
		return err
	}
	heading := r.bulkHeading(v.action, pre.Eligible)
	p := view.BulkPage{Shell: r.shell("runs", heading), Heading: heading, Button: heading, Error: problem, Action: string(v.action), Query: req.Query, Runs: req.Runs, Danger: v.danger,
		Canary: req.Canary, CanCanary: v.canary && pre.Eligible > 1, Reason: req.Reason, Idem: newID(), Digest: pre.Digest, NeedsReason: v.needsReason,
		Back: "/runs?q=" + url.QueryEscape(req.Query), Sample: r.runRows(pre.Sample)}
	p.CanLabel, p.Labels = v.action == domain.ActionLabel, cmp.Or(labelText(req.Labels), r.c.FormValue("labels"))
	if len(pre.Circuits) == 1 && r.c.Request().Method == http.MethodGet && !r.c.Request().Form.Has("tool") {
		req.Tool = pre.Circuits[0].Name() // what is better for most; nobody has chosen yet
	}
	if err := r.bulkConditions(&p, req, v, pre.Circuits); err != nil {
		return err
	}
	if req.Rate > 0 {
		p.Rate = strconv.Itoa(req.Rate)
	}
	at := r.time(pre.At).Text
	p.Count = r.n(pre.Matching, "%s run matched as of %s; that may change.", "%s runs matched as of %s; that may change.", at)
	if pre.More {
		p.Count += " " + r.t("More match; one act takes at most %s.", r.number(domain.BulkMax))
	}
	for _, why := range slices.Sorted(maps.Keys(pre.Refused)) {
		p.Refused = append(p.Refused, r.number(int64(pre.Refused[why]))+" · "+r.said(why))
	}
	if pre.Eligible == 0 {
		p.Empty, p.Sentence = true, r.t("None of the runs that match can be acted on this way.")
		return r.render(code, view.BulkPreview(p))
	}
	switch {
	case p.CanCanary:
		p.Sentence = r.t("One run goes first. If it does not fail, the others follow at the rate you give; three in a row that fail the same way again stop it.")
	default:
		p.Sentence = r.t("They are acted on one after the other, oldest first. You can stop it at any time.")
	}
	p.First = view.Link{Text: domain.ShortID(pre.First), Href: "/runs/" + pre.First}
	if one := pre.Preview; one != nil {
		if v.action == domain.ActionResume {
			p.Consequence = r.consequence(*one)
		}
		if e := r.expectation(one.Expected, 1); e != "" {
			p.Consequence = strings.TrimSpace(p.Consequence + " " + e)
			if pre.Eligible > 1 {
				p.Consequence += " " + r.t("For all %s, if they are alike: %s", r.number(int64(pre.Eligible)), r.expectation(one.Expected, pre.Eligible))
			}
		}
		for _, e := range one.Effects {
			p.Effects = append(p.Effects, fmt.Sprintf("%s · %s · %s", e.Node, e.Type, r.effect(e.Effect)))
		}
	}
	return r.render(code, view.BulkPreview(p))
}

// bulkStart begins what was previewed. If other runs match by now, the page comes
// back with the new facts (409).
func (r *request) bulkStart() error {
	req, v, err := r.bulkRequest()
	if domain.CodeOf(err) == domain.CodeInvalid && v.action == domain.ActionLabel {
		return r.showBulkPreview(http.StatusUnprocessableEntity, req, v, r.sentence(err))
	}
	if err != nil {
		return err
	}
	if v.needsReason && req.Reason == "" {
		return r.showBulkPreview(http.StatusUnprocessableEntity, req, v, r.t("Say why: it is kept in the audit log."))
	}
	if v.action == domain.ActionLabel && len(req.Labels) == 0 {
		return r.showBulkPreview(http.StatusUnprocessableEntity, req, v, r.t("Say which labels: key=value, with blanks between."))
	}
	b, err := r.s.App.Bulk.Start(r.ctx, app.BulkStart{Meta: r.meta(), BulkRequest: req})
	switch domain.CodeOf(err) {
	case "":
		return r.to("/bulk/" + b.ID)
	case domain.CodeStale, domain.CodeConflict:
		return r.showBulkPreview(http.StatusConflict, req, v, r.sentence(err))
	}
	return err
}

// bulkConditions offers what a resume may wait for: a time, a provider whose calls
// fail, and the circuits that are open for these runs.
func (r *request) bulkConditions(p *view.BulkPage, req domain.BulkRequest, v bulkVerb, open []domain.ToolCircuit) error {
	if v.action != domain.ActionResume && v.action != domain.ActionRerun {
		return nil
	}
	p.CanWait, p.Zone = true, r.display.zone.String()
	if !req.NotBefore.IsZero() {
		p.At = req.NotBefore.In(r.display.zone).Format("2006-01-02T15:04")
	}
	degraded, err := r.degraded()
	if err != nil {
		return err
	}
	var names []string
	for _, p := range degraded {
		names = append(names, p.Name)
	}
	if req.Provider != "" && !slices.Contains(names, req.Provider) {
		names = append(names, req.Provider)
	}
	for _, n := range names {
		p.Providers = append(p.Providers, view.Option{Value: n, Text: visible(n), Selected: n == req.Provider})
	}
	for _, c := range open {
		p.Circuits = append(p.Circuits, circuit.OpenOf(r.Context, c))
		p.Tools = append(p.Tools, view.Option{Value: c.Name(), Text: kit.CircuitOf(c.Tool, c.Part), Selected: c.Name() == req.Tool})
	}
	if req.Tool != "" && !slices.ContainsFunc(open, func(c domain.ToolCircuit) bool { return c.Name() == req.Tool }) {
		tool, part, _ := strings.Cut(req.Tool, " ")
		p.Tools = append(p.Tools, view.Option{Value: req.Tool, Text: kit.CircuitOf(tool, part), Selected: true})
	}
	return nil
}

func (r *request) bulkStatus(b domain.Bulk) view.Status {
	if !b.State.Final() && b.Acted+b.Refused == 0 && (b.NotBefore.After(r.s.now()) || b.Provider != "" || b.Tool != "") {
		return word("idle", "i-clock", locale.Mark("Waiting"), false)
	}
	switch b.State {
	case domain.BulkCanary:
		return word("now", "i-now", locale.Mark("Trying one run"), false)
	case domain.BulkRunning:
		return word("now", "i-now", locale.Mark("Under way"), false)
	case domain.BulkStopped:
		return word("fail", "i-fail", locale.Mark("Stopped"), true)
	}
	return word("ok", "i-ok", locale.Mark("Finished"), true)
}

// bulkShow is how far an act on many runs is.
func (r *request) bulkShow() error {
	b, err := r.s.App.Bulk.Get(r.ctx, r.who.actor(), r.c.Param("bulk"))
	if err != nil {
		return err
	}
	after, err := strconv.ParseInt(r.c.QueryParam("after"), 10, 64)
	if err != nil {
		after = 0 // the beginning
	}
	const page = 100
	items, err := r.s.App.Bulk.Items(r.ctx, r.who.actor(), b.ID, after, page+1)
	if err != nil {
		return err
	}
	st := r.bulkStatus(b)
	heading := r.bulkHeading(b.Action, int(b.Total))
	p := view.BulkProgress{Shell: r.shell("runs", r.t(st.Word)+" · "+heading), ID: b.ID, Heading: heading, Status: st, Note: r.said(b.Note), Topic: "runs", Idem: newID(),
		CanStop: !b.State.Final() && r.who.Role.Includes(domain.RoleOperator), Done: percent(100 * float64(b.Acted+b.Refused) / float64(max(b.Total, 1))),
		Label: r.t("%s of %s: %s acted on, %s refused", r.number(b.Acted+b.Refused), r.number(b.Total), r.number(b.Acted), r.number(b.Refused))}
	p.Live = !b.State.Final()
	if !p.Live {
		p.Topic = ""
	}
	add := func(term, text, href string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: term, Text: text, Href: href})
		}
	}
	add(r.t("Begun by"), visible(b.Actor), "")
	add(r.t("When"), r.time(b.CreatedAt).Text, "")
	add(r.t("Reason"), visible(b.Reason), "")
	if b.Rate > 0 {
		add(r.t("Runs per minute"), r.number(int64(b.Rate)), "")
	}
	add(r.t("Labels"), visible(labelText(b.Labels)), "")
	add(r.t("Not before"), r.time(b.NotBefore).Text, "")
	if b.Provider != "" {
		add(r.t("When it takes calls"), visible(b.Provider), "/agents/providers")
	}
	if b.Tool != "" {
		tool, part, _ := strings.Cut(b.Tool, " ")
		add(r.t("When it takes calls"), kit.CircuitOf(tool, part), toolHref(tool))
	}
	if !b.State.Final() && b.Tool != "" {
		tools, err := r.s.App.Tools.List(r.ctx, r.who.actor())
		if err != nil {
			return err
		}
		open, _ := domain.OpenCircuits(tools, b.Tool)
		for _, c := range open {
			p.Circuits = append(p.Circuits, circuit.OpenOf(r.Context, c))
		}
	}
	add(r.t("Filter"), visible(b.Query), "/runs?q="+url.QueryEscape(b.Query))
	add(r.t("Runs"), r.t("as a list"), "/runs?q="+url.QueryEscape("bulk:"+b.ID))
	if len(items) > page {
		items = items[:page]
		p.Older = fmt.Sprintf("/bulk/%s?after=%d", b.ID, items[page-1].Position)
	}
	for _, it := range items {
		row := view.BulkRow{Run: view.Link{Text: domain.ShortID(it.Run), Href: "/runs/" + it.Run}, Detail: r.saidInside(it.Detail), At: r.time(it.At)}
		if it.Result != "" {
			row.Result = view.Link{Text: domain.ShortID(it.Result), Href: "/runs/" + it.Result}
		}
		switch it.State {
		case "acted":
			row.Status = word("ok", "i-ok", locale.Mark("Acted on"), true)
		case "refused":
			row.Status = word("need", "i-need", locale.Mark("Refused"), true)
		default:
			row.Status = word("idle", "i-queued", locale.Mark("Not yet"), false)
		}
		p.Items = append(p.Items, row)
	}
	return r.render(http.StatusOK, view.BulkShow(p))
}

func (r *request) bulkStop() error {
	b, err := r.s.App.Bulk.Stop(r.ctx, app.BulkChange{Meta: r.meta(), Bulk: r.c.Param("bulk"), Reason: strings.TrimSpace(r.c.FormValue("reason"))})
	if err != nil {
		return err
	}
	return r.to("/bulk/" + b.ID)
}

func (r *request) bulkList() error {
	list, err := r.s.App.Bulk.List(r.ctx, r.who.actor(), 100)
	if err != nil {
		return err
	}
	p := view.BulkListPage{Shell: r.shell("runs", "Acts on many runs")}
	for _, b := range list {
		p.Rows = append(p.Rows, view.BulkListRow{Href: "/bulk/" + b.ID, Heading: r.bulkHeading(b.Action, int(b.Total)), Who: visible(b.Actor), Count: r.number(b.Total),
			Status: r.bulkStatus(b), At: r.time(b.CreatedAt)})
	}
	return r.render(http.StatusOK, view.BulkList(p))
}
