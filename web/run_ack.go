package web

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/failure"
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
	p := failure.AckPage{Idem: newID(), Error: problem, Post: "/runs/" + run.ID + "/ack", Headline: cut(r.headline(run), 500), Note: r.c.FormValue("note"),
		Crumb: view.Link{Text: short, Href: "/runs/" + run.ID}}
	p.Heading, p.Button = r.t("Acknowledge run %s", short), r.t("Acknowledge run %s", short)
	p.Says = r.t("The run needs attention no more: it leaves home and its counts, and stays failed. When it fails anew, it is back. The note stands on the run's page, and on home for whoever comes next.")
	if run.Status != domain.RunFailed || !run.Attention {
		p.Says = r.t("Nobody needs to take note of this run: it has not failed, or somebody did before.")
		p.NoAck = run.Status != domain.RunFailed
	}
	if p.ResumeLater(r.Context); !p.NoAck {
		p.NoteOnly = r.t("Only keep the note")
	}
	p.Shell = r.shell("runs", p.Heading)
	return r.render(code, failure.Acknowledge(p))
}

// ackRun takes note of a run.
func (r *request) ackRun() error {
	run, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	if r.c.FormValue("do") == "note" {
		_, err = r.s.App.Runs.AddNote(r.ctx, app.NoteRequest{Meta: r.meta(), Run: run.ID, Text: r.c.FormValue("note")})
		return r.acknowledged(run.ID, err)
	}
	at, err := failure.ResumeAt(r.Context)
	if err == nil {
		_, err = r.s.App.Runs.Acknowledge(r.ctx, app.AcknowledgeRequest{Meta: r.meta(), Run: run.ID, Note: r.c.FormValue("note"), ResumeAt: at})
	}
	return r.acknowledged(run.ID, err)
}

// acknowledged is where it leads: to the run, or to the form with what is wrong.
func (r *request) acknowledged(run string, err error) error {
	switch domain.CodeOf(err) {
	case "":
		return r.to(r.runAt(run, nil))
	case domain.CodeInvalid:
		return r.showAckRun(http.StatusUnprocessableEntity, r.sentence(err))
	case domain.CodeConflict:
		return r.showAckRun(http.StatusConflict, r.sentence(err))
	}
	return err
}
