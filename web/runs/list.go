package runs

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/query"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// runs serves the run list.
func (s *section) runs(c *ui.Context) error {
	if to, err := s.elsewhere(c); err != nil {
		return err
	} else if to != "" {
		return c.Echo.Redirect(http.StatusSeeOther, to)
	}
	q := strings.TrimSpace(c.Query("q"))
	p, code := RunsPage{Shell: c.Shell("runs", "Runs"), Filter: Filter{Query: q}, Topic: "runs"}, http.StatusOK
	p.Live = true
	problem, err := s.addRows(c, &p, q)
	if err != nil {
		return err
	}
	if problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		code = http.StatusBadRequest
	}
	if err := s.addSearch(c, &p, q, problem == nil); err != nil {
		return err
	}
	if c.Target() == "list" {
		return c.Render(code, RunListAlong(p))
	}
	return c.Render(code, Runs(p))
}

// addRows adds the runs that match a filter. While a person types, the filter may be unfinished:
// then it adds the runs of the last finished words. problem is the fault of the filter, or nil.
func (s *section) addRows(c *ui.Context, p *RunsPage, q string) (problem *domain.Error, err error) {
	problem, err = s.listQuery(c, p, q)
	if err != nil || !typing(c) || problem == nil && len(p.Rows) > 0 {
		return problem, err
	}
	listed, err := s.listFinished(c, p, q)
	if listed {
		problem = nil
	}
	return problem, err
}

// addSearch adds what helps to search: chips, terms, the histogram, and views.
func (s *section) addSearch(c *ui.Context, p *RunsPage, q string, valid bool) error {
	counts, err := s.Reader.RunCounts(c)
	if err != nil {
		return err
	}
	p.Chips, p.Terms = chips(c, q, counts), query.Terms("/runs", q)
	if p.PlanTerms, err = s.planTerms(c, q); err != nil {
		return err
	}
	if p.Histogram, err = s.histogram(c, q); err != nil {
		return err
	}
	ranges(c, p, q)
	p.Here = c.Echo.Request().URL.RequestURI()
	p.CSV = link.List("/runs.csv", q)
	return s.addViews(c, p, q, valid)
}

// typing reports whether the last term of the query is still being typed.
func typing(c *ui.Context) bool {
	q := c.Query("q")
	return c.Target() == "list" && q != "" && !strings.HasSuffix(q, " ")
}

// listQuery fills in the runs that match a query. It returns a *domain.Error if the query is
// invalid.
func (s *section) listQuery(c *ui.Context, p *RunsPage, q string) (*domain.Error, error) {
	f, problem := filter.Parse(q, time.Now())
	if problem != nil {
		return problem, nil
	}
	problem, err := s.unknownValue(c, f)
	if problem != nil || err != nil {
		return problem, err
	}
	return nil, s.listRuns(c, p, q, f)
}

// listFinished fills in the runs that match the query without its last term, and reports whether it
// did. While the last term is being typed, it must not empty the list.
func (s *section) listFinished(c *ui.Context, p *RunsPage, q string) (bool, error) {
	terms := filter.Terms(q)
	if len(terms) == 0 {
		return false, nil
	}
	last := len(terms) - 1
	next := RunsPage{Shell: p.Shell, Filter: Filter{Query: q}, Topic: p.Topic}
	problem, err := s.listQuery(c, &next, strings.Join(terms[:last], " "))
	if problem != nil || err != nil || len(next.Rows) == 0 {
		return false, err
	}
	next.Unfinished = c.T("%s matches no run. The list ignores it.", kit.Escape(terms[last]))
	*p = next
	return true, nil
}

// countCap is the number up to which matching runs are counted.
const countCap = 10_000

func (s *section) listRuns(c *ui.Context, p *RunsPage, q string, f domain.RunFilter) error {
	f.Page = c.Page()
	pick := c.Principal.Role.Includes(domain.RoleOperator)
	if by := domain.RunSort(c.Query("sort")); by != "" {
		list, err := s.sortedRuns(c, p, q, f, by)
		if err != nil {
			return err
		}
		if pick && len(p.Rows) > 0 {
			offerActions(c, p, q, len(p.Rows))
		}
		p.Pill = followed(q, list) + "&sorted=1"
		return s.table(c, p, q, list, by, pick && len(p.Rows) > 0)
	}
	list, err := s.Reader.Runs(c, f)
	if err != nil {
		return err
	}
	p.Rows = s.rows.Of(c, list.Items)
	if err := s.table(c, p, q, list.Items, "", pick && len(p.Rows) > 0); err != nil {
		return err
	}
	size := c.Query("n")
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		v := url.Values{key: {cursor}}
		if q != "" {
			v.Set("q", q)
		}
		if size != "" {
			v.Set("n", size)
		}
		return "/runs?" + v.Encode()
	}
	p.Newest, p.Newer, p.Older = link.With("/runs", url.Values{"q": {q}}, "n", size), at("before", list.Prev), at("after", list.Next)
	matching := len(p.Rows)
	p.Count = c.N(len(p.Rows), "%s shown", "%s shown")
	if (list.Next != "" || list.Prev != "") && list.Stopped.IsZero() { // after a stopped search, counting would stop too
		n, whole, err := s.Reader.RunsCount(c, f, countCap+1)
		switch {
		case err == nil && n > countCap:
			p.Count = c.N(len(p.Rows), "%s shown, more than %s match", "%s shown, more than %s match", c.Number(countCap))
			matching = n
		case err == nil && !whole:
			p.Count = c.N(len(p.Rows), "%s shown, at least %s match", "%s shown, at least %s match", c.Number(int64(max(n, len(p.Rows)))))
			matching = unknown
		case err == nil:
			p.Count = c.N(len(p.Rows), "%s shown, %s match", "%s shown, %s match", c.Number(int64(n)))
			matching = n
		}
	}
	if !list.Stopped.IsZero() {
		p.Stopped = c.T("Search stopped at %s; narrow it, or continue with Older:", c.Time(list.Stopped).Text)
		p.Narrowings = narrowings(c, q, list.Items)
		matching = unknown
	}
	p.Pill = followed(q, list.Items)
	if pick && len(p.Rows) > 0 {
		offerActions(c, p, q, matching)
	}
	if len(p.Rows) == 0 && q != "" {
		s.narrower(c, p, q)
	}
	return nil
}

// followed returns the address of the fragment that updates the runs of a list.
func followed(q string, list []domain.Run) string {
	ids := make([]string, len(list))
	for i, run := range list {
		ids[i] = run.ID
	}
	return "/runs/changes?" + url.Values{"q": {q}, "ids": {strings.Join(ids, ",")}}.Encode()
}

// offerActions fills in the bulk operations on the selected runs and on all matching runs.
func offerActions(c *ui.Context, p *RunsPage, q string, matching int) {
	all := c.T("All %s that match", c.Number(int64(min(matching, domain.MaxBulkRuns))))
	if matching == unknown {
		all = c.T("All matching runs")
	}
	words := map[domain.Action]string{
		domain.ActionResume:      c.T("Resume…"),
		domain.ActionRerun:       c.T("Rerun…"),
		domain.ActionCancel:      c.T("Cancel…"),
		domain.ActionRelease:     c.T("Release…"),
		domain.ActionDelete:      c.T("Delete…"),
		domain.ActionAcknowledge: c.T("Acknowledge…"),
		domain.ActionLabel:       c.T("Label…"),
	}
	for _, v := range part.BulkActions {
		if v.Action == domain.ActionRelease && !strings.Contains(q, "held") && !strings.Contains(q, "quarantined") &&
			!strings.Contains(q, "needs_you") {
			continue
		}
		p.Actions = append(p.Actions, kit.Link{Text: words[v.Action], Key: string(v.Action), Danger: v.Danger})
		if q != "" && (matching > len(p.Rows) || matching == unknown) {
			p.AllHref = append(
				p.AllHref,
				kit.Link{
					Text:   words[v.Action],
					Danger: v.Danger,
					Href:   "/bulk/new?" + url.Values{"do": {string(v.Action)}, "q": {q}}.Encode(),
				},
			)
		}
	}
	if len(p.AllHref) > 0 {
		p.All = all
	}
}

// narrowerCounts is the maximum number of alternative filters whose matches are counted.
const narrowerCounts = 3

// unknown is the number of matching runs if a search did not complete.
const unknown = -1

// narrower lists, for a filter without matches, the number of matches without each term.
func (s *section) narrower(c *ui.Context, p *RunsPage, q string) {
	parts := filter.Terms(q)
	if len(parts) > 8 {
		return
	}
	for i := range parts {
		rest := strings.Join(slices.Delete(slices.Clone(parts), i, i+1), " ")
		f, problem := filter.Parse(rest, time.Now())
		if problem != nil {
			continue
		}
		l := kit.Link{Text: c.T("Without %s", kit.Escape(parts[i])), Href: link.List("/runs", rest)}
		if i < narrowerCounts {
			var err error
			if l.Count, err = s.matchText(c, f); err != nil {
				continue
			}
		}
		p.Narrow = append(p.Narrow, l)
	}
}

// matchText returns the number of matching runs as text. It counts only up to a limit.
func (s *section) matchText(c *ui.Context, f domain.RunFilter) (string, error) {
	const most = 1000
	n, whole, err := s.Reader.RunsCount(c, f, most+1)
	switch {
	case err != nil:
		return "", err
	case n > most:
		return c.T("more than %s", c.N(most, "%s run", "%s runs")), nil
	case !whole:
		return c.T("at least %s", c.N(n, "%s run", "%s runs")), nil
	}
	return c.N(n, "%s run", "%s runs"), nil
}

// changes builds the fragment with the current cells of the listed runs and the number of new runs.
func (s *section) changes(c *ui.Context) (templ.Component, error) {
	q := c.Query("q")
	ids := strings.Split(c.Query("ids"), ",")
	f, problem := filter.Parse(q, time.Now())
	if problem != nil || len(ids) > 200 {
		return nil, domain.Errorf(domain.CodeInvalid, "this list cannot be followed")
	}
	p := RunsPage{Topic: "runs", Pill: c.Echo.Request().URL.RequestURI(), Newest: "/runs?q=" + url.QueryEscape(q)}
	shown, err := s.Reader.Runs(c, domain.RunFilter{IDs: ids, Page: domain.Page{Limit: 200}})
	if err != nil {
		return nil, err
	}
	p.Rows = s.rows.Of(c, shown.Items)
	for i := range p.Rows {
		filtered(c, &p.Rows[i], q, shown.Items[i])
	}
	if err := s.compared(c, p.Rows, shown.Items); err != nil {
		return nil, err
	}
	if c.Query("sorted") != "" { // new runs are not at the top of a sorted list
		return RunChanges(p), nil
	}
	f.Page = domain.Page{Limit: 100}
	newest, err := s.Reader.Runs(c, f)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, run := range newest.Items {
		if slices.Contains(ids, run.ID) {
			break
		}
		n++
	}
	if n == len(newest.Items) && len(shown.Items) > 0 && n < 100 { // the list shows an older page
		n = 0
	}
	if n > 0 {
		p.Count = c.N(n, "%s new run", "%s new runs")
	}
	return RunChanges(p), nil
}

// changesPage serves the fragment at its own address.
func (s *section) changesPage(c *ui.Context) error {
	part, err := s.changes(c)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, part)
}

// chips returns links that filter by status and keep the other terms. They have counts only if the
// query has no other terms.
func chips(c *ui.Context, q string, counts domain.RunCounts) []kit.Link {
	rest := filter.Without(filter.Without(q, "status"), "is")
	chip := func(text, query string, n int64) kit.Link {
		l := kit.Link{
			Text:    text,
			Href:    link.List("/runs", strings.TrimSpace(query+" "+rest)),
			Current: q == strings.TrimSpace(query+" "+rest) || sameTerms(q, query+" "+rest),
		}
		if rest == "" {
			l.Count = c.Number(n)
		}
		return l
	}
	out := []kit.Link{
		chip(c.T("All"), "", counts.Total),
		chip(c.T("Needs attention"), "is:attention", counts.NeedsAttention),
		chip(c.T("Failed"), "status:failed", counts.ByStatus[domain.RunFailed]),
		chip(c.T("Action required"), "status:needs_you", needsYou(counts)),
	}
	if n := counts.Waiting[domain.WaitInDoubt]; n > 0 || strings.Contains(q, "interrupted") {
		out = append(out, chip(c.T("In doubt"), "status:interrupted", n))
	}
	out = append(
		out,
		chip(c.T("Retrying"), "status:retrying", counts.Waiting[domain.WaitRetry]),
		chip(c.T("Running"), "status:running", counts.ByStatus[domain.RunRunning]),
		chip(c.T("Waiting"), "status:waiting", counts.ByStatus[domain.RunWaiting]),
		chip(c.T("Queued"), "status:queued", counts.ByStatus[domain.RunQueued]),
		chip(c.T("Completed"), "status:completed", counts.ByStatus[domain.RunCompleted]),
		chip(c.T("Cancelled"), "status:cancelled", counts.ByStatus[domain.RunCancelled]),
	)
	return slices.DeleteFunc(out, func(l kit.Link) bool { return l.Count == c.Number(0) && !l.Current && l.Href != "/runs?q=" })
}

// needsYou counts the runs that wait for a person, except runs in doubt, which the list shows as
// interrupted.
func needsYou(c domain.RunCounts) int64 {
	n := int64(0)
	for _, w := range []domain.WaitReason{domain.WaitApproval, domain.WaitBudget, domain.WaitReplan, domain.WaitHeld,
		domain.WaitQuarantined} {
		n += c.Waiting[w]
	}
	return n
}

// sameTerms reports whether two queries have the same terms in any order.
func sameTerms(a, b string) bool {
	return slices.Equal(slices.Sorted(slices.Values(filter.Terms(a))), slices.Sorted(slices.Values(filter.Terms(b))))
}
