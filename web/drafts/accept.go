package drafts

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// acceptPage serves the confirmation page for accepting a draft's plan. It shows the plan, its
// permissions, its open problems, and the audit event that the acceptance will record.
func (s *section) acceptPage(c *ui.Context) error {
	d, err := s.loadDraft(c)
	if err != nil {
		return err
	}
	if d.State != domain.DraftReady {
		return c.Echo.Redirect(http.StatusSeeOther, pathOf(d))
	}
	pl, v, err := s.made(c, d)
	if err != nil {
		return err
	}
	if kind := c.Query("alternative"); kind != "" {
		return s.acceptAlternativePage(c, d, v, kind)
	}
	var shown DraftPage
	if err := s.draftedPlan(c, &shown, pl, v, d.Query+"\n"+d.Change); err != nil {
		return err
	}
	program, err := s.Engine.Program(c, domain.AsWritten(d.Hash))
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, kit.Confirm(acceptConfirm(c, d, &shown, pl, v, program)))
}

// acceptConfirm returns the page that confirms the acceptance of a draft.
func acceptConfirm(c *ui.Context, d domain.Draft, shown *DraftPage, pl domain.Plan, v domain.Version,
	program *walk.Program) kit.ConfirmPage {
	at := pathOf(d)
	p := kit.ConfirmPage{Crumbs: crumbs(c, c.T("Draft")+" "+shown.Version, at), Post: at + "/accept", Back: at,
		Idem: kit.NewID(), Action: "accept", Heading: c.T("Accept as %s", shown.Version), Checks: shown.Assumed,
		Text: c.T("This version becomes active: from then on, runs of it can be started. Accepting it starts none.")}
	fact := func(term, text string) {
		if text != "" {
			p.Facts = append(p.Facts, kit.Fact{Term: term, Text: text})
		}
	}
	fact(c.T("Plan"), shown.Name+" ("+pl.Key+")")
	fact(c.T("Version"), shown.Version)
	p.Facts = append(p.Facts, kit.Fact{Term: c.T("Digest"), Text: v.Hash, Mono: true})
	fact(c.T("Graph"), graphInWords(c, program))
	agents, tools := usedIn(program)
	fact(c.T("Agents"), strings.Join(agents, ", "))
	fact(c.T("Tools"), strings.Join(tools, ", "))
	fact(c.T("Recorded in the audit log"),
		c.T("%s accepts draft %s: the request, the model, the plan, its version and digest, and the reason below",
			kit.Escape(c.Principal.Name),
			d.ID))
	var unsafe []string
	for _, s := range shown.Steps {
		if s.Unsafe {
			unsafe = append(unsafe, s.ID+": "+s.Action)
		}
	}
	p.List(c.N(len(unsafe), "%s step cannot be repeated", "%s steps cannot be repeated"), unsafe)
	p.Problems = shown.Problems
	p.List(c.T("Tools and models that it may not use"), shown.Unusable)
	p.Shell = c.Shell("plans", p.Heading)
	return p
}

// acceptAlternativePage serves the confirmation page for accepting an alternative instead of the
// plan of a draft. The alternative is stored only when it is accepted.
func (s *section) acceptAlternativePage(c *ui.Context, d domain.Draft, v domain.Version, kind string) error {
	at := pathOf(d)
	list := alternativesOf(c, v)
	i := slices.IndexFunc(list, func(a DraftAlternative) bool { return a.Kind == kind })
	if i < 0 {
		return domain.Errorf(domain.CodeNotFound, "the plan has no alternative %q", kind)
	}
	a := list[i]
	p := kit.ConfirmPage{Crumbs: crumbs(c, c.T("Draft"), at), Post: at + "/accept", Back: at, Idem: kit.NewID(), Action: "accept",
		Alternative: kind, Heading: c.T("Accept the alternative"),
		Text: c.T("The alternative becomes a version of the plan and replaces v%d. Accepting it starts no run.", v.Number),
		Facts: []kit.Fact{
			{Term: c.T("Plan"), Text: d.Plan.Key},
			{Term: c.T("Alternative"), Text: a.Name},
			{Term: c.T("Steps"), Text: a.Steps},
			{Term: c.T("Tokens"), Text: a.Tokens},
			{Term: c.T("Estimated time"), Text: a.Took},
			{Term: c.T("Recorded in the audit log"),
				Text: c.T("%s accepts draft %s: the request, the model, the plan, its version and digest, and the reason below",
					kit.Escape(c.Principal.Name), d.ID)},
		}}
	p.Shell = c.Shell("plans", p.Heading)
	return c.Render(http.StatusOK, kit.Confirm(p))
}

// graphInWords describes the size and the shape of a plan's graph.
func graphInWords(c *ui.Context, p *walk.Program) string {
	links := 0
	for i := range p.Nodes {
		links += len(p.Nodes[i].Out) + len(p.Nodes[i].Needs)
	}
	var first []string
	for _, i := range p.Roots {
		first = append(first, kit.Escape(p.Nodes[i].ID))
	}
	return fmt.Sprintf("%s, %s, %s", c.N(len(p.Nodes), "%s step", "%s steps"), c.N(links, "%s connection", "%s connections"),
		c.T("beginning with %s", kit.Truncate(strings.Join(first, ", "), 120)))
}

// usedIn returns the agents and tools that a plan uses.
func usedIn(p *walk.Program) (agents, tools []string) {
	for i := range p.Nodes {
		if a := p.Nodes[i].Agent; a != "" {
			agents = append(agents, kit.Escape(a))
		}
		if t := p.Nodes[i].Tool; t != "" {
			tools = append(tools, kit.Escape(t))
		}
	}
	slices.Sort(agents)
	slices.Sort(tools)
	return slices.Compact(agents), slices.Compact(tools)
}

// discardPage serves the confirmation page for discarding a draft.
func (s *section) discardPage(c *ui.Context) error {
	d, err := s.loadDraft(c)
	if err != nil {
		return err
	}
	at := pathOf(d)
	if !d.State.Open() {
		return c.Echo.Redirect(http.StatusSeeOther, at)
	}
	p := kit.ConfirmPage{Crumbs: crumbs(c, c.T("Draft"), at), Post: at + "/discard", Back: at, Idem: kit.NewID(),
		Action: "discard", Heading: c.T("Discard the draft"), Danger: true,
		Text:  c.T("You can no longer accept or start it. It stays in the audit log and in the history of drafts."),
		Facts: []kit.Fact{{Term: c.T("Request"), Text: kit.Escape(kit.Truncate(d.Query, 400))}}}
	if d.State == domain.DraftPlanning {
		p.Heading = c.T("Stop planning and discard")
	}
	if d.Plan.Key != "" {
		p.Facts = append(p.Facts, kit.Fact{Term: c.T("Plan"), Text: kit.Escape(d.Plan.Key), Href: "/plans/" + url.PathEscape(d.Plan.Key)})
	}
	p.Shell = c.Shell("plans", p.Heading)
	return c.Render(http.StatusOK, kit.Confirm(p))
}

// acceptReason returns the reason for the audit log. It consists of the typed reason, the request,
// and the number of assumptions that the user checked.
func acceptReason(c *ui.Context, d domain.Draft, number int) string {
	why := c.T("v%d, made of: %s", number, kit.Truncate(d.Query, 400))
	if reason := strings.TrimSpace(c.Field("reason")); reason != "" {
		why = kit.Truncate(reason, 500) + " · " + why
	}
	if n := c.Field("checks"); n != "" {
		why += " · " + c.T("%d of %s assumptions ticked", len(c.Echo.Request().Form["ok"]), n)
	}
	return why
}

// acceptDraft handles the form of a draft. It accepts the version that the form showed and starts a
// run of it if requested, or only starts a dry run.
func (s *section) acceptDraft(c *ui.Context) error {
	d, err := s.loadDraft(c)
	if err != nil {
		return err
	}
	if d.Hash == "" || d.State != domain.DraftReady && d.State != domain.DraftAccepted {
		return s.showDraft(c, http.StatusConflict, d, domain.Errorf(domain.CodeConflict, "there is no plan to accept"))
	}
	pl, v, err := s.made(c, d)
	if err != nil {
		return err
	}
	do, request := c.Field("do"), strings.ReplaceAll(c.Field("intent"), "\r\n", "\n")
	if do == "try" {
		return s.startDrafted(c, pl, v, request, true)
	}
	if _, err := s.App.Drafts.Accept(c, acceptance(c, d, v.Number, do)); err != nil {
		return s.conflicting(c, d, err)
	}
	if do == "start" {
		return s.startDrafted(c, pl, v, request, false)
	}
	return c.RedirectTo(link.Plan(pl.Key))
}

// acceptance is the request of the form. It has no idempotency key: accepting an accepted draft
// returns it unchanged, and the reason contains the version number, which differs after an
// alternative was accepted.
func acceptance(c *ui.Context, d domain.Draft, version int, do string) app.DraftAcceptance {
	accept := app.DraftAcceptance{
		Meta:            app.Meta{By: c.Principal.Actor()},
		Draft:           d.ID,
		DraftAcceptance: domain.DraftAcceptance{Reason: acceptReason(c, d, version)},
	}
	if do != "start" {
		accept.Alternative = c.Field("alternative")
	}
	return accept
}

// conflicting renders a draft that has changed since the form was made. It returns errors other
// than conflicts.
func (s *section) conflicting(c *ui.Context, d domain.Draft, err error) error {
	if domain.CodeOf(err) != domain.CodeConflict {
		return err
	}
	now, readErr := s.App.Drafts.Get(c, c.Principal.Actor(), d.ID)
	if readErr != nil {
		return readErr
	}
	return s.showDraft(c, http.StatusConflict, now, err)
}

func (s *section) discardDraft(c *ui.Context) error {
	d, err := s.loadDraft(c)
	if err != nil {
		return err
	}
	discard := app.DraftChange{Meta: c.Meta(), Draft: d.ID, Reason: strings.TrimSpace(c.Field("reason"))}
	if _, err := s.App.Drafts.Discard(c, discard); err != nil {
		return s.conflicting(c, d, err)
	}
	return c.RedirectTo("/plans?state=draft")
}

// startDrafted starts a run of the version that was shown. A dry run has no side effects and is not
// listed.
func (s *section) startDrafted(c *ui.Context, pl domain.Plan, v domain.Version, request string, dry bool) error {
	input, err := jsonvalue.Encode(request)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the request: %w", err)
	}
	act, req := "", domain.StartRequest{Plan: pl.ID, Hash: v.Hash, Input: input, Origin: "ask"}
	if dry {
		req.Dry, req.Labels = true, map[string]string{"draft": "yes"}
		act = ":try"
	}
	m := c.Meta()
	if m.Key != "" {
		m.Key += act
	}
	run, err := s.App.Runs.Start(c, app.StartRequest{Meta: m, StartRequest: req})
	if err != nil {
		return err
	}
	return c.RedirectTo("/runs/" + run.ID)
}

// crumbs is the trail to a draft.
func crumbs(c *ui.Context, text, at string) kit.Crumbs {
	return kit.CrumbsOf(kit.Link{Text: c.T("Plans"), Href: "/plans"}, kit.Link{Text: c.T("Drafts"), Href: "/plans?state=draft"},
		kit.Link{Text: text, Href: at})
}
