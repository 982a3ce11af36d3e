package find

import (
	"cmp"
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
	// findMax is the maximum number of results of each kind.
	findMax = 12
	// findPlans is the number of plans whose steps are searched.
	findPlans = 50
	// recentRuns is the number of runs shown without a text.
	recentRuns = 6
)

// find redirects to the object that a text names: a run by the beginning or end of its ID, a plan,
// a step, an agent, a tool, or a provider. If several match, it lists them. Without a text, it
// lists the newest runs and the actions.
func (s *section) find(c *ui.Context) error {
	q := strings.TrimSpace(c.Query("q"))
	if q != "" {
		if to, err := s.named(c, q); to != "" || err != nil {
			if err != nil {
				return err
			}
			return c.Echo.Redirect(http.StatusSeeOther, to)
		}
	}
	p := FindPage{Shell: c.Shell("find", "Jump to"), Query: q}
	if err := s.search(c, &p, q); err != nil {
		return err
	}
	if len(p.Runs) == 0 && len(p.Kinds) == 1 && len(p.Kinds[0].Hits) == 1 && q != "" && !p.Kinds[0].Actions {
		return c.Echo.Redirect(http.StatusSeeOther, p.Kinds[0].Hits[0].Href)
	}
	if q != "" {
		p.Headlines = kit.Link{
			Text: c.T("Runs whose status message contains %s", kit.Escape(q)),
			Href: link.List("/runs", "text:"+filter.Quote(q)),
		}
	}
	return c.Render(http.StatusOK, Find(p))
}

// named returns the address of the run or plan with exactly this name, or "".
func (s *section) named(c *ui.Context, q string) (string, error) {
	run, err := s.Reader.FindRun(c, q)
	switch domain.CodeOf(err) {
	case "":
		return "/runs/" + run.ID, nil
	case domain.CodeNotFound, domain.CodeConflict, domain.CodeInvalid:
	default:
		return "", err
	}
	p, err := s.Reader.Plan(c, q)
	switch domain.CodeOf(err) {
	case "":
		return "/plans/" + url.PathEscape(p.Key), nil
	case domain.CodeNotFound:
		return "", nil
	}
	return "", err
}

// maxKindSuggestions is the maximum number of suggestions of the jump box.
const maxKindSuggestions = 12

// suggest renders the suggestions of the jump box for a text.
func (s *section) suggest(c *ui.Context) error {
	var p FindPage
	if err := s.search(c, &p, strings.TrimSpace(c.Query("q"))); err != nil {
		return err
	}
	var out []Suggestion
	for _, k := range p.Kinds {
		if k.Actions {
			out = append(out, suggestions(k)...)
		}
	}
	for _, r := range p.Runs {
		l := kit.Link{Text: r.Plan + " " + r.Short, Count: r.Headline, Href: r.Href, Icon: r.Status.Icon, Class: r.Status.Key}
		out = append(out, Suggestion{l, c.T("Run")})
	}
	for _, k := range p.Kinds {
		if !k.Actions {
			out = append(out, suggestions(k)...)
		}
	}
	if c.Query("q") == "" { // newest runs first
		slices.SortStableFunc(out, func(a, b Suggestion) int { return cmp.Compare(len(b.Class), len(a.Class)) })
	}
	return c.Render(http.StatusOK, Suggestions(out[:min(len(out), maxKindSuggestions)]))
}

func suggestions(k FindKind) []Suggestion {
	out := make([]Suggestion, len(k.Hits))
	for i, h := range k.Hits {
		out[i] = Suggestion{h, k.One}
	}
	return out
}

// search adds the matches of a text to the page.
func (s *section) search(c *ui.Context, p *FindPage, q string) error {
	actions, err := s.actions(c, q)
	if err != nil {
		return err
	}
	if len(actions) > 0 {
		p.Kinds = append(p.Kinds, FindKind{Title: c.T("Actions"), One: c.T("Action"), Actions: true, Hits: actions})
	}
	if q == "" {
		newest, err := s.Reader.Runs(c, domain.RunFilter{Page: domain.Page{Limit: recentRuns}})
		p.Runs = s.rows.Of(c, newest.Items)
		return err
	}
	return s.hits(c, p, q)
}

// hits adds the objects whose names contain a text, by kind.
func (s *section) hits(c *ui.Context, p *FindPage, q string) error {
	if len(q) >= 4 && !strings.ContainsAny(q, " :\"") {
		list, err := s.Reader.Runs(c, domain.RunFilter{IDTail: strings.ToLower(q), Page: domain.Page{Limit: findMax}})
		if err != nil {
			return err
		}
		p.Runs = s.rows.Of(c, list.Items)
	}
	add := func(title, one, icon string, hits []kit.Link) {
		for i := range hits {
			hits[i].Icon = icon
		}
		if len(hits) > 0 {
			p.Kinds = append(p.Kinds, FindKind{Title: title, One: one, Hits: hits[:min(len(hits), findMax)]})
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
			kit.Link{Text: kit.Escape(plan.Key), Count: kit.Escape(plan.Name), Href: "/plans/" + url.PathEscape(plan.Key)},
		)
	}
	add(c.T("Plans"), c.T("Plan"), "i-plan", found)
	steps, err := s.stepsNamed(c, q)
	if err != nil {
		return err
	}
	add(c.T("Steps"), c.T("Step"), "i-branch", steps)
	for _, k := range []struct{ kind, title, one, path, icon string }{
		{domain.UseAgent, c.T("Agents"), c.T("Agent"), "/agents/agents/", "i-agent"},
		{domain.UseTool, c.T("Tools"), c.T("Tool"), "/agents/tools/", "i-tool"},
		{domain.UseProvider, c.T("Providers"), c.T("Provider"), "", "i-bolt"},
	} {
		var hits []kit.Link
		names, err := query.CatalogNames(c, k.kind)
		if err != nil {
			return err
		}
		for _, n := range names {
			if contains(n, q) {
				l := kit.Link{Text: kit.Escape(n), Href: k.path + url.PathEscape(n)}
				if k.path == "" {
					l.Href = "/agents/providers"
				}
				hits = append(hits, l)
			}
		}
		add(k.title, k.one, k.icon, hits)
	}
	return nil
}

// stepsNamed returns the steps whose names contain a text, in the latest versions of plans.
func (s *section) stepsNamed(c *ui.Context, q string) ([]kit.Link, error) {
	plans, err := s.Reader.Plans(c, domain.PlanFilter{Page: domain.Page{Limit: findPlans}})
	if err != nil {
		return nil, err
	}
	var out []kit.Link
	for _, plan := range plans.Items {
		program, err := s.Programs.Program(c, domain.AsWritten(plan.LatestHash))
		if err != nil { // skip a plan that no longer compiles
			continue
		}
		for _, n := range program.Nodes {
			if contains(n.ID, q) && len(out) <= findMax {
				out = append(
					out,
					kit.Link{
						Text:  kit.Escape(n.ID),
						Count: kit.Escape(plan.Key),
						Href:  link.List("/runs", "plan:"+filter.Quote(plan.Key)+" step:"+filter.Quote(n.ID)),
					},
				)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b kit.Link) int { return len(a.Text) - len(b.Text) }) // closest match first
	return out, nil
}

// contains reports whether a name contains a text, ignoring case.
func contains(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(text))
}
