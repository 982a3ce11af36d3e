package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
)

type compareIn struct {
	A string `query:"a" required:"true" maxLength:"64" doc:"A run's id, or at least 4 characters that its id alone begins or ends with."`
	B string `query:"b" maxLength:"64" doc:"The other run; nothing: the last one of the same plan that went well."`
}

type compareOut struct{ Body rundiff.Comparison }

func (h runHandler) compareRoutes(a *API) {
	mount(a, huma.Operation{OperationID: "compare-runs", Method: http.MethodGet, Path: "/run-comparison", Tags: []string{"runs"},
		Summary: "Two runs side by side: where they part, and what differs in every step"},
		func(ctx context.Context, in *compareIn) (*compareOut, error) {
			c, err := h.runs.Compare(ctx, actorOf(ctx), in.A, in.B)
			return &compareOut{c}, err
		})
}
