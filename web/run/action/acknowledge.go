package action

import (
	"net/http"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/failure"
)

// ackRunPage renders the form that acknowledges one failed run and can resume it at a given time.

func (r *request) ackRunPage() error { return r.showAckRun(http.StatusOK, "") }

func (r *request) showAckRun(code int, problem string) error {
	run, err := r.App.Runs.Find(r.Context, r.Principal.Actor(), r.Param("run"))
	if err != nil {
		return err
	}
	short := domain.ShortID(run.ID)
	p := failure.AckPage{
		Idem:     kit.NewID(),
		Error:    problem,
		Post:     "/runs/" + run.ID + "/ack",
		Headline: kit.Truncate(part.Headline(r.Context, run), 500),
		Note:     r.Field("note"),
		Crumb:    kit.Link{Text: short, Href: "/runs/" + run.ID},
	}
	p.Heading, p.Button = r.T("Acknowledge run %s", short), r.T("Acknowledge run %s", short)
	p.Text = r.T(
		"The run stays failed but leaves the home page and its counts. If it fails again, it returns. The note is " +
			"shown on the run's page and on the home page.",
	)
	if run.Status != domain.RunFailed || !run.Attention {
		p.Text = r.T("This run needs no acknowledgment: it has not failed, or another person acknowledged it.")
		p.NoAck = run.Status != domain.RunFailed
	}
	if p.ResumeLater(r.Context); !p.NoAck {
		p.NoteOnly = r.T("Only keep the note")
	}
	p.Shell = r.Shell("runs", p.Heading)
	return r.Render(code, failure.Acknowledge(p))
}

// ackRun acknowledges a run.
func (r *request) ackRun() error {
	run, err := r.App.Runs.Find(r.Context, r.Principal.Actor(), r.Param("run"))
	if err != nil {
		return err
	}
	if r.Field("do") == "note" {
		_, err = r.App.Runs.AddNote(r.Context, app.NoteRequest{Meta: r.Meta(), Run: run.ID, Text: r.Field("note")})
		return r.acknowledged(run.ID, err)
	}
	at, err := failure.ResumeAt(r.Context)
	if err == nil {
		_, err = r.App.Runs.Acknowledge(r.Context, app.AcknowledgeRequest{Meta: r.Meta(), Run: run.ID, Note: r.Field("note"), ResumeAt: at})
	}
	return r.acknowledged(run.ID, err)
}

// acknowledged redirects to the run, or renders the form with the error.
func (r *request) acknowledged(run string, err error) error {
	switch domain.CodeOf(err) {
	case "":
		return r.RedirectTo(part.At(r.Context, run, nil))
	case domain.CodeInvalid:
		return r.showAckRun(http.StatusUnprocessableEntity, r.Sentence(err))
	case domain.CodeConflict:
		return r.showAckRun(http.StatusConflict, r.Sentence(err))
	}
	return err
}
