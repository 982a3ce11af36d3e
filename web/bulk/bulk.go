package bulk

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
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/query"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// headingOf returns an action with the number of runs. Each call has literal texts, so that the
// translation catalog finds them.
func headingOf(c *ui.Context, a domain.Action, n int) string {
	switch a {
	case domain.ActionResume:
		return c.N(n, "Resume %s run", "Resume %s runs")
	case domain.ActionRerun:
		return c.N(n, "Start a new run like %s run", "Start new runs like %s runs")
	case domain.ActionCancel:
		return c.N(n, "Cancel %s run", "Cancel %s runs")
	case domain.ActionDelete:
		return c.N(n, "Delete %s run", "Delete %s runs")
	case domain.ActionRelease:
		return c.N(n, "Release %s run", "Release %s runs")
	case domain.ActionAcknowledge:
		return c.N(n, "Acknowledge %s run", "Acknowledge %s runs")
	case domain.ActionLabel:
		return c.N(n, "Label %s run", "Label %s runs")
	case domain.ActionBackfill:
		return c.N(n, "Run %s missed slot", "Run %s missed slots")
	case domain.ActionReplay:
		return c.N(n, "Replay %s delivery", "Replay %s deliveries")
	}
	return string(a) + " " + strconv.Itoa(n)
}

// requestOf reads the request from a form or a query.
func requestOf(c *ui.Context) (domain.BulkRequest, part.BulkAction, error) {
	if err := c.Echo.Request().ParseForm(); err != nil {
		return domain.BulkRequest{}, part.BulkAction{}, domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
	}
	form := c.Echo.Request().Form
	i := slices.IndexFunc(part.BulkActions, func(v part.BulkAction) bool { return string(v.Action) == form.Get("do") })
	if i < 0 {
		return domain.BulkRequest{}, part.BulkAction{}, domain.Errorf(
			domain.CodeNotFound,
			"action %q is not available for bulk operations",
			form.Get("do"),
		)
	}
	v := part.BulkActions[i]
	req := domain.BulkRequest{
		Action: v.Action,
		Query:  strings.TrimSpace(form.Get("q")),
		Reason: strings.TrimSpace(form.Get("reason")),
		Digest: form.Get("digest"),
	}
	if form.Get("all") == "" { // only the selected runs
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
	labels, err := part.ParseLabels(form.Get("labels"))
	if err != nil {
		return req, v, err
	}
	if len(labels) > 0 {
		req.Labels = labels
	}
	req.Tool = form.Get("tool")
	if req.Provider = form.Get("provider"); form.Get("at") != "" {
		at, err := time.ParseInLocation("2006-01-02T15:04", form.Get("at"), c.Display.Zone)
		if err != nil {
			return req, v, domain.Errorf(domain.CodeInvalid, "%q is not a time", form.Get("at")).Suggest("use the format 2030-01-31T08:00")
		}
		req.NotBefore = at
	}
	return req, v, nil
}

// preview serves the preview of a bulk operation.
func (s *section) preview(c *ui.Context) error {
	if c.Query("do") == compare {
		return comparison(c)
	}
	req, v, err := requestOf(c)
	if err != nil {
		return err
	}
	req.Digest = ""
	req.Canary = v.Canary
	req.Rate = 60
	return s.showPreview(c, http.StatusOK, req, v, "")
}

// compare is the value of the action that compares two selected runs.
const compare = "compare"

// comparison redirects to the comparison of two selected runs.
func comparison(c *ui.Context) error {
	chosen := c.Echo.QueryParams()["run"]
	if len(chosen) != 2 {
		return domain.Errorf(domain.CodeInvalid, "%d runs are chosen; two can be compared", len(chosen)).
			Suggest("choose two runs in the list")
	}
	return c.RedirectTo("/runs/compare?" + url.Values{"a": chosen[:1], "b": chosen[1:]}.Encode())
}

func (s *section) showPreview(c *ui.Context, code int, req domain.BulkRequest, v part.BulkAction, problem string) error {
	pre, err := s.App.Bulk.Preview(c, c.Principal.Actor(), req)
	if err != nil {
		return err
	}
	heading := headingOf(c, v.Action, pre.Eligible)
	p := PreviewPage{
		Shell: c.Shell("runs", heading), Heading: heading, Error: problem, Back: "/runs?q=" + url.QueryEscape(req.Query),
		Form: Form{
			Button:      heading,
			Danger:      v.Danger,
			Canary:      req.Canary,
			CanCanary:   v.Canary && pre.Eligible > 1,
			Reason:      req.Reason,
			Idem:        kit.NewID(),
			Digest:      pre.Digest,
			NeedsReason: v.NeedsReason,
		},
		Selection: Selection{Action: string(v.Action), Query: req.Query, Runs: req.Runs, Sample: s.rows.Of(c, pre.Sample)},
	}
	p.CanLabel, p.Labels = v.Action == domain.ActionLabel, cmp.Or(part.LabelText(req.Labels), c.Field("labels"))
	if len(pre.Circuits) == 1 && c.Echo.Request().Method == http.MethodGet && !c.Echo.Request().Form.Has("tool") {
		req.Tool = pre.Circuits[0].Name() // the default, until the user selects another
	}
	if err := s.conditions(c, &p, req, v, pre.Circuits); err != nil {
		return err
	}
	if req.Rate > 0 {
		p.Rate = strconv.Itoa(req.Rate)
	}
	at := c.Time(pre.At).Text
	p.Count = c.N(pre.Matching, "%s run matched as of %s; that may change.", "%s runs matched as of %s; that may change.", at)
	if pre.More {
		p.Count += " " + c.T("More runs match. A bulk operation takes at most %s.", c.Number(domain.MaxBulkRuns))
	}
	for _, why := range slices.Sorted(maps.Keys(pre.Refused)) {
		p.Refused = append(p.Refused, c.Number(int64(pre.Refused[why]))+" · "+c.Message(pre.Refusals[why]))
	}
	if pre.Eligible == 0 {
		p.Empty, p.Sentence = true, c.T("None of the runs that match can be acted on this way.")
		return c.Render(code, Preview(p))
	}
	switch {
	case p.CanCanary:
		p.Sentence = c.T(
			"One run goes first. If it does not fail, the others follow at your rate. Three runs in a row that fail the " +
				"same way stop the operation.",
		)
	default:
		p.Sentence = c.T("Runs are processed one after the other, oldest first. You can stop at any time.")
	}
	p.First = kit.Link{Text: domain.ShortID(pre.First), Href: "/runs/" + pre.First}
	if one := pre.Preview; one != nil {
		if v.Action == domain.ActionResume {
			p.Consequence = part.Consequence(c, *one)
		}
		if e := part.Expectation(c, one.Expected, 1); e != "" {
			p.Consequence = strings.TrimSpace(p.Consequence + " " + e)
			if pre.Eligible > 1 {
				p.Consequence += " " + c.T(
					"For all %s runs, if they are similar: %s",
					c.Number(int64(pre.Eligible)),
					part.Expectation(c, one.Expected, pre.Eligible),
				)
			}
		}
		for _, e := range one.Effects {
			p.Effects = append(p.Effects, fmt.Sprintf("%s · %s · %s", e.Node, e.Type, value.Effect(c, e.Effect)))
		}
	}
	return c.Render(code, Preview(p))
}

// start handles the form that starts the previewed operation. If other runs match now, it returns
// the updated preview with status 409.
func (s *section) start(c *ui.Context) error {
	req, v, err := requestOf(c)
	if domain.CodeOf(err) == domain.CodeInvalid && v.Action == domain.ActionLabel {
		return s.showPreview(c, http.StatusUnprocessableEntity, req, v, c.Sentence(err))
	}
	if err != nil {
		return err
	}
	if v.NeedsReason && req.Reason == "" {
		return s.showPreview(c, http.StatusUnprocessableEntity, req, v, c.T("Enter a reason. The audit log keeps it."))
	}
	if v.Action == domain.ActionLabel && len(req.Labels) == 0 {
		return s.showPreview(c, http.StatusUnprocessableEntity, req, v, c.T("Enter labels as key=value, separated by spaces."))
	}
	b, err := s.App.Bulk.Start(c, app.BulkStart{Meta: c.Meta(), BulkRequest: req})
	switch domain.CodeOf(err) {
	case "":
		return c.RedirectTo("/bulk/" + b.ID)
	case domain.CodeStale, domain.CodeConflict:
		return s.showPreview(c, http.StatusConflict, req, v, c.Sentence(err))
	}
	return err
}

// conditions fills in what a resume can wait for: a time, a provider with failing calls, or an open
// circuit that these runs use.
func (s *section) conditions(c *ui.Context, p *PreviewPage, req domain.BulkRequest, v part.BulkAction, open []domain.ToolCircuit) error {
	if v.Action != domain.ActionResume && v.Action != domain.ActionRerun {
		return nil
	}
	p.CanWait, p.Zone = true, c.Display.Zone.String()
	if !req.NotBefore.IsZero() {
		p.Waiting.At = req.NotBefore.In(c.Display.Zone).Format("2006-01-02T15:04")
	}
	degraded, err := circuit.Degraded(c)
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
		p.Providers = append(p.Providers, kit.Option{Value: n, Text: kit.Escape(n), Selected: n == req.Provider})
	}
	for _, o := range open {
		p.Circuits = append(p.Circuits, circuit.OpenOf(c, o))
		p.Tools = append(p.Tools, kit.Option{Value: o.Name(), Text: kit.CircuitOf(o.Tool, o.Part), Selected: o.Name() == req.Tool})
	}
	if req.Tool != "" && !slices.ContainsFunc(open, func(c domain.ToolCircuit) bool { return c.Name() == req.Tool }) {
		tool, host, _ := strings.Cut(req.Tool, " ")
		p.Tools = append(p.Tools, kit.Option{Value: req.Tool, Text: kit.CircuitOf(tool, host), Selected: true})
	}
	return nil
}

func statusOf(c *ui.Context, b domain.Bulk) kit.Status {
	if !b.State.Final() && b.Acted+b.Refused == 0 && (b.NotBefore.After(c.Site.Now()) || b.Provider != "" || b.Tool != "") {
		return kit.Word("idle", "i-clock", locale.Mark("Waiting"), false)
	}
	switch b.State {
	case domain.BulkCanary:
		return kit.Word("now", "i-now", locale.Mark("Trying one run"), false)
	case domain.BulkRunning:
		return kit.Word("now", "i-now", locale.Mark("In progress"), false)
	case domain.BulkStopped:
		return kit.Word("fail", "i-fail", locale.Mark("Stopped"), true)
	}
	return kit.Word("ok", "i-ok", locale.Mark("Finished"), true)
}

// show serves the page of a bulk operation.
func (s *section) show(c *ui.Context) error {
	p, err := s.progress(c)
	if err != nil {
		return err
	}
	items, err := s.items(c)
	if err != nil {
		return err
	}
	shell := c.Shell("runs", p.Title)
	shell.Live = p.Topic != ""
	return c.Render(http.StatusOK, Show(ShowPage{Shell: shell, Progress: p, Items: items, Idem: kit.NewID()}))
}

// progress returns the progress of a bulk operation.
func (s *section) progress(c *ui.Context) (Progress, error) {
	b, err := s.App.Bulk.Get(c, c.Principal.Actor(), c.Param("bulk"))
	if err != nil {
		return Progress{}, err
	}
	st := statusOf(c, b)
	heading := headingOf(c, b.Action, int(b.Total))
	p := Progress{
		ID: b.ID, Title: c.T(st.Word) + " · " + heading, Heading: heading, Status: st, Note: kit.Escape(b.Note),
		Address: c.Echo.Request().URL.RequestURI(),
		Final:   b.State.Final(),
		CanStop: !b.State.Final() && c.Principal.Role.Includes(domain.RoleOperator),
		Strip:   stripOf(c, b),
		Facts:   factsOf(c, b),
	}
	if !p.Final {
		p.Topic = "runs"
	}
	if !p.Final && b.Tool != "" {
		tools, err := s.App.Tools.List(c, c.Principal.Actor())
		if err != nil {
			return Progress{}, err
		}
		open, _ := domain.OpenCircuits(tools, b.Tool)
		for _, o := range open {
			p.Circuits = append(p.Circuits, circuit.OpenOf(c, o))
		}
	}
	return p, nil
}

// stripOf returns the progress bar of a bulk operation.
func stripOf(c *ui.Context, b domain.Bulk) Strip {
	share := func(n int64) float64 { return 100 * float64(n) / float64(max(b.Total, 1)) }
	left := b.Total - b.Acted - b.Refused
	v := Strip{
		Done: kit.Percent(share(b.Acted)), Refused: kit.Percent(share(b.Refused)), RefusedAt: kit.Percent(share(b.Acted)),
		DoneText:    c.N(int(b.Acted), "%s done", "%s done"),
		RefusedText: c.N(int(b.Refused), "%s refused", "%s refused"),
		LeftText:    c.N(int(left), "%s pending", "%s pending"),
		Label: c.T("%s of %s: %s done, %s refused", c.Number(b.Acted+b.Refused), c.Number(b.Total), c.Number(b.Acted),
			c.Number(b.Refused)),
		Percent: c.Number(int64(share(b.Acted+b.Refused))) + "%",
	}
	switch {
	case !b.Canary:
	case b.State == domain.BulkCanary && b.Acted > 0:
		v.Canary = kit.Word("now", "i-now", locale.Mark("Canary runs; the others wait for its result"), false)
	case b.State == domain.BulkCanary:
		v.Canary = kit.Word("idle", "i-queued", locale.Mark("Canary first; the others wait for its result"), false)
	case b.State == domain.BulkStopped: // the note contains the reason
	default:
		v.Canary = kit.Word("ok", "i-ok", locale.Mark("Canary did not fail"), true)
	}
	if b.Rate > 0 && !b.State.Final() {
		v.Rate = c.N(b.Rate, "%s run per minute", "%s runs per minute")
		if left > 0 {
			v.Rate += " · " + c.T("about %s left", kit.ApproxDuration(time.Duration(left)*time.Minute/time.Duration(b.Rate)))
		}
	}
	return v
}

// factsOf returns the parameters of a bulk operation.
func factsOf(c *ui.Context, b domain.Bulk) (out []kit.Fact) {
	add := func(term, text, href string) {
		if text != "" {
			out = append(out, kit.Fact{Term: term, Text: text, Href: href})
		}
	}
	add(c.T("Started by"), kit.Escape(b.Actor), "")
	add(c.T("Started"), c.Time(b.CreatedAt).Text, "")
	add(c.T("Ended"), c.Time(b.EndedAt).Text, "")
	add(c.T("Reason"), kit.Escape(b.Reason), "")
	if b.Rate > 0 && b.State.Final() {
		add(c.T("Runs per minute"), c.Number(int64(b.Rate)), "")
	}
	add(c.T("Labels"), kit.Escape(part.LabelText(b.Labels)), "")
	add(c.T("Not before"), c.Time(b.NotBefore).Text, "")
	if b.Provider != "" {
		add(c.T("When it takes calls"), kit.Escape(b.Provider), "/agents/providers")
	}
	if b.Tool != "" {
		tool, host, _ := strings.Cut(b.Tool, " ")
		add(c.T("When it takes calls"), kit.CircuitOf(tool, host), link.Tool(tool))
	}
	add(c.T("Filter"), kit.Escape(b.Query), "/runs?q="+url.QueryEscape(b.Query))
	add(c.T("Runs"), c.T("as a list"), "/runs?q="+url.QueryEscape("bulk:"+b.ID))
	add(c.T("Failed runs"), c.T("as a list"), "/runs?q="+url.QueryEscape("status:failed bulk:"+b.ID))
	return out
}

func (s *section) stop(c *ui.Context) error {
	b, err := s.App.Bulk.Stop(c, app.BulkChange{Meta: c.Meta(), Bulk: c.Param("bulk"), Reason: strings.TrimSpace(c.Field("reason"))})
	if err != nil {
		return err
	}
	return c.RedirectTo("/bulk/" + b.ID)
}

const (
	// listRead is the number of recent bulk operations that are searched. listShown is the number
	// per page.
	listRead  = 1000
	listShown = 50
)

func (s *section) list(c *ui.Context) error {
	q := strings.TrimSpace(c.Query("q"))
	p := ListPage{Shell: c.Shell("runs", "Bulk operations"), Bar: query.BarOf("/bulk", q, query.Preset{Word: c.T("All")},
		query.Preset{Word: c.T("In progress"), Query: "status:canary,running"},
		query.Preset{Word: c.T("Stopped"), Query: "status:stopped"}, query.Preset{Word: c.T("Finished"), Query: "status:done"})}
	p.Bar.Label, p.Bar.Example = c.T("Filter bulk operations"), "action:resume status:stopped actor:marta"
	if _, problem := filter.ParseItems(q, domain.Bulk{}); problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		return c.Render(http.StatusBadRequest, List(p))
	}
	list, err := s.matching(c, q)
	if err != nil {
		return err
	}
	if len(list) > listShown {
		list = list[:listShown]
		p.Older = link.With("/bulk", url.Values{"after": {list[listShown-1].ID}}, "q", q)
	}
	for _, b := range list {
		p.Rows = append(p.Rows, listRow(c, b))
	}
	return c.Render(http.StatusOK, List(p))
}

// matching returns the operations that match a filter, after the position in the address.
func (s *section) matching(c *ui.Context, q string) ([]domain.Bulk, error) {
	list, err := s.App.Bulk.List(c, c.Principal.Actor(), listRead)
	if err != nil {
		return nil, err
	}
	list, err = filter.Select(q, list, func(b domain.Bulk) domain.Bulk { return b })
	return list[slices.IndexFunc(list, func(b domain.Bulk) bool { return b.ID == c.Query("after") })+1:], err
}

func listRow(c *ui.Context, b domain.Bulk) ListRow {
	return ListRow{
		Href:    "/bulk/" + b.ID,
		Heading: headingOf(c, b.Action, int(b.Total)),
		Actor:   kit.Escape(b.Actor),
		Status:  statusOf(c, b),
		At:      c.Time(b.CreatedAt),
		Strip:   stripOf(c, b),
		Reason:  kit.Escape(kit.Truncate(cmp.Or(b.Note, b.Reason), 200)),
	}
}
