package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// NoteBody is a note to keep with a run.
type NoteBody struct {
	Text string `json:"text" minLength:"1" maxLength:"2000" doc:"Plain text for whoever looks at the run next."`
}

type noteIn struct {
	RunIn
	Body NoteBody
}

type noteOut struct{ Body domain.Note }

type notesIn struct {
	RunIn
	PageIn
}

type notesOut struct{ Body List[domain.Note] }

func (h runHandler) noteRoutes(a *API) {
	tags := []string{"runs"}
	mount(a, huma.Operation{OperationID: "list-notes", Method: http.MethodGet, Path: "/runs/{id}/notes", Tags: tags,
		Summary: "What people wrote about a run, in order"},
		func(ctx context.Context, in *notesIn) (*notesOut, error) {
			notes, err := h.runs.Notes(ctx, actorOf(ctx), in.ID)
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, &in.PageIn, notes, func(n domain.Note) string { return strconv.FormatInt(n.ID, 10) }, same)
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
			Summary:       "Write a note about a run",
		},
		func(ctx context.Context, in *noteIn) (*noteOut, error) {
			n, err := h.runs.AddNote(ctx, app.NoteRequest{Meta: meta(ctx), Run: in.ID, Text: in.Body.Text})
			return &noteOut{n}, err
		},
	)
}
