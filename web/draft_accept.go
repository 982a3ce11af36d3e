package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/view"
)

// acceptPage asks before the plan of a draft is taken into use: what is stored, what
// it may do, what is still open about it, and what is written down.
func (r *request) acceptPage() error {
	d, err := r.theDraft()
	if err != nil {
		return err
	}
	at := "/plans/drafts/" + d.ID
	if d.State != domain.DraftReady {
		return r.c.Redirect(http.StatusSeeOther, at)
	}
	v, err := r.s.Reader.VersionByHash(r.ctx, d.Hash)
	if err != nil {
		return err
	}
	pl, err := r.s.Reader.Plan(r.ctx, v.PlanID)
	if err != nil {
		return err
	}
	kind := r.c.QueryParam("alternative")
	if kind != "" {
		return r.acceptAlternativePage(d, v, kind)
	}
	var shown view.DraftPage
	if err := r.draftedPlan(&shown, pl, v, d.Query+"\n"+d.Change); err != nil {
		return err
	}
	program, err := r.s.Engine.Program(r.ctx, d.Hash)
	if err != nil {
		return err
	}
	p := view.ConfirmPage{Crumb: view.Link{Text: r.t("Draft") + " " + shown.Version, Href: at}, Post: at + "/accept", Back: at, Idem: newID(), Do: "accept", Heading: r.t("Accept as %s", shown.Version), Checks: shown.Assumed,
		Says: r.t("Exactly this version is taken into use: from then on runs of it can be started. Accepting it starts none.")}
	fact := func(term, text string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: term, Text: text})
		}
	}
	fact(r.t("Plan"), shown.Name+" ("+pl.Key+")")
	fact(r.t("Version"), shown.Version)
	p.Facts = append(p.Facts, view.Fact{Term: r.t("Digest"), Text: v.Hash, Mono: true})
	fact(r.t("Graph"), r.graphInWords(program))
	agents, tools := usedIn(program)
	fact(r.t("Agents"), strings.Join(agents, ", "))
	fact(r.t("Tools"), strings.Join(tools, ", "))
	fact(r.t("Goes to the audit log"), r.t("%s accepts draft %s: the request, the model, the plan, its version and digest, and the reason below", visible(r.who.Name), d.ID))
	var unsafe []string
	for _, s := range shown.Steps {
		if s.Unsafe {
			unsafe = append(unsafe, s.ID+": "+s.Does)
		}
	}
	p.List(r.n(len(unsafe), "%s step cannot be repeated", "%s steps cannot be repeated"), unsafe)
	p.Problems = shown.Problems
	p.List(r.t("What it may not use"), shown.Unusable)
	p.Shell = r.shell("plans", p.Heading)
	return r.render(http.StatusOK, view.Confirm(p))
}

// acceptAlternativePage asks before an alternative is taken into use instead of the
// plan of a draft: it is stored only with that.
func (r *request) acceptAlternativePage(d domain.Draft, v domain.Version, kind string) error {
	at := "/plans/drafts/" + d.ID
	list := r.alternatives(v)
	i := slices.IndexFunc(list, func(a view.DraftAlternative) bool { return a.Kind == kind })
	if i < 0 {
		return domain.Errorf(domain.CodeNotFound, "the plan has no alternative %q", kind)
	}
	a := list[i]
	p := view.ConfirmPage{Crumb: view.Link{Text: r.t("Draft"), Href: at}, Post: at + "/accept", Back: at, Idem: newID(), Do: "accept", Alternative: kind, Heading: r.t("Accept the alternative"),
		Says: r.t("The alternative becomes a version of the plan and is taken into use instead of v%d. Accepting it starts no run.", v.Number),
		Facts: []view.Fact{{Term: r.t("Plan"), Text: d.Plan}, {Term: r.t("Alternative"), Text: a.Name}, {Term: r.t("Steps"), Text: a.Steps}, {Term: r.t("Tokens"), Text: a.Tokens}, {Term: r.t("Estimated time"), Text: a.Took},
			{Term: r.t("Goes to the audit log"), Text: r.t("%s accepts draft %s: the request, the model, the plan, its version and digest, and the reason below", visible(r.who.Name), d.ID)}}}
	p.Shell = r.shell("plans", p.Heading)
	return r.render(http.StatusOK, view.Confirm(p))
}

// graphInWords says what there is to see of a plan's graph.
func (r *request) graphInWords(p *walk.Program) string {
	links := 0
	for i := range p.Nodes {
		links += len(p.Nodes[i].Out) + len(p.Nodes[i].Needs)
	}
	var first []string
	for _, i := range p.Roots {
		first = append(first, visible(p.Nodes[i].ID))
	}
	return fmt.Sprintf("%s, %s, %s", r.n(len(p.Nodes), "%s step", "%s steps"), r.n(links, "%s connection", "%s connections"), r.t("beginning with %s", cut(strings.Join(first, ", "), 120)))
}

// usedIn are the agents and tools that a plan names.
func usedIn(p *walk.Program) (agents, tools []string) {
	for i := range p.Nodes {
		if a := p.Nodes[i].Agent; a != "" {
			agents = append(agents, visible(a))
		}
		if t := p.Nodes[i].Tool; t != "" {
			tools = append(tools, visible(t))
		}
	}
	slices.Sort(agents)
	slices.Sort(tools)
	return slices.Compact(agents), slices.Compact(tools)
}

// discardPage asks before a draft is put aside.
func (r *request) discardPage() error {
	d, err := r.theDraft()
	if err != nil {
		return err
	}
	at := "/plans/drafts/" + d.ID
	if !d.State.Open() {
		return r.c.Redirect(http.StatusSeeOther, at)
	}
	p := view.ConfirmPage{Crumb: view.Link{Text: r.t("Draft"), Href: at}, Post: at + "/discard", Back: at, Idem: newID(), Do: "discard", Heading: r.t("Discard the draft"), Danger: true,
		Says: r.t("Nothing of it can be accepted or started any more. It stays in the audit log and in the history of drafts."), Facts: []view.Fact{{Term: r.t("What is wanted"), Text: visible(cut(d.Query, 400))}}}
	if d.State == domain.DraftPlanning {
		p.Heading = r.t("Stop planning and discard")
	}
	if d.Plan != "" {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Plan"), Text: visible(d.Plan), Href: "/plans/" + url.PathEscape(d.Plan)})
	}
	p.Shell = r.shell("plans", p.Heading)
	return r.render(http.StatusOK, view.Confirm(p))
}

// acceptedWhy is why a draft was accepted, as the audit log has it: the reason that
// was typed, what the plan was made of, and how much of what it takes for granted was
// looked at.
func (r *request) acceptedWhy(d domain.Draft, number int) string {
	why := r.t("v%d, made of: %s", number, cut(d.Query, 400))
	if reason := strings.TrimSpace(r.c.FormValue("reason")); reason != "" {
		why = cut(reason, 500) + " · " + why
	}
	if n := r.c.FormValue("checks"); n != "" {
		why += " · " + r.t("%d of %s assumptions ticked", len(r.c.Request().Form["ok"]), n)
	}
	return why
}
