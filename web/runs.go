package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/part/views"
	"github.com/kairosd/kairosd/web/view"
)

// runRow is a run as lists show it.
func (r *request) runRow(run domain.Run) view.RunRow {
	return r.runRows([]domain.Run{run})[0]
}

// row is one of several; known are the sizes of their plans.
func (r *request) row(run domain.Run, known map[string]int) view.RunRow {
	row := view.RunRow{ID: run.ID, Short: domain.ShortID(run.ID), Href: "/runs/" + run.ID, Status: r.statusOf(run),
		Plan: run.PlanKey, PlanHref: "/plans/" + url.PathEscape(run.PlanKey), Version: fmt.Sprintf("v%d", run.Version),
		Headline: r.damagedHeadline(run), Started: r.time(run.CreatedAt)}
	switch {
	case !run.EndedAt.IsZero():
		row.Took = took(run.EndedAt.Sub(run.CreatedAt))
	case run.Status == domain.RunRunning:
		row.Took, row.Since = took(time.Since(run.CreatedAt)), run.CreatedAt.UnixMilli()
	default:
		row.Took = took(time.Since(run.CreatedAt))
	}
	row.Strip = strip(run, row.Status, r.nodesOf(known, run))
	return row
}

// damagedHeadline is where a run stands in one line; of one that is over and of which
// something is damaged, that.
func (r *request) damagedHeadline(run domain.Run) string {
	if len(run.Damaged) > 0 && run.Status.Final() {
		return r.t(part.Damaged[run.Damaged[0].Part])
	}
	return r.headline(run)
}

func (r *request) runRows(list []domain.Run) []view.RunRow {
	rows, known := make([]view.RunRow, len(list)), map[string]int{}
	for i, run := range list {
		rows[i] = r.row(run, known)
	}
	return rows
}

// runs is the list: filtered, counted, by key, never moving under the pointer.
func (r *request) runs() error {
	if to, err := r.elsewhere(); err != nil {
		return err
	} else if to != "" {
		return r.c.Redirect(http.StatusSeeOther, to)
	}
	q := strings.TrimSpace(r.c.QueryParam("q"))
	p := view.RunsPage{Shell: r.shell("runs", "Runs"), Query: q, Topic: "runs"}
	p.Live = true
	code := http.StatusOK
	f, problem := filter.Parse(q, time.Now())
	if problem == nil {
		var err error
		if problem, err = r.unknownValue(f); err != nil {
			return err
		}
	}
	if problem != nil {
		p.Error, p.Suggestion = r.filterProblem(problem)
		code = http.StatusBadRequest
	} else if err := r.listRuns(&p, q, f); err != nil {
		return err
	}
	counts, err := r.s.Reader.RunCounts(r.ctx)
	if err != nil {
		return err
	}
	p.Chips = r.chips(q, counts)
	r.ranges(&p, q)
	p.Here = r.c.Request().URL.RequestURI()
	p.CSV = listAt("/runs.csv", q)
	if err := r.views(&p, q, problem == nil); err != nil {
		return err
	}
	if r.target() == "list" {
		return r.render(code, view.RunListAlong(p))
	}
	return r.render(code, view.Runs(p))
}

// countCap is up to where matching runs are counted.
const countCap = 10_000

func (r *request) listRuns(p *view.RunsPage, q string, f domain.RunFilter) error {
	f.Page = r.page()
	pick := r.who.Role.Includes(domain.RoleOperator)
	if by := domain.RunSort(r.c.QueryParam("sort")); by != "" {
		list, err := r.sortedRuns(p, q, f, by)
		if err != nil {
			return err
		}
		if pick && len(p.Rows) > 0 {
			r.offerActs(p, q, len(p.Rows))
		}
		p.Pill = followed(q, list) + "&sorted=1"
		return r.table(p, q, list, by, pick && len(p.Rows) > 0)
	}
	list, err := r.s.Reader.Runs(r.ctx, f)
	if err != nil {
		return err
	}
	p.Rows = r.runRows(list.Items)
	if err := r.table(p, q, list.Items, "", pick && len(p.Rows) > 0); err != nil {
		return err
	}
	size := r.c.QueryParam("n")
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
	p.Newest, p.Newer, p.Older = with("/runs", url.Values{"q": {q}}, "n", size), at("before", list.Prev), at("after", list.Next)
	matching := len(p.Rows)
	p.Count = r.n(len(p.Rows), "%s shown", "%s shown")
	if (list.Next != "" || list.Prev != "") && list.Stopped.IsZero() { // else to count would take as long, and find no more
		n, whole, err := r.s.Reader.RunsCount(r.ctx, f, countCap+1)
		switch {
		case err == nil && n > countCap:
			p.Count = r.n(len(p.Rows), "%s shown, more than %s match", "%s shown, more than %s match", r.number(countCap))
			matching = n
		case err == nil && !whole:
			p.Count = r.n(len(p.Rows), "%s shown, at least %s match", "%s shown, at least %s match", r.number(int64(max(n, len(p.Rows)))))
			matching = unknown
		case err == nil:
			p.Count = r.n(len(p.Rows), "%s shown, %s match", "%s shown, %s match", r.number(int64(n)))
			matching = n
		}
	}
	if !list.Stopped.IsZero() {
		p.Stopped = r.t("Search stopped at %s; narrow it, or continue with Older:", r.time(list.Stopped).Text)
		p.Narrowings = r.narrowings(q, list.Items)
		matching = unknown
	}
	p.Pill = followed(q, list.Items)
	if pick && len(p.Rows) > 0 {
		r.offerActs(p, q, matching)
	}
	if len(p.Rows) == 0 && q != "" {
		r.narrower(p, q)
	}
	return nil
}

// followed is the address of what happens to the runs of a list.
func followed(q string, list []domain.Run) string {
	ids := make([]string, len(list))
	for i, run := range list {
		ids[i] = run.ID
	}
	return "/runs/changes?" + url.Values{"q": {q}, "ids": {strings.Join(ids, ",")}}.Encode()
}

// offerActs adds what can be done to the chosen runs, and to all that match.
func (r *request) offerActs(p *view.RunsPage, q string, matching int) {
	all := r.t("With all %s that match:", r.number(int64(min(matching, domain.BulkMax))))
	if matching == unknown {
		all = r.t("With all that match:")
	}
	words := map[domain.Action]string{domain.ActionResume: r.t("Resume…"), domain.ActionRerun: r.t("Rerun…"), domain.ActionCancel: r.t("Cancel…"),
		domain.ActionRelease: r.t("Release…"), domain.ActionDelete: r.t("Delete…"),
		domain.ActionAck: r.t("Acknowledge…"), domain.ActionLabel: r.t("Label…")}
	for _, v := range bulkVerbs {
		if v.action == domain.ActionRelease && !strings.Contains(q, "held") && !strings.Contains(q, "quarantined") && !strings.Contains(q, "needs_you") {
			continue
		}
		p.Acts = append(p.Acts, view.Link{Text: words[v.action], Key: string(v.action), Danger: v.danger})
		if q != "" && (matching > len(p.Rows) || matching == unknown) {
			p.AllHref = append(p.AllHref, view.Link{Text: words[v.action], Danger: v.danger, Href: "/bulk/new?" + url.Values{"do": {string(v.action)}, "q": {q}}.Encode()})
		}
	}
	if len(p.AllHref) > 0 {
		p.All = all
	}
}

// narrowerCounts is for how many other filters it is counted what they would give.
const narrowerCounts = 3

// unknown is how many runs match where a search was not finished.
const unknown = -1

// narrower says, for a filter that matches nothing, what leaving out each term
// would give.
func (r *request) narrower(p *view.RunsPage, q string) {
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
		l := view.Link{Text: r.t("Without %s", visible(parts[i])), Href: listAt("/runs", rest)}
		if i < narrowerCounts {
			var err error
			if l.Count, err = r.matchText(f); err != nil {
				continue
			}
		}
		p.Narrow = append(p.Narrow, l)
	}
}

// matchText says how many runs a filter selects, as far as that is quickly counted.
func (r *request) matchText(f domain.RunFilter) (string, error) {
	const most = 1000
	n, whole, err := r.s.Reader.RunsCount(r.ctx, f, most+1)
	switch {
	case err != nil:
		return "", err
	case n > most:
		return r.t("more than %s", r.n(most, "%s run", "%s runs")), nil
	case !whole:
		return r.t("at least %s", r.n(n, "%s run", "%s runs")), nil
	}
	return r.n(n, "%s run", "%s runs"), nil
}

// changes is what happened to the runs of a list since it was read: its cells,
// and how many are new.
func (r *request) changes() error {
	q := r.c.QueryParam("q")
	ids := strings.Split(r.c.QueryParam("ids"), ",")
	f, problem := filter.Parse(q, time.Now())
	if problem != nil || len(ids) > 200 {
		return domain.Errorf(domain.CodeInvalid, "this list cannot be followed")
	}
	p := view.RunsPage{Topic: "runs", Pill: r.c.Request().URL.RequestURI(), Newest: "/runs?q=" + url.QueryEscape(q)}
	shown, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{IDs: ids, Page: domain.Page{Limit: 200}})
	if err != nil {
		return err
	}
	p.Rows = r.runRows(shown.Items)
	for i := range p.Rows {
		r.filtered(&p.Rows[i], q, shown.Items[i])
	}
	if r.c.QueryParam("sorted") != "" { // it has no newest end
		return r.render(http.StatusOK, view.RunChanges(p))
	}
	f.Page = domain.Page{Limit: 100}
	newest, err := r.s.Reader.Runs(r.ctx, f)
	if err != nil {
		return err
	}
	n := 0
	for _, run := range newest.Items {
		if slices.Contains(ids, run.ID) {
			break
		}
		n++
	}
	if n == len(newest.Items) && len(shown.Items) > 0 && n < 100 { // the page shown is an older one
		n = 0
	}
	if n > 0 {
		p.Count = r.n(n, "%s new run", "%s new runs")
	}
	return r.render(http.StatusOK, view.RunChanges(p))
}

// views adds what the reader and everybody saved.
func (r *request) views(p *view.RunsPage, q string, valid bool) error {
	saved, err := r.s.App.Views.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	p.Views = append(p.Views, views.Common(r.Context, q)...)
	for _, v := range saved {
		p.Views = append(p.Views, view.Link{Text: visible(v.Name), Href: "/runs?q=" + url.QueryEscape(v.Query), Current: v.Query == q})
		if v.Query == q {
			p.Saved = v.Name
		}
	}
	known := slices.ContainsFunc(p.Chips, func(c view.Link) bool { return c.Current && c.Count != "" }) ||
		slices.ContainsFunc(views.Common(r.Context, q), func(c view.Link) bool { return c.Current })
	p.CanSave = valid && q != "" && !known && r.who.Role.Includes(domain.RoleOperator)
	begins, err := r.s.App.Preferences.Get(r.ctx, r.who.actor(), views.DefaultKey)
	p.DefaultView, p.CanDefault = begins != "" && begins == q, valid && q != "" && begins != q
	return err
}

// saveView keeps a query of the run list under a name, or forgets it.
func (r *request) saveView() error {
	change := app.ViewChange{Meta: r.meta(), Name: r.c.FormValue("name"), Query: r.c.FormValue("q"), Everybody: r.c.FormValue("everybody") != ""}
	var err error
	if r.c.FormValue("remove") != "" {
		err = r.s.App.Views.Delete(r.ctx, change)
	} else {
		_, err = r.s.App.Views.Save(r.ctx, change)
	}
	if err != nil {
		return err
	}
	return r.to("/runs?q=" + url.QueryEscape(strings.TrimSpace(change.Query)))
}

// chips choose a status and leave the rest of the query as it is; they count only
// where there is no rest.
func (r *request) chips(q string, c domain.RunCounts) []view.Link {
	rest := filter.Without(filter.Without(q, "status"), "is")
	chip := func(text, query string, n int64) view.Link {
		l := view.Link{Text: text, Href: listAt("/runs", strings.TrimSpace(query+" "+rest)), Current: q == strings.TrimSpace(query+" "+rest) || sameTerms(q, query+" "+rest)}
		if rest == "" {
			l.Count = r.number(n)
		}
		return l
	}
	out := []view.Link{chip(r.t("Needs attention"), "is:attention", c.NeedsAttention), chip(r.t("Failed"), "status:failed", c.ByStatus[domain.RunFailed]),
		chip(r.t("Needs you"), "status:needs_you", needsYou(c))}
	if n := c.Waiting[domain.WaitInDoubt]; n > 0 || strings.Contains(q, "interrupted") {
		out = append(out, chip(r.t("Interrupted"), "status:interrupted", n))
	}
	return append(out, chip(r.t("Retrying"), "status:retrying", c.Waiting[domain.WaitRetry]), chip(r.t("Running"), "status:running", c.ByStatus[domain.RunRunning]),
		chip(r.t("Waiting"), "status:waiting", c.ByStatus[domain.RunWaiting]), chip(r.t("Queued"), "status:queued", c.ByStatus[domain.RunQueued]),
		chip(r.t("Succeeded"), "status:completed", c.ByStatus[domain.RunCompleted]), chip(r.t("Cancelled"), "status:cancelled", c.ByStatus[domain.RunCancelled]),
		chip(r.t("All"), "", c.Total))
}

// needsYou counts the runs that wait for a person, but for those in doubt, which are
// interrupted.
func needsYou(c domain.RunCounts) int64 {
	n := int64(0)
	for _, w := range []domain.WaitReason{domain.WaitApproval, domain.WaitBudget, domain.WaitReplan, domain.WaitHeld, domain.WaitQuarantined} {
		n += c.Waiting[w]
	}
	return n
}

// sameTerms reports whether two queries say the same in another order.
func sameTerms(a, b string) bool {
	return slices.Equal(slices.Sorted(slices.Values(filter.Terms(a))), slices.Sorted(slices.Values(filter.Terms(b))))
}
