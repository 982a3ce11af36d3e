package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// planURL is the address of a plan's page.
func planURL(p domain.Plan) string { return "/plans/" + url.PathEscape(p.Key) }

// pausePage asks before no run of a plan starts any more, or they start again.
func (r *request) pausePage() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	counts, err := r.s.Reader.VersionRuns(r.ctx, pl.ID, r.s.now())
	if err != nil {
		return err
	}
	active := 0
	for _, n := range counts {
		active += int(n.Active)
	}
	p := view.ConfirmPage{Post: planURL(pl) + "/pause", Do: "pause", Heading: r.t("Pause %s", visible(pl.Key)),
		Says: r.t("No run of it starts any more, whoever asks for one. What is under way goes on; existing runs can be resumed, rerun and forked. It outlasts restarts.")}
	if active > 0 {
		p.Facts = []view.Fact{{Term: r.t("Under way"), Text: r.n(active, "%s run under way", "%s runs under way")}}
	}
	if pl.Paused != nil {
		p.Do, p.Heading, p.Says = "unpause", r.t("Unpause %s", visible(pl.Key)), r.pausedText(pl.Paused)+" "+r.t("From now on runs of it start again.")
	}
	return r.confirmPlan(http.StatusOK, pl, p)
}

// archivePage asks before a plan is archived, or taken back.
func (r *request) archivePage() error { return r.showArchive(http.StatusOK, "") }

func (r *request) showArchive(code int, problem string) error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	p := view.ConfirmPage{Post: planURL(pl) + "/archive", Do: "archive", Heading: r.t("Archive %s", visible(pl.Key)), Error: problem, Danger: true, NeedsReason: true,
		Says: r.t("It leaves the list of plans, and no new run of it starts. Runs that are under way go on; its versions stay. It can be taken back.")}
	if pl.Archived {
		p.Do, p.Heading, p.Says = "unarchive", r.t("Take %s back", visible(pl.Key)), r.t("It is in the list of plans again, and runs of it can be started.")
		p.Danger, p.NeedsReason = false, false
	}
	return r.confirmPlan(code, pl, p)
}

// confirmPlan shows what a form is about to change of a plan.
func (r *request) confirmPlan(code int, pl domain.Plan, p view.ConfirmPage) error {
	p.Crumb, p.Back, p.Idem = view.Link{Text: pl.Key, Href: planURL(pl)}, planURL(pl), newID()
	p.Shell = r.shell("plans", p.Heading)
	return r.render(code, view.Confirm(p))
}

func (r *request) pause() error {
	return r.changePlan(map[string]planChange{"pause": r.s.App.Plans.Pause, "unpause": r.s.App.Plans.Unpause})
}

func (r *request) archive() error {
	if r.c.FormValue("do") == "archive" && strings.TrimSpace(r.c.FormValue("reason")) == "" {
		return r.showArchive(http.StatusUnprocessableEntity, r.t("Say why: it is kept in the audit log."))
	}
	return r.changePlan(map[string]planChange{"archive": r.s.App.Plans.Archive, "unarchive": r.s.App.Plans.Unarchive})
}

type planChange func(context.Context, app.PlanChange) (domain.Plan, error)

// changePlan does what the page before announced, and nothing else.
func (r *request) changePlan(changes map[string]planChange) error {
	change, ok := changes[r.c.FormValue("do")]
	if !ok {
		return domain.Errorf(domain.CodeInvalid, "the form does not say what to do")
	}
	pl, err := change(r.ctx, app.PlanChange{Meta: r.meta(), Plan: r.c.Param("plan"), Reason: strings.TrimSpace(r.c.FormValue("reason"))})
	if err != nil {
		return err
	}
	return r.to(planURL(pl))
}
