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
	"github.com/kairosd/kairosd/web/part/incoming"
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
	f, problem := filter.ParsePlans(q)
	f.Page, f.Archived, f.Paused, f.Stage = c.Page(), state == "archived", state == "paused", domain.PlansUsed
	switch state {
	case "archived":
		f.Stage = ""
	case "draft":
		f.Stage = string(domain.StageDraft)
	}
	f.Page.Limit = cmp.Or(f.Page.Limit, plansPage)
	p := PlansPage{Shell: c.Shell("plans", "Plans"), Tabs: incoming.Tabs(c, incoming.Plans), Bar: planBar(c, q, state), State: state,
		CanWrite: c.Principal.Role.Includes(domain.RoleAuthor), Example: exampleAt(firstExample),
		CanStart: c.Principal.Role.Includes(domain.RoleOperator) && !f.Archived && state != "draft"}
	if problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		return c.Render(http.StatusBadRequest, Plans(p))
	}
	if err := s.addPlans(c, &p, f, q); err != nil {
		return err
	}
	return c.Render(http.StatusOK, Plans(p))
}

// planBar returns the filter, with a chip for each state.
func planBar(c *ui.Context, q, state string) query.Bar {
	bar := query.BarOf("/plans", q)
	bar.Label, bar.Example = c.T("Filter plans"), c.T("name, tool:http, agent:…, owner:…, label.env=prod")
	bar.Keep("state", state)
	bar.Chips = []kit.Link{
		{Text: c.T("In use"), Href: plansAt(q, ""), Current: state != "archived" && state != "draft" && state != "paused"},
		{Text: c.T("Paused"), Href: plansAt(q, "paused"), Current: state == "paused"},
		{Text: c.T("Drafts"), Href: plansAt(q, "draft"), Current: state == "draft"},
		{Text: c.T("Archived"), Href: plansAt(q, "archived"), Current: state == "archived"},
	}
	return bar
}

// plansAt returns the address of the list with a filter and a state.
func plansAt(q, state string) string { return link.With("/plans", nil, "q", q, "state", state) }

// addPlans adds the rows of the list, and the links to other pages.
func (s *section) addPlans(c *ui.Context, p *PlansPage, f domain.PlanFilter, q string) (err error) {
	list, err := s.Reader.Plans(c, f)
	if err != nil {
		return err
	}
	if p.State == "draft" {
		if p.Drafts, err = s.draftRows(c, q); err != nil {
			return err
		}
	}
	for _, pl := range list.Items {
		if p.State == "draft" {
			if has, err := hasDraft(c, s.App.Drafts, pl); err != nil {
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
		if row.Stats, err = s.planStats(c, pl.Key); err != nil {
			return err
		}
		if err := s.setAuthors(c, &row, pl); err != nil {
			return err
		}
		if p.State == "draft" {
			row.Href = fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(pl.Key), pl.Latest)
		}
		p.Rows = append(p.Rows, row)
	}
	if list.Prev != "" {
		p.Newer = link.With("/plans", nil, "q", q, "state", p.State, "before", list.Prev)
	}
	if list.Next != "" {
		p.Older = link.With("/plans", nil, "q", q, "state", p.State, "after", list.Next)
	}
	return nil
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
