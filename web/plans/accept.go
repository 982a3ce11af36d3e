package plans

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// acceptVersionPage serves the confirmation page for accepting a version that a planner wrote.
func (s *section) acceptVersionPage(c *ui.Context) error {
	return s.showAcceptVersion(c, http.StatusOK, "")
}

func (s *section) showAcceptVersion(c *ui.Context, code int, problem string) error {
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	number := fmt.Sprintf("v%d", v.Number)
	p := kit.ConfirmPage{Post: fmt.Sprintf("%s/v/%d/accept", link.Plan(pl.Key), v.Number), Action: "accept",
		Heading: c.T("Accept as %s", number), Error: problem,
		Text: c.T("Only this version is accepted. Its runs can start from now on. Accepting starts no run."),
		Facts: []kit.Fact{{Term: c.T("Plan"), Text: pl.Key}, {Term: c.T("Version"), Text: number},
			{Term: c.T("Digest"), Text: v.Hash, Mono: true}, {Term: c.T("Reason"), Text: plan.Reason(c, v.Reason)}}}
	return s.confirmPlan(c, code, pl, p)
}

func (s *section) acceptVersion(c *ui.Context) error {
	pl, v, err := s.version(c)
	if err != nil {
		return err
	}
	_, err = s.App.Plans.Accept(c,
		app.VersionChange{Meta: c.Meta(), Plan: pl.ID, Number: v.Number, Reason: strings.TrimSpace(c.Field("reason"))})
	if code := domain.CodeOf(err); code == domain.CodeStale || code == domain.CodeConflict {
		return s.showAcceptVersion(c, ui.StatusOf[code], c.Sentence(err))
	} else if err != nil {
		return err
	}
	return c.RedirectTo(link.Plan(pl.Key))
}

// acceptance sets the link to the draft of a version that waits for acceptance. If the version has
// no draft and the user may accept it, acceptance adds an action instead.
func (b *planPage) acceptance() error {
	pl, v := b.stored, b.version
	b.page.Draft = pl.Stage == domain.StageDraft
	if !b.page.Draft && !plan.Proposed(pl, v) || pl.Archived {
		return nil
	}
	d, err := b.App.Drafts.OfVersion(b, b.Principal.Actor(), v.Hash)
	switch {
	case err == nil:
		b.page.DraftHref = "/plans/drafts/" + d.ID
	case domain.CodeOf(err) != domain.CodeNotFound:
		return err
	case b.May(app.AcceptPlan):
		b.page.Actions = append(b.page.Actions,
			kit.Link{Text: b.T("Accept as %s…", b.page.Number), Href: fmt.Sprintf("%s/v/%d/accept", b.path, v.Number), Dialog: true})
	}
	return nil
}
