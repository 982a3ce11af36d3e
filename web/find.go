package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// findMax is how many hits of one kind are listed.
	findMax = 12
	// findPlans is how many plans are searched for a step's name.
	findPlans = 50
)

// find jumps to what a text names: a run by its id's beginning or end, a plan, a
// step, an agent, a tool or a provider. Of several, the reader chooses.
func (r *request) find() error {
	q := strings.TrimSpace(r.c.QueryParam("q"))
	if q == "" {
		return r.c.Redirect(http.StatusSeeOther, "/runs")
	}
	run, err := r.s.Reader.FindRun(r.ctx, q)
	switch domain.CodeOf(err) {
	case "":
		return r.c.Redirect(http.StatusSeeOther, "/runs/"+run.ID)
	case domain.CodeNotFound, domain.CodeConflict, domain.CodeInvalid:
	default:
		return err
	}
	if p, err := r.s.Reader.Plan(r.ctx, q); err == nil {
		return r.c.Redirect(http.StatusSeeOther, "/plans/"+url.PathEscape(p.Key))
	} else if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	p := view.FindPage{Shell: r.shell("", "Jump to"), Query: q}
	if err := r.hits(&p, q); err != nil {
		return err
	}
	var all []view.Link
	for _, k := range p.Kinds {
		all = append(all, k.Hits...)
	}
	if len(all) == 1 && len(p.Runs) == 0 {
		return r.c.Redirect(http.StatusSeeOther, all[0].Href)
	}
	p.Headlines = view.Link{Text: r.t("Runs whose headline says %s", visible(q)), Href: listAt("/runs", "text:"+filter.Quote(q))}
	return r.render(http.StatusOK, view.Find(p))
}

// hits are what contains a text in its name, by kind.
func (r *request) hits(p *view.FindPage, q string) error {
	if len(q) >= 4 && !strings.ContainsAny(q, " :\"") {
		list, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{IDTail: strings.ToLower(q), Page: domain.Page{Limit: findMax}})
		if err != nil {
			return err
		}
		p.Runs = r.runRows(list.Items)
	}
	add := func(title string, hits []view.Link) {
		if len(hits) > 0 {
			p.Kinds = append(p.Kinds, view.FindKind{Title: title, Hits: hits[:min(len(hits), findMax)]})
		}
	}
	plans, err := r.s.Reader.Plans(r.ctx, domain.PlanFilter{Text: q, Page: domain.Page{Limit: findMax}})
	if err != nil {
		return err
	}
	var found []view.Link
	for _, plan := range plans.Items {
		found = append(found, view.Link{Text: visible(plan.Key), Count: visible(plan.Name), Href: "/plans/" + url.PathEscape(plan.Key)})
	}
	add(r.t("Plans"), found)
	steps, err := r.stepsNamed(q)
	if err != nil {
		return err
	}
	add(r.t("Steps"), steps)
	for _, k := range []struct{ kind, title, path string }{{domain.UseAgent, r.t("Agents"), "/agents/agents/"}, {domain.UseTool, r.t("Tools"), "/agents/tools/"}, {domain.UseProvider, r.t("Providers"), ""}} {
		var hits []view.Link
		if err := r.crewNames(k.kind, func(names ...string) {
			for _, n := range names {
				if contains(n, q) {
					l := view.Link{Text: visible(n), Href: k.path + url.PathEscape(n)}
					if k.path == "" {
						l.Href = "/agents/providers"
					}
					hits = append(hits, l)
				}
			}
		}); err != nil {
			return err
		}
		add(k.title, hits)
	}
	return nil
}

// stepsNamed are steps of the newest versions of plans whose name contains a
// text.
func (r *request) stepsNamed(q string) ([]view.Link, error) {
	plans, err := r.s.Reader.Plans(r.ctx, domain.PlanFilter{Page: domain.Page{Limit: findPlans}})
	if err != nil {
		return nil, err
	}
	var out []view.Link
	for _, plan := range plans.Items {
		program, err := r.s.Engine.Program(r.ctx, plan.LatestHash)
		if err != nil { // a plan that no longer compiles is not what is looked for
			continue
		}
		for _, n := range program.Nodes {
			if contains(n.ID, q) && len(out) <= findMax {
				out = append(out, view.Link{Text: visible(n.ID), Count: visible(plan.Key), Href: listAt("/runs", "plan:"+filter.Quote(plan.Key)+" step:"+filter.Quote(n.ID))})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b view.Link) int { return len(a.Text) - len(b.Text) }) // the nearest to the text first
	return out, nil
}

// contains reports whether a name contains a text, in any case.
func contains(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(text))
}
