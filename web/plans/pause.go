package plans

import (
	"context"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// pausePage serves the confirmation page for pausing or unpausing a plan.
func (s *section) pausePage(c *ui.Context) error {
	pl, err := s.Reader.Plan(c, c.Param("plan"))
	if err != nil {
		return err
	}
	counts, err := s.Reader.VersionRuns(c, pl.ID, c.Site.Now())
	if err != nil {
		return err
	}
	active := 0
	for _, n := range counts {
		active += int(n.Active)
	}
	p := kit.ConfirmPage{Post: link.Plan(pl.Key) + "/pause", Action: "pause", Heading: c.T("Pause %s", kit.Escape(pl.Key)),
		Text: c.T("No new runs start until you unpause the plan. Active runs finish, and you can still resume and fork runs.")}
	if active > 0 {
		p.Facts = []kit.Fact{{Term: c.T("Active runs"), Text: c.Number(int64(active))}}
	}
	if pl.Paused != nil {
		p.Action, p.Heading, p.Text = "unpause", c.T("Unpause %s", kit.Escape(pl.Key)), plan.Paused(c,
			pl.Paused)+" "+c.T("New runs can start again.")
	}
	return s.confirmPlan(c, http.StatusOK, pl, p)
}

// archivePage serves the confirmation page for archiving or unarchiving a plan.
func (s *section) archivePage(c *ui.Context) error { return s.showArchive(c, http.StatusOK, "") }

func (s *section) showArchive(c *ui.Context, code int, problem string) error {
	pl, err := s.Reader.Plan(c, c.Param("plan"))
	if err != nil {
		return err
	}
	p := kit.ConfirmPage{Post: link.Plan(pl.Key) + "/archive", Action: "archive", Heading: c.T("Archive %s", kit.Escape(pl.Key)),
		Error: problem, Danger: true, NeedsReason: true,
		Text: c.T("The plan leaves the list, and no new runs start. Active runs finish, and its versions stay. You can unarchive it.")}
	if pl.Archived {
		p.Action, p.Heading, p.Text = "unarchive", c.T("Unarchive %s",
			kit.Escape(pl.Key)), c.T("The plan returns to the list, and new runs can start.")
		p.Danger, p.NeedsReason = false, false
	}
	return s.confirmPlan(c, code, pl, p)
}

// confirmPlan renders the confirmation page of a change to a plan.
func (s *section) confirmPlan(c *ui.Context, code int, pl domain.Plan, p kit.ConfirmPage) error {
	p.Crumbs, p.Back, p.Idem = crumbs(c, pl.Key), link.Plan(pl.Key), kit.NewID()
	p.Shell = c.Shell("plans", p.Heading)
	return c.Render(code, kit.Confirm(p))
}

func (s *section) pause(c *ui.Context) error {
	return s.changePlan(c, map[string]planChange{"pause": s.App.Plans.Pause, "unpause": s.App.Plans.Unpause})
}

func (s *section) archive(c *ui.Context) error {
	if c.Field("do") == "archive" && strings.TrimSpace(c.Field("reason")) == "" {
		return s.showArchive(c, http.StatusUnprocessableEntity, c.T("Enter a reason. The audit log keeps it."))
	}
	return s.changePlan(c, map[string]planChange{"archive": s.App.Plans.Archive, "unarchive": s.App.Plans.Unarchive})
}

type planChange func(context.Context, app.PlanChange) (domain.Plan, error)

// changePlan handles the confirmation form. It rejects any action that changes does not contain.
func (s *section) changePlan(c *ui.Context, changes map[string]planChange) error {
	change, ok := changes[c.Field("do")]
	if !ok {
		return domain.Errorf(domain.CodeInvalid, "the form contains no action")
	}
	pl, err := change(c, app.PlanChange{Meta: c.Meta(), Plan: c.Param("plan"), Reason: strings.TrimSpace(c.Field("reason"))})
	if err != nil {
		return err
	}
	return c.RedirectTo(link.Plan(pl.Key))
}

// crumbs is the trail to a plan.
func crumbs(c *ui.Context, key string) kit.Crumbs {
	return kit.CrumbsOf(kit.Link{Text: c.T("Plans"), Href: incoming.Plans}, kit.Link{Text: key, Href: link.Plan(key)})
}
