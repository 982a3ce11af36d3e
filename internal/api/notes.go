package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// NoteCreate adds a note to a run.
type NoteCreate struct {
	Text string `json:"text" minLength:"1" maxLength:"2000" doc:"Plain text." example:"the customer agreed"`
}

type noteIn struct {
	RunIn
	Body NoteCreate
}

type noteOut struct{ Body domain.Note }

type notesIn struct {
	RunIn
	ListIn
}

type notesOut struct{ Body apitypes.List[domain.Note] }

func (h runHandler) noteRoutes(a *API) {
	tags := []string{"runs"}
	mount(a, huma.Operation{OperationID: "list-notes", Method: http.MethodGet, Path: "/runs/{id}/notes", Tags: tags,
		Summary: "List the notes of a run, oldest first"},
		func(ctx context.Context, in *notesIn) (*notesOut, error) {
			notes, err := h.runs.Notes(ctx, actorOf(ctx), in.ID)
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, &in.ListIn, notes, func(n domain.Note) string { return strconv.FormatInt(n.ID, 10) }, same)
			return &notesOut{page}, err
		})
	mount(
		a,
		huma.Operation{
			OperationID:   "add-note",
			Method:        http.MethodPost,
			Path:          "/runs/{id}/notes",
			Tags:          tags,
			DefaultStatus: http.StatusCreated,
			Summary:       "Add a note to a run",
		},
		func(ctx context.Context, in *noteIn) (*noteOut, error) {
			n, err := h.runs.AddNote(ctx, app.NoteRequest{Meta: meta(ctx), Run: in.ID, Text: in.Body.Text})
			return &noteOut{n}, err
		},
	)
}
