package web

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// notePage asks for a note about a run, for whoever looks at it next.
func (r *request) notePage() error { return r.showNote(http.StatusOK, "") }

func (r *request) showNote(code int, problem string) error {
	run, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	notes, err := r.notes(run.ID)
	if err != nil {
		return err
	}
	p := view.NotePage{Shell: r.shell("runs", r.t("Note about run %s", domain.ShortID(run.ID))), Run: domain.ShortID(run.ID), RunHref: "/runs/" + run.ID,
		Text: r.c.FormValue("text"), Idem: newID(), Error: problem, Notes: notes}
	return r.render(code, view.NoteForm(p))
}

// note keeps it.
func (r *request) note() error {
	run, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	_, err = r.s.App.Runs.AddNote(r.ctx, app.NoteRequest{Meta: r.meta(), Run: run.ID, Text: r.c.FormValue("text")})
	switch domain.CodeOf(err) {
	case "":
		return r.to("/runs/" + run.ID)
	case domain.CodeInvalid:
		return r.showNote(http.StatusUnprocessableEntity, r.sentence(err))
	case domain.CodeConflict:
		return r.showNote(http.StatusConflict, r.sentence(err))
	}
	return err
}

// notes are shown as they were written, in order.
func (r *request) notes(run string) ([]view.Note, error) {
	notes, err := r.s.App.Runs.Notes(r.ctx, r.who.actor(), run)
	if err != nil {
		return nil, err
	}
	var out []view.Note
	for _, n := range notes {
		out = append(out, view.Note{Who: visible(n.Actor), Text: visible(n.Text), At: r.time(n.At)})
	}
	return out, nil
}
