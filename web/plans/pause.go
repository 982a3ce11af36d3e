package plans

import (
	"context"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// pausePage asks before no run of a plan starts any more, or they start again.
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
	p := kit.ConfirmPage{Post: link.Plan(pl.Key) + "/pause", Do: "pause", Heading: c.T("Pause %s", kit.Visible(pl.Key)),
		Says: c.T(
			"No run of it starts any more, whoever asks for one. What is under way goes on; existing runs can be resumed, rerun and forked. It outlasts restarts.",
		)}
	if active > 0 {
		p.Facts = []kit.Fact{{Term: c.T("Under way"), Text: c.N(active, "%s run under way", "%s runs under way")}}
	}
	if pl.Paused != nil {
		p.Do, p.Heading, p.Says = "unpause", c.T("Unpause %s", kit.Visible(pl.Key)), plan.Paused(c,
			pl.Paused)+" "+c.T("From now on runs of it start again.")
	}
	return s.confirmPlan(c, http.StatusOK, pl, p)
}

// archivePage asks before a plan is archived, or taken back.
func (s *section) archivePage(c *ui.Context) error { return s.showArchive(c, http.StatusOK, "") }

func (s *section) showArchive(c *ui.Context, code int, problem string) error {
	pl, err := s.Reader.Plan(c, c.Param("plan"))
	if err != nil {
		return err
	}
	p := kit.ConfirmPage{Post: link.Plan(pl.Key) + "/archive", Do: "archive", Heading: c.T("Archive %s", kit.Visible(pl.Key)),
		Error: problem, Danger: true, NeedsReason: true, Says: c.T("It leaves the list of plans, and no new run of it starts. Runs that are under way go on; its versions stay. It can be taken back.")}
	if pl.Archived {
		p.Do, p.Heading, p.Says = "unarchive", c.T("Take %s back",
			kit.Visible(pl.Key)), c.T("It is in the list of plans again, and runs of it can be started.")
		p.Danger, p.NeedsReason = false, false
	}
	return s.confirmPlan(c, code, pl, p)
}

// confirmPlan shows what a form is about to change of a plan.
func (s *section) confirmPlan(c *ui.Context, code int, pl domain.Plan, p kit.ConfirmPage) error {
	p.Crumb, p.Back, p.Idem = kit.Link{Text: pl.Key, Href: link.Plan(pl.Key)}, link.Plan(pl.Key), kit.NewID()
	p.Shell = c.Shell("plans", p.Heading)
	return c.Render(code, kit.Confirm(p))
}

func (s *section) pause(c *ui.Context) error {
	return s.changePlan(c, map[string]planChange{"pause": s.App.Plans.Pause, "unpause": s.App.Plans.Unpause})
}

func (s *section) archive(c *ui.Context) error {
	if c.Field("do") == "archive" && strings.TrimSpace(c.Field("reason")) == "" {
		return s.showArchive(c, http.StatusUnprocessableEntity, c.T("Say why: it is kept in the audit log."))
	}
	return s.changePlan(c, map[string]planChange{"archive": s.App.Plans.Archive, "unarchive": s.App.Plans.Unarchive})
}

type planChange func(context.Context, app.PlanChange) (domain.Plan, error)

// changePlan does what the page before announced, and nothing else.
func (s *section) changePlan(c *ui.Context, changes map[string]planChange) error {
	change, ok := changes[c.Field("do")]
	if !ok {
		return domain.Errorf(domain.CodeInvalid, "the form does not say what to do")
	}
	pl, err := change(c, app.PlanChange{Meta: c.Meta(), Plan: c.Param("plan"), Reason: strings.TrimSpace(c.Field("reason"))})
	if err != nil {
		return err
	}
	return c.To(link.Plan(pl.Key))
}
