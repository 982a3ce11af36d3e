package runs

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/query"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/views"
	"github.com/kairosd/kairosd/web/ui"
)

// elsewhere returns the address to which a request of the run list redirects, or "" if it does not.
// A typed time range becomes terms of the query, and a list without a query opens the user's
// default view.
func (s *section) elsewhere(c *ui.Context) (string, error) {
	v := c.Echo.Request().URL.Query()
	if v.Has("from") || v.Has("to") {
		q := filter.Without(filter.Without(v.Get("q"), "since"), "until")
		for _, end := range []struct{ param, key string }{{"from", "since"}, {"to", "until"}} {
			text := v.Get(end.param)
			if text == "" {
				continue
			}
			at, err := time.ParseInLocation("2006-01-02T15:04", text, c.Display.Zone)
			if err != nil {
				return "", domain.Errorf(domain.CodeInvalid, "%q is not a time", text).Suggest("use the format 2030-01-31T08:00")
			}
			q += " " + end.key + ":" + at.Format("2006-01-02T15:04Z07:00")
		}
		return link.List("/runs", strings.TrimSpace(q)), nil
	}
	if name := v.Get("view"); name != "" && !v.Has("q") { // a view is a named query
		saved, err := s.App.Views.List(c, c.Principal.Actor())
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(saved, func(s domain.SavedView) bool { return s.Name == name })
		if i < 0 {
			return "", domain.Errorf(domain.CodeNotFound, "view %q not found", kit.Truncate(name, 60))
		}
		return link.List("/runs", saved[i].Query), nil
	}
	if len(v) > 0 || c.HTMX() {
		return "", nil
	}
	q, err := s.App.Preferences.Get(c, c.Principal.Actor(), views.DefaultKey)
	if err != nil || q == "" {
		return "", err
	}
	return link.List("/runs", q), nil
}

// knownMax is the maximum number of values read for a key.
const knownMax = 500

// unknownValue returns an error for a value that does not exist but resembles one that does.
// Otherwise, a typing error would result in an empty list.
func (s *section) unknownValue(c *ui.Context, f domain.RunFilter) (*domain.Error, error) {
	one := func(v string, more []string) []string {
		if v != "" {
			return append([]string{v}, more...)
		}
		return more
	}
	for _, key := range slices.Concat(one(f.PlanKey, f.PlanKeys), f.Exclude.PlanKeys) {
		_, err := s.Reader.Plan(c, key)
		if domain.CodeOf(err) == domain.CodeNotFound {
			known, err := s.planKeys(c)
			if problem := filter.Mistyped("plan", key, known); problem != nil || err != nil {
				return problem, err
			}
		} else if err != nil {
			return nil, err
		}
	}
	for _, o := range []struct {
		key    string
		values []string
	}{{"error", slices.Concat(one(f.ErrorCode, f.ErrorCodes), f.Exclude.ErrorCodes)},
		{domain.UseAgent, slices.Concat(f.Agents, f.Exclude.Agents)},
		{domain.UseTool, slices.Concat(f.Tools, f.Exclude.Tools)}, {domain.UseProvider, slices.Concat(f.Providers, f.Exclude.Providers)}} {
		if len(o.values) == 0 {
			continue
		}
		known, err := s.known(c, o.key)
		if err != nil {
			return nil, err
		}
		for _, v := range o.values {
			if len(known) < knownMax && !slices.Contains(known, v) {
				if problem := filter.Mistyped(o.key, v, known); problem != nil {
					return problem, nil
				}
			}
		}
	}
	return nil, nil
}

func (s *section) planKeys(c *ui.Context) ([]string, error) {
	list, err := s.Reader.Plans(c, domain.PlanFilter{Page: domain.Page{Limit: 200}})
	var out []string
	for _, p := range list.Items {
		out = append(out, p.Key)
	}
	return out, err
}

// known returns the values of a key that occur in runs or in the catalog.
func (s *section) known(c *ui.Context, key string) ([]string, error) {
	out, err := s.Reader.Known(c, key, knownMax)
	if err != nil || key == "error" || key == "by" {
		return out, err
	}
	names, err := query.CatalogNames(c, key)
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out, err
}

// narrowings returns links that narrow a query whose search stopped before it was complete.
func narrowings(c *ui.Context, q string, found []domain.Run) []kit.Link {
	has := func(key string) bool {
		return slices.ContainsFunc(filter.Terms(q), func(t string) bool { return strings.HasPrefix(strings.TrimPrefix(t, "-"), key+":") })
	}
	var out []kit.Link
	add := func(term string) {
		out = append(out, kit.Link{Text: term, Href: link.List("/runs", strings.TrimSpace(q+" "+term))})
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

// filtered turns the cells of a row into links that filter the list by their values.
func filtered(c *ui.Context, row *part.Row, q string, run domain.Run) {
	row.StatusHref = narrow(c, q, "status", statusTerm(run)).Href
	row.VersionHref = link.List(
		"/runs",
		strings.TrimSpace(
			filter.Without(filter.Without(q, "plan"), "v")+" plan:"+filter.Quote(run.PlanKey)+fmt.Sprintf(" v:%d", run.Version),
		),
	)
	if run.Error != nil && run.Error.Code != "" {
		row.Terms = append(row.Terms, narrow(c, q, "error", run.Error.Code))
	}
	if run.Node != "" && run.Node != run.Headline {
		row.Terms = append(row.Terms, narrow(c, q, "step", run.Node))
	}
}

// statusTerm returns the value of the status key that selects runs with the status of this run.
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

// ranges fills in the quick time ranges and the form for other ranges. Ended runs are selected by
// their end time, other runs by their start time.
func ranges(c *ui.Context, p *RunsPage, q string) {
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
	p.Ranges = []kit.Link{{Text: c.T("Any time"), Href: link.List("/runs", rest), Current: since == "" && until == ""}}
	for _, d := range []string{"15m", "1h", "6h", "24h", "7d", "30d"} {
		now := since == d && until == ""
		quick = quick || now
		p.Ranges = append(p.Ranges, kit.Link{Text: d, Href: link.List("/runs", strings.TrimSpace(rest+" since:"+d)), Current: now})
	}
	p.Rest, p.Custom = rest, !quick && (since != "" || until != "")
	if p.Ranged = since != "" || until != ""; !p.Ranged {
		return
	}
	field := func(text string) string {
		at, err := filter.Moment(text, c.Site.Now())
		if text == "" || err != nil {
			return ""
		}
		return at.In(c.Display.Zone).Format("2006-01-02T15:04")
	}
	p.From, p.To = field(since), field(until)
}

// peekAddress returns the address of the preview of a run.
func peekAddress(row part.Row, q, span string) string {
	return row.Href + "/peek?" + url.Values{"q": {q}, "span": {span}}.Encode()
}
