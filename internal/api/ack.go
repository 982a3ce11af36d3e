package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
)

// RunAcknowledge acknowledges a failed run.
type RunAcknowledge struct {
	Note    string    `json:"note,omitempty" maxLength:"8000" doc:"A note that is kept with the run." example:"the supplier has an outage"`
	StartAt time.Time `json:"startAt,omitzero" doc:"Time at which the run resumes; absent: never automatically."`
}

type ackRunIn struct {
	RunIn
	Body *RunAcknowledge
}

func (h actionHandler) ackRoutes(a *API) {
	mount(
		a,
		huma.Operation{OperationID: "acknowledge-run", Method: http.MethodPost, Path: "/runs/{id}/acknowledge", Tags: []string{"actions"},
			Summary: "Acknowledge a failed run"},
		func(ctx context.Context, in *ackRunIn) (*actedOut, error) {
			body := RunAcknowledge{}
			if in.Body != nil {
				body = *in.Body
			}
			run, err := h.runs.Acknowledge(
				ctx,
				app.AcknowledgeRequest{Meta: meta(ctx), Run: in.ID, Note: body.Note, ResumeAt: body.StartAt},
			)
			return acted(run, err)
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID: "unacknowledge-run",
			Method:      http.MethodPost,
			Path:        "/runs/{id}/unacknowledge",
			Tags:        []string{"actions"},
			Summary:     "Withdraw the acknowledgment of a failed run",
		},
		func(ctx context.Context, in *RunIn) (*actedOut, error) {
			run, err := h.runs.Unacknowledge(ctx, app.RunRequest{Meta: meta(ctx), Run: in.ID})
			return acted(run, err)
		},
	)
}
