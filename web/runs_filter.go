package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/part/views"
	"github.com/kairosd/kairosd/web/view"
)

// elsewhere is the address that a request of the run list means: a range of time
// that was typed into its form becomes terms of the query, and a list without a
// query is the reader's default view.
func (r *request) elsewhere() (string, error) {
	v := r.c.Request().URL.Query()
	if v.Has("from") || v.Has("to") {
		q := filter.Without(filter.Without(v.Get("q"), "since"), "until")
		for _, end := range []struct{ param, key string }{{"from", "since"}, {"to", "until"}} {
			text := v.Get(end.param)
			if text == "" {
				continue
			}
			at, err := time.ParseInLocation("2006-01-02T15:04", text, r.display.zone)
			if err != nil {
				return "", domain.Errorf(domain.CodeInvalid, "%q is not a time", text).Suggest("write 2030-01-31T08:00")
			}
			q += " " + end.key + ":" + at.Format("2006-01-02T15:04Z07:00")
		}
		return listAt("/runs", strings.TrimSpace(q)), nil
	}
	if name := v.Get("view"); name != "" && !v.Has("q") { // a view is a name for a query
		saved, err := r.s.App.Views.List(r.ctx, r.who.actor())
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(saved, func(s domain.SavedView) bool { return s.Name == name })
		if i < 0 {
			return "", domain.Errorf(domain.CodeNotFound, "there is no view %q", cut(name, 60))
		}
		return listAt("/runs", saved[i].Query), nil
	}
	if len(v) > 0 || r.htmx() {
		return "", nil
	}
	q, err := r.s.App.Preferences.Get(r.ctx, r.who.actor(), views.DefaultKey)
	if err != nil || q == "" {
		return "", err
	}
	return listAt("/runs", q), nil
}

// setDefaultView keeps the query that the run list opens with, or none.
func (r *request) setDefaultView() error {
	q := strings.TrimSpace(r.c.FormValue("q"))
	keep := q
	if r.c.FormValue("remove") != "" {
		keep = ""
	} else if _, problem := filter.Parse(q, time.Now()); problem != nil {
		return problem
	}
	if err := r.s.App.Preferences.Set(r.ctx, app.Preference{Meta: r.meta(), Key: views.DefaultKey, Value: keep}); err != nil {
		return err
	}
	if r.c.FormValue("back") == "/me" {
		return r.to("/me")
	}
	return r.to(listAt("/runs", q))
}

// knownMax is how many values of one key are looked at.
const knownMax = 500

// unknownValue says which value of a filter names nothing that there is, but
// nearly: a mistyped name would else give an empty list.
func (r *request) unknownValue(f domain.RunFilter) (*domain.Error, error) {
	one := func(v string, more []string) []string {
		if v != "" {
			return append([]string{v}, more...)
		}
		return more
	}
	for _, key := range slices.Concat(one(f.PlanKey, f.PlanKeys), f.Exclude.PlanKeys) {
		_, err := r.s.Reader.Plan(r.ctx, key)
		if domain.CodeOf(err) == domain.CodeNotFound {
			known, err := r.planKeys()
			if problem := filter.Mistyped("plan", key, known); problem != nil || err != nil {
				return problem, err
			}
		} else if err != nil {
			return nil, err
		}
	}
	for _, c := range []struct {
		key    string
		values []string
	}{{"error", slices.Concat(one(f.ErrorCode, f.ErrorCodes), f.Exclude.ErrorCodes)}, {domain.UseAgent, slices.Concat(f.Agents, f.Exclude.Agents)},
		{domain.UseTool, slices.Concat(f.Tools, f.Exclude.Tools)}, {domain.UseProvider, slices.Concat(f.Providers, f.Exclude.Providers)}} {
		if len(c.values) == 0 {
			continue
		}
		known, err := r.known(c.key)
		if err != nil {
			return nil, err
		}
		for _, v := range c.values {
			if len(known) < knownMax && !slices.Contains(known, v) {
				if problem := filter.Mistyped(c.key, v, known); problem != nil {
					return problem, nil
				}
			}
		}
	}
	return nil, nil
}

func (r *request) planKeys() ([]string, error) {
	list, err := r.s.Reader.Plans(r.ctx, domain.PlanFilter{Page: domain.Page{Limit: 200}})
	var out []string
	for _, p := range list.Items {
		out = append(out, p.Key)
	}
	return out, err
}

// known are the values of a key: those that runs have, and what is configured.
func (r *request) known(key string) ([]string, error) {
	out, err := r.s.Reader.Known(r.ctx, key, knownMax)
	if err != nil || key == "error" || key == "by" {
		return out, err
	}
	err = r.crewNames(key, func(names ...string) {
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	})
	return out, err
}

// narrowings are terms that make a search short which came not to its end.
func (r *request) narrowings(q string, found []domain.Run) []view.Link {
	has := func(key string) bool {
		return slices.ContainsFunc(filter.Terms(q), func(t string) bool { return strings.HasPrefix(strings.TrimPrefix(t, "-"), key+":") })
	}
	var out []view.Link
	add := func(term string) {
		out = append(out, view.Link{Text: term, Href: listAt("/runs", strings.TrimSpace(q+" "+term))})
	}
	if !has("since") {
		add("since:24h")
		add("since:7d")
	}
	if !has("plan") {
		var plans []string
		for _, run := range found {
			if !slices.Contains(plans, run.PlanKey) && len(plans) < 3 {
				plans = append(plans, run.PlanKey)
				add("plan:" + filter.Quote(run.PlanKey))
			}
		}
	}
	if !has("status") && !has("is") {
		add("status:failed")
	}
	return out
}

// filtered makes links of what a row says and the list can be filtered by.
func (r *request) filtered(row *view.RunRow, q string, run domain.Run) {
	row.StatusHref = r.narrow(q, "status", statusTerm(run)).Href
	row.VersionHref = listAt("/runs", strings.TrimSpace(filter.Without(filter.Without(q, "plan"), "v")+" plan:"+filter.Quote(run.PlanKey)+fmt.Sprintf(" v:%d", run.Version)))
	if run.Error != nil && run.Error.Code != "" {
		row.Terms = append(row.Terms, r.narrow(q, "error", run.Error.Code))
	}
	if run.Node != "" && run.Node != run.Headline {
		row.Terms = append(row.Terms, r.narrow(q, "step", run.Node))
	}
}

// statusTerm is the filter's word for where a run stands.
func statusTerm(run domain.Run) string {
	if run.Status != domain.RunWaiting {
		return string(run.Status)
	}
	switch run.WaitReason {
	case domain.WaitApproval, domain.WaitBudget, domain.WaitReplan, domain.WaitHeld, domain.WaitQuarantined:
		return "needs_you"
	case domain.WaitInDoubt:
		return "interrupted"
	case domain.WaitPaused:
		return "paused"
	case domain.WaitRetry:
		return "retrying"
	}
	return string(domain.RunWaiting)
}

// ranges are the quick ranges of time, and the form for any other; finished runs
// count by their end, others by their start (UI R11).
func (r *request) ranges(p *view.RunsPage, q string) {
	rest := filter.Without(filter.Without(q, "since"), "until")
	term := func(key string) string {
		for _, t := range filter.Terms(q) {
			if v, ok := strings.CutPrefix(t, key+":"); ok {
				return strings.Trim(v, `"`)
			}
		}
		return ""
	}
	since, until := term("since"), term("until")
	quick := false
	p.Ranges = []view.Link{{Text: r.t("Any time"), Href: listAt("/runs", rest), Current: since == "" && until == ""}}
	for _, d := range []string{"15m", "1h", "6h", "24h", "7d", "30d"} {
		now := since == d && until == ""
		quick = quick || now
		p.Ranges = append(p.Ranges, view.Link{Text: d, Href: listAt("/runs", strings.TrimSpace(rest+" since:"+d)), Current: now})
	}
	p.Rest, p.Custom = rest, !quick && (since != "" || until != "")
	if p.Ranged = since != "" || until != ""; !p.Ranged {
		return
	}
	field := func(text string) string {
		at, err := filter.Moment(text, r.s.now())
		if text == "" || err != nil {
			return ""
		}
		return at.In(r.display.zone).Format("2006-01-02T15:04")
	}
	p.From, p.To = field(since), field(until)
}

// peekAddress is where a look at a run is.
func peekAddress(row view.RunRow, q string) string {
	return row.Href + "/peek?" + url.Values{"q": {q}}.Encode()
}
