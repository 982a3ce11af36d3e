package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// Taking note of one failed run, for whoever comes next, and resuming it at a
// time.

// localTime is how browsers write the value of a datetime-local field.
const localTime = "2006-01-02T15:04"

func (r *request) ackRunPage() error { return r.showAckRun(http.StatusOK, "") }

func (r *request) showAckRun(code int, problem string) error {
	run, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	short := domain.ShortID(run.ID)
	p := view.AckPage{Idem: newID(), Error: problem, Post: "/runs/" + run.ID + "/ack", Headline: cut(r.headline(run), 500), Note: r.c.FormValue("note"),
		Crumb: view.Link{Text: short, Href: "/runs/" + run.ID}}
	p.Heading, p.Button = r.t("Acknowledge run %s", short), r.t("Acknowledge run %s", short)
	p.Says = r.t("The run needs attention no more: it leaves home and its counts, and stays failed. When it fails anew, it is back. The note stands on the run's page, and on home for whoever comes next.")
	if run.Status != domain.RunFailed || !run.Attention {
		p.Says = r.t("Nobody needs to take note of this run: it has not failed, or somebody did before.")
		p.NoAck = run.Status != domain.RunFailed
	}
	r.resumeLater(&p)
	p.Shell = r.shell("runs", p.Heading)
	return r.render(code, view.Ack(p))
}

// resumeLater offers that what is taken note of is resumed at a time.
func (r *request) resumeLater(p *view.AckPage) {
	p.CanResume, p.At, p.Zone = r.s.Bulk != nil && !p.NoAck && !p.Back, r.c.FormValue("at"), r.display.zone.String()
}

// resumeAt is when what is taken note of is to be resumed; zero: not by itself.
func (r *request) resumeAt() (time.Time, error) {
	text := strings.TrimSpace(r.c.FormValue("at"))
	if text == "" || r.s.Bulk == nil {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(localTime, text, r.display.zone)
	if err != nil {
		return at, domain.Errorf(domain.CodeInvalid, "%q is not a time", text).Suggest("write 2030-01-31T08:00")
	}
	if at.Before(r.s.now()) {
		return at, domain.Errorf(domain.CodeInvalid, "%s is past", text).Suggest("resume the run now, or give a time to come")
	}
	return at, nil
}

// ackRun takes note of a run.
func (r *request) ackRun() error {
	run, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	at, err := r.resumeAt()
	if err == nil {
		_, err = r.s.App.Runs.Acknowledge(r.ctx, app.AcknowledgeRequest{Meta: r.meta(), Run: run.ID, Note: r.c.FormValue("note"), ResumeAt: at})
	}
	switch domain.CodeOf(err) {
	case "":
		return r.to(r.runAt(run.ID, nil))
	case domain.CodeInvalid:
		return r.showAckRun(http.StatusUnprocessableEntity, r.sentence(err))
	case domain.CodeConflict:
		return r.showAckRun(http.StatusConflict, r.sentence(err))
	}
	return err
}
