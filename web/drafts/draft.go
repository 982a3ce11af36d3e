package drafts

import (
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// loadDraft returns the draft in the address.
func (s *section) loadDraft(c *ui.Context) (domain.Draft, error) {
	return s.App.Drafts.Get(c, c.Principal.Actor(), c.Param("draft"))
}

// draftPage serves the progress of a draft, or its result.
func (s *section) draftPage(c *ui.Context) error {
	d, err := s.loadDraft(c)
	if err != nil {
		return err
	}
	return s.showDraft(c, http.StatusOK, d, nil)
}

// progress builds the live region with the progress of planning. Once planning has ended, it makes
// the browser reload the page.
func (s *section) progress(c *ui.Context) (templ.Component, error) {
	d, err := s.loadDraft(c)
	if err != nil {
		return nil, err
	}
	if d.State != domain.DraftPlanning {
		c.Echo.Response().Header().Set("HX-Refresh", "true")
		return nil, nil
	}
	return DraftProgress(progressOf(c, d)), nil
}

// favicons are the icons of the page by state.
var favicons = map[domain.DraftState]string{domain.DraftPlanning: "running", domain.DraftReady: "waiting", domain.DraftFailed: "failed"}

func (s *section) showDraft(c *ui.Context, code int, d domain.Draft, refused error) error {
	p := newPage(c, d)
	if refused != nil {
		p.Refused = c.Sentence(refused)
	}
	p.Facts = facts(c, d)
	if d.Error != nil {
		p.Failure = s.failure(c, d)
	}
	if err := s.draftRelatives(c, &p, d); err != nil {
		return err
	}
	if d.Direct != "" {
		p.Reason = d.Reason
	}
	if d.Hash != "" {
		if err := s.draftVersionOf(c, &p, d); err != nil {
			return err
		}
	}
	if p.CanStart && !p.Planning {
		p.Form = s.requestForm(c, d.DraftRequest)
		p.Form.Action, p.Form.Button, p.Form.Refine, p.Form.Idem = pathOf(d)+"/refine", c.T("Make another draft"), true, p.Idem+"-again"
	}
	return c.Render(code, Draft(p))
}

func pathOf(d domain.Draft) string { return "/plans/drafts/" + d.ID }

// newPage returns the page with the fields that come from the draft itself.
func newPage(c *ui.Context, d domain.Draft) DraftPage {
	operator := c.Principal.Role.Includes(domain.RoleOperator)
	st := plan.DraftStatus(d.State)
	p := DraftPage{Shell: c.Shell("plans",
		c.T(st.Word)+" · "+kit.Escape(kit.Truncate(d.Query, 60))), Name: kit.Escape(kit.Truncate(d.Query, 120)),
		ID: d.ID, Status: st, Idem: kit.NewID(), Request: d.Query, Change: kit.Escape(d.Change), CanStart: operator,
		Open: d.State == domain.DraftReady, CanDiscard: operator && d.State.Open(), Planning: d.State == domain.DraftPlanning,
		Progress: progressOf(c, d)}
	p.Favicon = favicons[d.State]
	return p
}

func progressOf(c *ui.Context, d domain.Draft) Progress {
	return Progress{ID: d.ID, Planning: d.State == domain.DraftPlanning, Notes: draftNotes(c, d)}
}

// facts returns who requested a draft, when, and how much planning used.
func facts(c *ui.Context, d domain.Draft) []kit.Fact {
	out := []kit.Fact{{Term: c.T("Requested by"), Text: kit.Escape(d.Actor)}, {Term: c.T("When"), Text: c.Time(d.CreatedAt).Text}}
	if d.Model != "" {
		out = append(out, kit.Fact{Term: c.T("Model"), Text: kit.Escape(d.Model)})
	}
	if u := d.Usage; !u.Zero() {
		out = append(out, kit.Fact{Term: c.T("Planning time"), Text: c.T("%s tokens", c.Number(u.InputTokens+u.OutputTokens))})
	}
	if d.Found {
		out = append(out, kit.Fact{Term: c.T("Planned before"), Text: c.T("The same request was planned before. This is its plan.")})
	}
	return out
}

// failure describes why planning failed. It preselects a provider other than the one that failed,
// if there is one.
func (s *section) failure(c *ui.Context, d domain.Draft) *DraftFailure {
	e := d.Error
	f := &DraftFailure{Message: c.Message(e.Text), Suggestion: c.Message(e.Advice), Code: kit.Escape(e.Code), Rules: e.Violations,
		Answer: kit.Escape(e.Answer), Providers: s.plannerOptions(c, "")}
	for i := range f.Providers {
		f.Providers[i].Selected = false
	}
	if i := slices.IndexFunc(f.Providers, func(o kit.Option) bool {
		return o.Value != "" && !strings.HasPrefix(d.Model,
			o.Value)
	}); i >= 0 {
		f.Providers[i].Selected = true
	}
	return f
}

// made returns the plan and the version that a draft resulted in.
func (s *section) made(c *ui.Context, d domain.Draft) (domain.Plan, domain.Version, error) {
	v, err := s.Reader.VersionByHash(c, d.Hash)
	if err != nil {
		return domain.Plan{}, v, err
	}
	pl, err := s.Reader.Plan(c, v.PlanID)
	return pl, v, err
}

// draftVersionOf fills in the plan that a draft resulted in.
func (s *section) draftVersionOf(c *ui.Context, p *DraftPage, d domain.Draft) error {
	pl, v, err := s.made(c, d)
	if err != nil {
		return err
	}
	request := d.Query
	if d.Change != "" {
		request += "\n" + d.Change
	}
	if err := s.draftedPlan(c, p, pl, v, request); err != nil {
		return err
	}
	p.Open = p.Open && !pl.Archived
	if d.Parent == "" {
		return nil
	}
	parent, err := s.App.Drafts.Get(c, c.Principal.Actor(), d.Parent)
	if err != nil || parent.Hash == "" {
		return err
	}
	before, err := s.Reader.VersionByHash(c, parent.Hash)
	if err != nil {
		return err
	}
	return s.draftBefore(c, p, before, v)
}

// draftRelatives fills in links to the draft that this one refines, and to the drafts that refine
// it.
func (s *section) draftRelatives(c *ui.Context, p *DraftPage, d domain.Draft) error {
	link := func(d domain.Draft) kit.Link {
		return kit.Link{Text: c.T("revision %d", d.Revision), Href: "/plans/drafts/" + d.ID}
	}
	p.Revision = c.T("revision %d", d.Revision)
	if d.Parent != "" {
		parent, err := s.App.Drafts.Get(c, c.Principal.Actor(), d.Parent)
		if err != nil {
			return err
		}
		l := link(parent)
		p.Before, p.Revision = &l, c.T("revision %d, made from", d.Revision)
	}
	list, err := s.App.Drafts.Refinements(c, c.Principal.Actor(), d.ID)
	if err != nil {
		return err
	}
	for _, c := range list {
		p.Later = append(p.Later, link(c))
	}
	return nil
}

// refineDraft handles the form that creates another draft, with a changed request or another
// provider.
func (s *section) refineDraft(c *ui.Context) error {
	d, err := s.loadDraft(c)
	if err != nil {
		return err
	}
	typed, err := s.typedDraft(c)
	if err == nil {
		if c.Field("do") == "retry" { // same request, other provider
			typed = domain.DraftRequest{Provider: typed.Provider}
		}
		var made domain.Draft
		if made, err = s.App.Drafts.Refine(c, app.DraftRefinement{Meta: c.Meta(), Draft: d.ID, DraftRequest: typed}); err == nil {
			return c.RedirectTo(pathOf(made))
		}
	}
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeTooLarge:
		return s.showDraft(c, http.StatusUnprocessableEntity, d, err)
	case domain.CodeConflict:
		return s.showDraft(c, http.StatusConflict, d, err)
	}
	return err
}
