package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// pausePage asks before no run of a plan starts any more, or they start again.
func (r *request) pausePage() error { return r.showPause(http.StatusOK, "") }

func (r *request) showPause(code int, problem string) error {
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
	path := "/plans/" + url.PathEscape(pl.Key)
	p := view.ConfirmPage{Crumb: view.Link{Text: pl.Key, Href: path}, Post: path + "/pause", Back: path, Idem: newID(), Error: problem, Do: "pause", Heading: r.t("Pause %s", visible(pl.Key)),
		Says: r.t("No run of it starts any more, whoever asks for one. What is under way goes on; existing runs can be resumed, rerun and forked. It outlasts restarts.")}
	if active > 0 {
		p.Facts = []view.Fact{{Term: r.t("Under way"), Text: r.n(active, "%s run under way", "%s runs under way")}}
	}
	if pl.Paused != nil {
		p.Do, p.Heading, p.Says = "unpause", r.t("Unpause %s", visible(pl.Key)), r.pausedText(pl.Paused)+" "+r.t("From now on runs of it start again.")
	}
	p.Shell = r.shell("plans", p.Heading)
	return r.render(code, view.Confirm(p))
}

// pausedText says who lets no run of a plan start.
func (r *request) pausedText(s *domain.Stop) string {
	text := r.t("Paused since %s by %s.", r.time(s.Since).Text, visible(s.By))
	if s.Reason != "" {
		text += " " + visible(s.Reason)
	}
	return text
}

// pause does what the page before announced, and nothing else.
func (r *request) pause() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	err = r.onceOf(r.c.FormValue("do"), func() (string, error) {
		return "/plans/" + url.PathEscape(pl.Key), r.s.Engine.PausePlan(r.ctx, r.who.actor(), pl.ID, r.c.FormValue("do") != "unpause", strings.TrimSpace(r.c.FormValue("reason")))
	})
	if domain.CodeOf(err) == domain.CodeConflict {
		return r.showPause(http.StatusConflict, r.t("That is so already. This is how it is now."))
	}
	return err
}
