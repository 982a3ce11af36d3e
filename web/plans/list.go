package plans

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	planRuns  = 30 // runs shown in the strip of a plan
	plansPage = 25
	rateDays  = 7
)

// plans serves the plan list, with the recent results of each plan.
func (s *section) plans(c *ui.Context) error {
	q, state := strings.TrimSpace(c.Query("q")), c.Query("state")
	code := http.StatusOK
	f, problem := filter.ParsePlans(q)
	f.Page, f.Archived, f.Paused, f.Stage = c.Page(), state == "archived", state == "paused", domain.PlansUsed
	switch state {
	case "archived":
		f.Stage = ""
	case "draft":
		f.Stage = string(domain.StageDraft)
	}
	f.Page.Limit = cmp.Or(f.Page.Limit, plansPage)
	p := PlansPage{Shell: c.Shell("plans", "Plans"), Bar: query.BarOf("/plans", q), State: state,
		CanWrite: c.Principal.Role.Includes(domain.RoleAuthor), Example: exampleAt(firstExample),
		CanStart: c.Principal.Role.Includes(domain.RoleOperator) && !f.Archived && state != "draft"}
	var list domain.List[domain.Plan]
	if problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		code = http.StatusBadRequest
	} else {
		var err error
		if list, err = s.Reader.Plans(c, f); err != nil {
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
	p.Bar.Label, p.Bar.Example = c.T("Filter plans"), c.T("name, tool:http, agent:…, owner:…, label.env=prod")
	p.Bar.Keep("state", state)
	p.Bar.Chips = []kit.Link{{Text: c.T("In use"), Href: at("", "", ""), Current: state != "archived" && state != "draft" && !f.Paused},
		{Text: c.T("Paused"), Href: at("", "", "paused"), Current: f.Paused}, {Text: c.T("Drafts"), Href: at("", "", "draft"),
			Current: state == "draft"}, {Text: c.T("Archived"), Href: at("", "", "archived"), Current: f.Archived}}
	if state == "draft" && problem == nil {
		var err error
		if p.Drafts, err = s.draftRows(c, q); err != nil {
			return err
		}
	}
	for _, pl := range list.Items {
		if state == "draft" {
			if has, err := s.hasDraft(c, pl); err != nil {
				return err
			} else if has {
				continue // already listed as a draft
			}
		}
		row := PlanRow{Key: pl.Key, Href: link.Plan(pl.Key), Name: kit.Escape(pl.Name), Version: fmt.Sprintf("v%d", pl.Latest),
			Updated: c.Time(pl.UpdatedAt), Paused: pl.Paused != nil}
		if row.Name == row.Key {
			row.Name = ""
		}
		stats, err := s.planStats(c, pl.Key)
		if err != nil {
			return err
		}
		row.Stats = stats
		if err := s.setAuthors(c, &row, pl); err != nil {
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
	return c.Render(code, Plans(p))
}

// setAuthors fills in the owner of a plan, and who saved its current version and when.
func (s *section) setAuthors(c *ui.Context, row *PlanRow, pl domain.Plan) error {
	v, err := s.Reader.VersionByHash(c, pl.LatestHash)
	if err != nil {
		return err
	}
	row.Author, row.Updated = kit.Escape(v.Author), c.Time(v.CreatedAt)
	facts, err := s.Reader.PlanFacts(c, pl.Key)
	if err != nil {
		return err
	}
	for _, f := range facts {
		switch f.Kind {
		case domain.FactOwner:
			row.Owner = factLink(f)
			row.Owner.Text = kit.Escape(f.Value)
		case domain.FactLabel:
			if len(row.Labels) < 3 {
				row.Labels = append(row.Labels, factLink(f))
			}
		}
	}
	return nil
}
