package find

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// findMax is how many hits of one kind are listed.
	findMax = 12
	// findPlans is how many plans are searched for a step's name.
	findPlans = 50
)

// find jumps to what a text names: a run by its id's beginning or end, a plan, a
// step, an agent, a tool or a provider. Of several, the reader chooses.
func (s *section) find(c *ui.Context) error {
	q := strings.TrimSpace(c.Query("q"))
	if q == "" {
		return c.Echo.Redirect(http.StatusSeeOther, "/runs")
	}
	run, err := s.Reader.FindRun(c, q)
	switch domain.CodeOf(err) {
	case "":
		return c.Echo.Redirect(http.StatusSeeOther, "/runs/"+run.ID)
	case domain.CodeNotFound, domain.CodeConflict, domain.CodeInvalid:
	default:
		return err
	}
	if p, err := s.Reader.Plan(c, q); err == nil {
		return c.Echo.Redirect(http.StatusSeeOther, "/plans/"+url.PathEscape(p.Key))
	} else if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	p := FindPage{Shell: c.Shell("", "Jump to"), Query: q}
	if err := s.hits(c, &p, q); err != nil {
		return err
	}
	var all []kit.Link
	for _, k := range p.Kinds {
		all = append(all, k.Hits...)
	}
	if len(all) == 1 && len(p.Runs) == 0 {
		return c.Echo.Redirect(http.StatusSeeOther, all[0].Href)
	}
	p.Headlines = kit.Link{
		Text: c.T("Runs whose status message contains %s", kit.Visible(q)),
		Href: link.List("/runs", "text:"+filter.Quote(q)),
	}
	return c.Render(http.StatusOK, Find(p))
}

// hits are what contains a text in its name, by kind.
func (s *section) hits(c *ui.Context, p *FindPage, q string) error {
	if len(q) >= 4 && !strings.ContainsAny(q, " :\"") {
		list, err := s.Reader.Runs(c, domain.RunFilter{IDTail: strings.ToLower(q), Page: domain.Page{Limit: findMax}})
		if err != nil {
			return err
		}
		p.Runs = s.rows.Of(c, list.Items)
	}
	add := func(title string, hits []kit.Link) {
		if len(hits) > 0 {
			p.Kinds = append(p.Kinds, FindKind{Title: title, Hits: hits[:min(len(hits), findMax)]})
		}
	}
	plans, err := s.Reader.Plans(c, domain.PlanFilter{Text: q, Page: domain.Page{Limit: findMax}})
	if err != nil {
		return err
	}
	var found []kit.Link
	for _, plan := range plans.Items {
		found = append(
			found,
			kit.Link{Text: kit.Visible(plan.Key), Count: kit.Visible(plan.Name), Href: "/plans/" + url.PathEscape(plan.Key)},
		)
	}
	add(c.T("Plans"), found)
	steps, err := s.stepsNamed(c, q)
	if err != nil {
		return err
	}
	add(c.T("Steps"), steps)
	for _, k := range []struct{ kind, title, path string }{{domain.UseAgent, c.T("Agents"), "/agents/agents/"}, {domain.UseTool, c.T("Tools"), "/agents/tools/"}, {domain.UseProvider, c.T("Providers"), ""}} {
		var hits []kit.Link
		names, err := query.CatalogNames(c, k.kind)
		if err != nil {
			return err
		}
		for _, n := range names {
			if contains(n, q) {
				l := kit.Link{Text: kit.Visible(n), Href: k.path + url.PathEscape(n)}
				if k.path == "" {
					l.Href = "/agents/providers"
				}
				hits = append(hits, l)
			}
		}
		add(k.title, hits)
	}
	return nil
}

// stepsNamed are steps of the newest versions of plans whose name contains a
// text.
func (s *section) stepsNamed(c *ui.Context, q string) ([]kit.Link, error) {
	plans, err := s.Reader.Plans(c, domain.PlanFilter{Page: domain.Page{Limit: findPlans}})
	if err != nil {
		return nil, err
	}
	var out []kit.Link
	for _, plan := range plans.Items {
		program, err := s.Programs.Program(c, plan.LatestHash)
		if err != nil { // a plan that no longer compiles is not what is looked for
			continue
		}
		for _, n := range program.Nodes {
			if contains(n.ID, q) && len(out) <= findMax {
				out = append(
					out,
					kit.Link{
						Text:  kit.Visible(n.ID),
						Count: kit.Visible(plan.Key),
						Href:  link.List("/runs", "plan:"+filter.Quote(plan.Key)+" step:"+filter.Quote(n.ID)),
					},
				)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b kit.Link) int { return len(a.Text) - len(b.Text) }) // the nearest to the text first
	return out, nil
}

// contains reports whether a name contains a text, in any case.
func contains(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(text))
}
