package action

import (
	"net/http"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// notePage renders the form for a note about a run.
func (r *request) notePage() error { return r.showNote(http.StatusOK, "") }

func (r *request) showNote(code int, problem string) error {
	run, err := r.App.Runs.Find(r.Context, r.Principal.Actor(), r.Param("run"))
	if err != nil {
		return err
	}
	notes, err := part.Notes(r.Context, r.App, run.ID)
	if err != nil {
		return err
	}
	p := NotePage{
		Shell:   r.Shell("runs", r.T("Note about run %s", domain.ShortID(run.ID))),
		Crumbs:  kit.Crumbs{Path: part.Crumbs(r.Context, run)},
		Run:     domain.ShortID(run.ID),
		RunHref: "/runs/" + run.ID,
		Text:    r.Field("text"),
		Idem:    kit.NewID(),
		Error:   problem,
		Notes:   notes,
	}
	return r.Render(code, NoteForm(p))
}

// note adds a note.
func (r *request) note() error {
	run, err := r.App.Runs.Find(r.Context, r.Principal.Actor(), r.Param("run"))
	if err != nil {
		return err
	}
	_, err = r.App.Runs.AddNote(r.Context, app.NoteRequest{Meta: r.Meta(), Run: run.ID, Text: r.Field("text")})
	switch domain.CodeOf(err) {
	case "":
		return r.RedirectTo("/runs/" + run.ID)
	case domain.CodeInvalid:
		return r.showNote(http.StatusUnprocessableEntity, r.Sentence(err))
	case domain.CodeConflict:
		return r.showNote(http.StatusConflict, r.Sentence(err))
	}
	return err
}
