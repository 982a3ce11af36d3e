package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// AckRunBody goes with taking note of a failed run.
type AckRunBody struct {
	Note     string    `json:"note,omitempty" maxLength:"8000" doc:"For whoever looks next; it stays with the run."`
	ResumeAt time.Time `json:"resumeAt,omitzero" doc:"When the run is to be resumed; nothing: not by itself."`
}

type ackRunIn struct {
	RunIn
	Body *AckRunBody
}

func (h actionHandler) ackRoutes(a *API) {
	mount(
		a,
		huma.Operation{OperationID: "acknowledge-run", Method: http.MethodPost, Path: "/runs/{id}/acknowledge", Tags: []string{"actions"},
			Summary: "Take note of a failed run: it needs attention no more until it fails anew"},
		func(ctx context.Context, in *ackRunIn) (*actedOut, error) {
			body := AckRunBody{}
			if in.Body != nil {
				body = *in.Body
			}
			run, err := h.runs.Acknowledge(
				ctx,
				app.AcknowledgeRequest{Meta: meta(ctx), Run: in.ID, Note: body.Note, ResumeAt: body.ResumeAt},
			)
			if err != nil {
				return nil, err
			}
			return &actedOut{Status: http.StatusOK, Body: domain.ViewRun(run)}, nil
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
			if err != nil {
				return nil, err
			}
			return &actedOut{Status: http.StatusOK, Body: domain.ViewRun(run)}, nil
		},
	)
}
