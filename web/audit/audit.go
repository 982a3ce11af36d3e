package audit

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/event"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

// auditKeyWords describe the keys of the audit log's filter.
var auditKeyWords = map[string]string{
	"actor": locale.Mark(
		"actor: a user, a token, or system",
	), "action": locale.Mark("the action; run.* matches all that begin with run."),
	"object": locale.Mark(
		"what it is about: plan:invoice, user:ana",
	), "result": locale.Mark("ok, denied or failed"), "source": locale.Mark("interface: ui, api, cli, engine"),
	"ip": locale.Mark(
		"the address that the request came from",
	), "request": locale.Mark("the request: all records that it led to"), "run": locale.Mark("a run, with its checkpoints"),
	"since": locale.Mark("after"), "until": locale.Mark("before"),
}

var auditExamples = map[string]string{
	"actor": "actor:marta,ana", "action": "action:run.* -action:run.status", "object": "object:plan:invoice",
	"result": "result:denied,failed", "source": "source:api", "ip": "ip:10.0.0.7",
	"request": "request:2f9c1b7d5e60aa31", "run": "run:7qx2", "since": "since:24h", "until": "until:2030-01-31T08:00",
}

// Help returns the keys of the filter, each with a description and an example, for the help page.
func Help() []kit.FilterTerm {
	out := make([]kit.FilterTerm, len(filter.AuditKeys))
	for i, k := range filter.AuditKeys {
		out[i] = kit.FilterTerm{At: "/audit", Key: k, Meaning: auditKeyWords[k], Example: auditExamples[k]}
	}
	return out
}

// byPeople selects the actions of people. It is the default filter.
const byPeople = "-actor:system"

// audit serves the audit log, by default with the actions of people only.
func (s *section) audit(c *ui.Context) error {
	q := strings.TrimSpace(c.Query("q"))
	if !c.Echo.QueryParams().Has("q") {
		q = byPeople
	}
	p := AuditPage{Shell: c.Shell("audit", "Audit"), Bar: query.BarOf("/audit", q, presets(c)...)}
	p.Bar.Label, p.Bar.Suggest, p.Bar.Help = c.T("Filter the audit log"), "/audit/suggest", "/help#audit"
	p.Bar.Example = "actor:marta action:run.* result:denied since:24h"
	p.Bar.Ranges = query.Ranges(c, "/audit", q)
	code := http.StatusOK
	f, problem := s.auditFilter(c, q)
	if problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		code = http.StatusBadRequest
	} else {
		p.Bar.Export = kit.Link{Text: c.T("Export as JSON lines"), Href: link.List("/audit.jsonl", q)}
		if err := s.listAudit(c, &p, q, f); err != nil {
			return err
		}
	}
	if err := s.auditState(c, &p); err != nil {
		return err
	}
	return c.Render(code, Audit(p))
}

// presets are common filters.
func presets(c *ui.Context) []query.Preset {
	return []query.Preset{
		{Word: c.T("By people"), Query: byPeople}, {Word: c.T("All")},
		{Word: c.T("By you"), Query: "actor:" + filter.Quote(c.Principal.Name)},
		{Word: c.T("Denied"), Query: "result:denied"}, {Word: c.T("Failed actions"), Query: "result:failed"},
		{Word: c.T("Plans"), Query: "action:plan.*"}, {Word: c.T("Approvals"), Query: "action:approval.*"},
		{Word: c.T("Users and tokens"), Query: "action:user.*,token.*,login"},
	}
}

// auditFilter parses a query, and looks up the run in it.
func (s *section) auditFilter(c *ui.Context, q string) (domain.AuditFilter, *domain.Error) {
	f, problem := filter.ParseAudit(q, c.Site.Now())
	if problem != nil || f.Run == "" {
		return f, problem
	}
	run, err := s.Reader.FindRun(c, f.Run)
	if err != nil {
		return f, domain.Errorf(domain.CodeInvalid, "run:%s: %s", f.Run, err).
			Suggest("give the run's id, or at least four characters of its end")
	}
	f.Run = run.ID
	return f, nil
}

func (s *section) listAudit(c *ui.Context, p *AuditPage, q string, f domain.AuditFilter) error {
	f.Page = c.Page()
	list, err := s.App.Audit.List(c, c.Principal.Actor(), f)
	if err != nil {
		return err
	}
	plans, err := s.plans(c, list.Items)
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		row := s.auditLine(c, q, e)
		if row.Plan = plans[e.Run]; row.Plan != "" { // the object of a new run would repeat it
			row.Object.Text = strings.TrimSuffix(row.Object.Text, " · plan:"+row.Plan)
		}
		p.Rows = append(p.Rows, row)
	}
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		v := url.Values{key: {cursor}, "q": {q}}
		if n := c.Query("n"); n != "" {
			v.Set("n", n)
		}
		return "/audit?" + v.Encode()
	}
	p.Newer, p.Older = at("before", list.Prev), at("after", list.Next)
	p.Count = c.N(len(p.Rows), "%s shown", "%s shown")
	if list.Next != "" && len(p.Rows) < max(f.Page.Limit, 50) {
		p.Count += c.T(". The search stopped early. Select Older to continue, or narrow it with since: or action:.")
	}
	return nil
}

// plans returns the plan keys of the runs in events, by run.
func (s *section) plans(c *ui.Context, list []domain.AuditEvent) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range list {
		if _, known := out[e.Run]; known || e.Run == "" {
			continue
		}
		run, err := s.Reader.FindRun(c, e.Run)
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound && domain.CodeOf(err) != domain.CodeCorrupt {
			return nil, err
		}
		out[e.Run] = kit.Escape(run.PlanKey) // empty if the run was deleted
	}
	return out, nil
}

// auditState fills in the retention period of the log, and the last verification of its chain.
func (s *section) auditState(c *ui.Context, p *AuditPage) error {
	link, err := s.App.Audit.Link(c, c.Principal.Actor(), 1)
	if err != nil {
		return err
	}
	p.Kept = c.T("Events cannot be edited or deleted.")
	keep := ""
	if s.Settings != nil {
		if set, err := s.Settings.Settings(c); err == nil {
			keep = set.Retention.Audit.Age()
		}
	}
	if keep == "" {
		p.Kept += " " + c.T("They are kept forever.")
	} else {
		p.Kept += " " + c.T("They are kept for %s.", keep)
	}
	if link.Cut > 0 {
		p.Kept += " " + c.T("Retention has deleted the events up to number %s.", c.Number(link.Cut))
	}
	check, err := s.App.Audit.Check(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p.Verify = kit.Link{Text: c.T("Verify the chain…"), Href: "/audit/verify"}
	p.CanVerify = c.May(app.VerifyAudit)
	p.Check, p.Checked = s.checkSummary(c, check)
	return nil
}

// checkSummary returns the state of a verification and a sentence about it.
func (s *section) checkSummary(c *ui.Context, k domain.AuditCheck) (kit.Status, string) {
	switch {
	case k.Began.IsZero():
		return kit.Word("idle", "i-queued", locale.Mark("Not verified yet"), false), c.T("No verification has run.")
	case k.Ended.IsZero():
		return kit.Word("now", "i-now", locale.Mark("In progress"), false),
			c.T("Started by %s at %s.", kit.Escape(k.By), c.Time(k.Began).Text)
	case k.Found > 0:
		return kit.Word("fail", "i-fail", locale.Mark("The chain is broken"), true),
			c.N(
				k.Found,
				"Verified %[2]s by %[3]s: %[1]s problem. %[4]s",
				"Verified %[2]s by %[3]s: %[1]s problems. %[4]s",
				c.Time(k.Ended).Text,
				kit.Escape(k.By),
				strings.Join(kit.EscapeAll(k.Problems), "; "),
			)
	}
	return kit.Word("ok", "i-ok", locale.Mark("The chain is intact"), true),
		c.T("Verified %s by %s: %s events up to number %s, %s links, in %s.", c.Time(k.Ended).Text, kit.Escape(k.By),
			c.Number(k.Events), c.Number(k.Last), c.Number(k.Links), kit.Duration(k.Ended.Sub(k.Began)))
}

// auditLine returns an event for the list. Values that the filter supports are links that add a
// term.
func (s *section) auditLine(c *ui.Context, q string, e domain.AuditEvent) AuditRow {
	seq := strconv.FormatInt(e.Seq, 10)
	row := AuditRow{
		Seq:    seq,
		Href:   "/audit/" + seq,
		At:     c.Time(e.At),
		Actor:  s.auditTerm(c, q, "actor", e.Actor),
		Action: s.auditTerm(c, q, "action", e.Action),
		Object: c.EventObject(e),
		Icon:   "i-user",
		Result: event.Result(e.Result),
		Reason: kit.Escape(kit.Truncate(e.Reason, 300)),
	}
	if e.Actor == domain.System.Name {
		row.Icon = "i-system"
	}
	if e.Source != "" {
		row.From = append(row.From, s.auditTerm(c, q, "source", e.Source))
	}
	if e.Request.Address != "" {
		row.From = append(row.From, s.auditTerm(c, q, "ip", e.Request.Address))
	}
	if e.Request.ID != "" {
		row.Request = s.auditTerm(c, q, "request", e.Request.ID)
		row.Request.Text = kit.Escape(kit.Truncate(e.Request.ID, 8))
	}
	return row
}

func (s *section) auditTerm(c *ui.Context, q, key, value string) kit.Link {
	return kit.Link{
		Text: kit.Escape(value),
		Href: link.List("/audit", strings.TrimSpace(filter.Without(q, key)+" "+key+":"+filter.Quote(value))),
	}
}

// verifyPage serves the page about the verification of the chain. It does not start one.
func (s *section) verifyPage(c *ui.Context) error {
	check, err := s.App.Audit.Check(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	link, err := s.App.Audit.Link(c, c.Principal.Actor(), 1)
	if err != nil {
		return err
	}
	p := AuditVerifyPage{
		Shell:    c.Shell("audit", "Verify the chain of the audit log"),
		Idem:     kit.NewID(),
		Problems: kit.EscapeAll(check.Problems),
	}
	p.Sentence = c.N(
		int(link.Last-link.Cut),
		"kairosd reads %s event, and checks that none is missing, that each link fits, and that the journals match. Runs continue.",
		"kairosd reads %s events, and checks that none is missing, that each link fits, and that the journals match. Runs continue.",
	)
	p.Check, p.Checked = s.checkSummary(c, check)
	p.UnderWay = !check.Began.IsZero() && check.Ended.IsZero()
	return c.Render(http.StatusOK, AuditVerify(p))
}

func (s *section) verify(c *ui.Context) error {
	if _, err := s.App.Audit.Verify(c, c.Meta()); err != nil {
		return err
	}
	return c.RedirectTo("/audit")
}

// exportDeadline limits the time in which one page of an export is written to the client.
const exportDeadline = 30 * time.Second

// suggestAudit serves suggestions for the filter of the audit log.
func (s *section) suggestAudit(c *ui.Context) error {
	return query.Suggest(
		c,
		filter.AuditKeys,
		auditKeyWords,
		func(key, typed string) ([]kit.Link, error) { return s.auditValues(c, key, typed) },
	)
}
