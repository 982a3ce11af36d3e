package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/view"
)

const (
	planRuns  = 30 // that a plan's strip shows
	plansPage = 25
	rateDays  = 7
)

// plans is the list of plans: how each is doing, at a glance.
func (r *request) plans() error {
	q, state := strings.TrimSpace(r.c.QueryParam("q")), r.c.QueryParam("state")
	code := http.StatusOK
	f, problem := filter.ParsePlans(q)
	f.Page, f.Archived, f.Paused, f.Stage = r.page(), state == "archived", state == "paused", domain.PlansUsed
	switch state {
	case "archived":
		f.Stage = ""
	case "draft":
		f.Stage = string(domain.StageDraft)
	}
	f.Page.Limit = cmp.Or(f.Page.Limit, plansPage)
	p := view.PlansPage{Shell: r.shell("plans", "Plans"), Query: q, State: state, CanWrite: r.who.Role.Includes(domain.RoleAuthor), Example: exampleAt(firstExample),
		CanStart: r.who.Role.Includes(domain.RoleOperator) && !f.Archived && state != "draft"}
	var list domain.List[domain.Plan]
	if problem != nil {
		p.Error, p.Suggestion = r.filterProblem(problem)
		code = http.StatusBadRequest
	} else {
		var err error
		if list, err = r.s.Reader.Plans(r.ctx, f); err != nil {
			return err
		}
	}
	at := func(key, value, state string) string {
		v := url.Values{}
		for k, s := range map[string]string{"q": q, "state": state, key: value} {
			if k != "" && s != "" {
				v.Set(k, s)
			}
		}
		if len(v) == 0 {
			return "/plans"
		}
		return "/plans?" + v.Encode()
	}
	p.States = []view.Link{{Text: r.t("In use"), Href: at("", "", ""), Current: state != "archived" && state != "draft" && !f.Paused}, {Text: r.t("Paused"), Href: at("", "", "paused"), Current: f.Paused}, {Text: r.t("Drafts"), Href: at("", "", "draft"), Current: state == "draft"},
		{Text: r.t("Archived"), Href: at("", "", "archived"), Current: f.Archived}}
	if state == "draft" && problem == nil {
		var err error
		if p.Drafts, err = r.draftRows(q); err != nil {
			return err
		}
	}
	for _, pl := range list.Items {
		if state == "draft" {
			if has, err := r.hasDraft(pl); err != nil {
				return err
			} else if has {
				continue // it is above, with what was wanted
			}
		}
		row := view.PlanRow{Key: pl.Key, Href: "/plans/" + url.PathEscape(pl.Key), Name: visible(pl.Name), Version: fmt.Sprintf("v%d", pl.Latest), Updated: r.time(pl.UpdatedAt), Paused: pl.Paused != nil}
		if row.Name == row.Key {
			row.Name = ""
		}
		stats, err := r.planStats(pl.Key)
		if err != nil {
			return err
		}
		row.Stats = stats
		if err := r.planWho(&row, pl); err != nil {
			return err
		}
		if state == "draft" {
			row.Href = fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(pl.Key), pl.Latest)
		}
		p.Rows = append(p.Rows, row)
	}
	if list.Prev != "" {
		p.Newer = at("before", list.Prev, state)
	}
	if list.Next != "" {
		p.Older = at("after", list.Next, state)
	}
	return r.render(code, view.Plans(p))
}

// planWho says whose a plan is, and who saved its current version when.
func (r *request) planWho(row *view.PlanRow, pl domain.Plan) error {
	v, err := r.s.Reader.VersionByHash(r.ctx, pl.LatestHash)
	if err != nil {
		return err
	}
	row.Author, row.Updated = visible(v.Author), r.time(v.CreatedAt)
	facts, err := r.s.Reader.PlanFacts(r.ctx, pl.Key)
	if err != nil {
		return err
	}
	for _, f := range facts {
		switch f.Kind {
		case domain.FactOwner:
			row.Owner = factLink(f)
			row.Owner.Text = visible(f.Value)
		case domain.FactLabel:
			if len(row.Labels) < 3 {
				row.Labels = append(row.Labels, factLink(f))
			}
		}
	}
	return nil
}

// planStats is how the last runs of a plan went.
func (r *request) planStats(plan string) (view.PlanStats, error) {
	var s view.PlanStats
	runs, err := r.s.Reader.LastRuns(r.ctx, plan, planRuns)
	if err != nil {
		return s, err
	}
	slices.Reverse(runs) // the newest at the right, as time goes
	now := r.s.now()
	length := func(run domain.Run) time.Duration {
		if run.EndedAt.IsZero() {
			return now.Sub(run.CreatedAt)
		}
		return run.EndedAt.Sub(run.CreatedAt)
	}
	var done []time.Duration
	longest, failed := time.Duration(1), 0
	for _, run := range runs {
		longest = max(longest, length(run))
		if run.Status == domain.RunCompleted {
			done = append(done, length(run))
		}
		if run.Status == domain.RunFailed {
			failed++
		}
	}
	w := 100.0 / planRuns
	for i, run := range runs {
		h := 25 + 60*float64(length(run))/float64(longest) // taller: slower
		c := part.Cell{X: percent(float64(planRuns-len(runs)+i) * w), W: percent(w * 0.8), Class: "g-ok"}
		switch run.Status {
		case domain.RunFailed:
			c.Class, h = "g-fail", 100
		case domain.RunRunning:
			c.Class = "g-now"
		case domain.RunWaiting:
			c.Class = "g-need"
		case domain.RunCancelled, domain.RunQueued:
			c.Class = "g-idle"
		}
		c.Y, c.H = percent(100-h), percent(h)
		s.Strip = append(s.Strip, c)
	}
	if len(runs) > 0 {
		s.Label = r.t("Of the last %d runs of %s, %d failed", len(runs), visible(plan), failed)
		newest := runs[len(runs)-1]
		s.Last, s.LastHref, s.LastAt = r.statusOf(newest), "/runs/"+newest.ID, r.time(newest.CreatedAt)
	}
	next, at, err := r.s.Reader.NextStart(r.ctx, plan)
	if err != nil {
		return s, err
	}
	if next != "" {
		s.NextHref, s.Next = "/runs/"+next, r.time(at)
	}
	if slices.Sort(done); len(done) > 0 {
		s.Median, s.Slow = took(done[len(done)/2]), took(done[len(done)*95/100])
	}
	ends, err := r.s.Reader.PlanOutcomes(r.ctx, plan, now.AddDate(0, 0, -rateDays))
	if err != nil {
		return s, err
	}
	if n := ends[domain.RunCompleted] + ends[domain.RunFailed]; n > 0 {
		s.Rate = r.display.lang.Percent(float64(ends[domain.RunCompleted]) / float64(n))
		s.RateOf = r.n(int(n), "of %s run in 7 days", "of %s runs in 7 days")
		s.Bad = ends[domain.RunFailed] > 0
		s.FailedHref = listAt("/runs", "status:failed since:7d plan:"+quoted(plan))
	}
	return s, nil
}
