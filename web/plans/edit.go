package plans

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	plans "github.com/kairosd/kairosd/examples"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

const blankPlan = `id: my-plan
name: My plan
nodes:
  greet:
    type: log
    input: "hello ${input}"
`

// newPlan serves the editor for a new plan: empty, with a copy of another plan, or with an example.
func (s *section) newPlan(c *ui.Context) error {
	p := PlanForm{Shell: c.Shell("plans", "New plan"), Heading: c.T("New plan"), Source: blankPlan, Post: "/plans/new", Idem: kit.NewID()}
	if from := c.Query("from"); from != "" {
		pl, err := s.Reader.Plan(c, from)
		if err != nil {
			return err
		}
		v, err := s.numbered(c, pl, "v")
		if err != nil {
			return err
		}
		p.Source, p.Heading = renamed(string(v.Source), pl.Key+"-copy"), c.T("Copy of %s", kit.Escape(pl.Key))
	}
	if err := offerExamples(c, &p); err != nil {
		return err
	}
	s.check(c, &p)
	return c.Render(http.StatusOK, PlanEditor(p))
}

// numbered returns the version whose number is in a query parameter, or the newest version without
// one.
func (s *section) numbered(c *ui.Context, pl domain.Plan, parameter string) (domain.Version, error) {
	number := pl.Latest
	if n, err := strconv.Atoi(c.Query(parameter)); err == nil && n > 0 {
		number = n
	}
	return s.Reader.VersionByNumber(c, pl.ID, number)
}

// offerExamples adds links to the examples, and the text of the selected example.
func offerExamples(c *ui.Context, p *PlanForm) error {
	files, err := plans.Plans()
	if err != nil {
		return fmt.Errorf("read examples: %w", err)
	}
	chosen := c.Query("example")
	for _, f := range files {
		name := strings.TrimSuffix(f.Name, ".yaml")
		p.Examples = append(p.Examples, kit.Link{Text: name, Href: exampleAt(name), Current: chosen == name})
		if chosen == name {
			p.Source = string(f.Source)
		}
	}
	if chosen != "" && !slices.ContainsFunc(p.Examples, func(l kit.Link) bool { return l.Current }) {
		return domain.Errorf(domain.CodeNotFound, "there is no example %q", chosen)
	}
	return nil
}

// firstExample is the example offered on an empty server. It branches, calls a tool, and requests
// an approval.
const firstExample = "order-triage"

func exampleAt(name string) string {
	return "/plans/new?" + url.Values{"example": {name}}.Encode()
}

// editPlan serves the editor of a plan. It starts from the version in the query, or from the newest
// one.
func (s *section) editPlan(c *ui.Context) error {
	pl, err := s.Reader.Plan(c, c.Param("plan"))
	if err != nil {
		return err
	}
	v, err := s.numbered(c, pl, "base")
	if err != nil {
		return err
	}
	p := PlanForm{Shell: c.Shell("plans", c.T("Edit %s", pl.Key)), Heading: c.T("Edit %s v%d", pl.Key, v.Number), Source: string(v.Source),
		Base: pl.LatestHash, BaseNumber: strconv.Itoa(pl.Latest), Post: link.Plan(pl.Key) + "/edit", Idem: kit.NewID()}
	s.check(c, &p)
	return c.Render(http.StatusOK, PlanEditor(p))
}

// savePlan handles the form of the editor: it saves the text, tries it, applies a fix, or shows a
// step to copy. If the text is invalid, it shows all problems and keeps the typed text.
func (s *section) savePlan(c *ui.Context) error {
	p := typedPlan(c)
	if c.Field("fix") != "" {
		return s.fix(c, &p)
	}
	switch c.Field("do") {
	case "add":
		return s.showSnippet(c, &p)
	case "try":
		return s.tryPlan(c, &p)
	}
	doc := s.check(c, &p)
	switch {
	case !p.Valid:
		return c.Render(http.StatusUnprocessableEntity, PlanEditor(p))
	case c.Field("do") == "check":
		return c.Render(http.StatusOK, PlanEditor(p))
	}
	return store(c, s, &p, doc)
}

// store stores the checked plan, and starts it if the person asked for that.
func store(c *ui.Context, s *section, p *PlanForm, doc *planner.Document) error {
	stored, err := s.App.Plans.Store(c,
		app.PlanDocument{Meta: c.Meta(), Source: []byte(p.Source), Format: formatOf(p), Origin: "upload", Reason: p.Reason, Base: p.Base})
	if domain.CodeOf(err) == domain.CodeStale {
		return s.savedMeanwhile(c, p, doc, err)
	} else if err != nil {
		return err
	}
	if c.Field("do") == "start" {
		return startSaved(c, s.Ports, stored, doc)
	}
	return c.RedirectTo(fmt.Sprintf("%s/v/%d", link.Plan(stored.Plan.Key), stored.Version.Number))
}

// typedPlan is the form as the person sent it.
func typedPlan(c *ui.Context) PlanForm {
	p := PlanForm{Shell: c.Shell("plans", "Plan"), Heading: c.T("Plan"), Source: typedSource(c), Reason: c.Field("reason"),
		Base: c.Field("base"), BaseNumber: c.Field("basen"), Post: c.Echo.Request().URL.Path, Idem: kit.NewID(),
		TryInput: c.Field("try_input")}
	if key := c.Param("plan"); key != "" {
		p.Heading = c.T("Edit %s", key)
	}
	return p
}

// startSaved starts a run of the saved version. If the plan reads an input, or the run cannot start
// now, it redirects to the form that starts a run.
func startSaved(c *ui.Context, p Ports, stored app.StoredPlan, doc *planner.Document) error {
	at := fmt.Sprintf("%s/start?v=%d", link.Plan(stored.Plan.Key), stored.Version.Number)
	program, err := doc.Program(p.Engine.Catalog())
	if err != nil {
		return err
	}
	if program.ReadsInput() {
		return c.RedirectTo(at)
	}
	m := c.Meta()
	if m.Key != "" {
		m.Key += ":start"
	}
	run, err := p.App.Runs.Start(c, app.StartRequest{Meta: m,
		StartRequest: domain.StartRequest{Plan: stored.Plan.ID, Version: stored.Version.Number, Origin: "ui"}})
	switch {
	case domain.CodeOf(err) == domain.CodeConflict: // the plan is paused
		return c.RedirectTo(at)
	case err != nil:
		return err
	}
	return c.RedirectTo("/runs/" + run.ID)
}

func formatOf(p *PlanForm) planner.Format { return planner.FormatOf("", []byte(p.Source)) }

// showSnippet shows a step that the user can copy into the text.
func (s *section) showSnippet(c *ui.Context, p *PlanForm) error {
	code := http.StatusOK
	var err error
	if p.Snippet, err = s.snippet(p.Source, c.Field("add")); err != nil {
		code, p.Trouble = http.StatusUnprocessableEntity, c.Sentence(err)
	}
	s.check(c, p)
	return c.Render(code, PlanEditor(*p))
}

// tryPlan starts a dry run of the text without saving it.
func (s *section) tryPlan(c *ui.Context, p *PlanForm) error {
	var input domain.RawJSON
	if strings.TrimSpace(p.TryInput) != "" {
		var err error
		if input, err = inputOf(p.TryInput); err != nil {
			return err
		}
	}
	text := sha256.Sum256([]byte(p.Source + "\x00" + p.TryInput)) // in the idempotency key, so that an edited text starts another run
	m := c.Meta()
	if m.Key != "" {
		m.Key += ":try:" + hex.EncodeToString(text[:])
	}
	run, _, err := s.App.Plans.Try(c, app.PlanTrial{Meta: m, Source: []byte(p.Source), Format: formatOf(p), Input: input})
	if err == nil {
		return c.RedirectTo("/runs/" + run.ID)
	}
	if domain.CodeOf(err) == domain.CodeInvalid {
		p.Trouble = c.Sentence(err)
		s.check(c, p)
		return c.Render(http.StatusUnprocessableEntity, PlanEditor(*p))
	}
	return err
}

// savedMeanwhile shows the conflict with a version that another user saved in the meantime. Saving
// again replaces that version.
func (s *section) savedMeanwhile(c *ui.Context, p *PlanForm, doc *planner.Document, why error) error {
	pl, err := s.Reader.Plan(c, doc.ID)
	if err != nil {
		return err
	}
	p.Stale = c.Sentence(why)
	now, err := s.Reader.VersionByHash(c, pl.LatestHash)
	if err != nil {
		return err
	}
	if began, err := s.Reader.VersionByHash(c, p.Base); err == nil {
		if began.Number < pl.Latest {
			p.StaleDiff = fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(pl.Key), began.Number, pl.Latest)
		}
		typed := domain.Version{Source: []byte(p.Source), Format: string(cmp.Or(formatOf(p), planner.FormatYAML))}
		p.Theirs, p.Yours = plan.DiffLines(plandiff.Versions(began, now)), plan.DiffLines(plandiff.Versions(began, typed))
		p.Began, p.Now = fmt.Sprintf("v%d", began.Number), fmt.Sprintf("v%d", now.Number)
	} else if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	p.Base, p.BaseNumber = pl.LatestHash, strconv.Itoa(pl.Latest)
	return c.Render(http.StatusConflict, PlanEditor(*p))
}

// inputOf parses typed input as JSON, and falls back to plain text.
func inputOf(typed string) (domain.RawJSON, error) {
	if input, err := form.JSON(typed); err == nil {
		return input, nil
	}
	return jsonvalue.Encode(typed)
}
