package action

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/failure"
	part "github.com/kairosd/kairosd/web/part/run"
)

// unackPage renders the form that withdraws the acknowledgment of a run.
func (r *request) unackPage() error { return r.showUnack(http.StatusOK, "") }

func (r *request) showUnack(code int, problem string) error {
	run, err := r.App.Runs.Find(r.Context, r.Principal.Actor(), r.Param("run"))
	if err != nil {
		return err
	}
	short := domain.ShortID(run.ID)
	p := failure.AckPage{Idem: kit.NewID(), Error: problem, Back: true, Post: "/runs/" + run.ID + "/unack",
		Headline: kit.Truncate(part.Headline(r.Context, run), 500), Crumb: kit.Link{Text: short, Href: "/runs/" + run.ID},
		Heading: r.T("Withdraw the acknowledgment of run %s", short), Button: r.T("Withdraw the acknowledgment"),
		Text: r.T("The run returns to the home page and its counts."), NoAck: run.Status != domain.RunFailed}
	p.Shell = r.Shell("runs", p.Heading)
	return r.Render(code, failure.Acknowledge(p))
}

// unack withdraws the acknowledgment of a run.
func (r *request) unack() error {
	run, err := r.App.Runs.Unacknowledge(r.Context, app.RunRequest{Meta: r.Meta(), Run: r.Param("run")})
	switch domain.CodeOf(err) {
	case "":
		return r.RedirectTo(part.At(r.Context, run.ID, nil))
	case domain.CodeConflict:
		return r.showUnack(http.StatusConflict, r.Sentence(err))
	}
	return err
}
