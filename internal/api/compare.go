package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
)

type compareIn struct {
	A string `query:"a" required:"true" maxLength:"64" doc:"A run's id, or a unique prefix or suffix of it with at least 4 characters."`
	B string `query:"b" maxLength:"64" doc:"The other run; absent: the last completed run of the same plan."`
}

type compareOut struct{ Body rundiff.Comparison }

func (h runHandler) compareRoutes(a *API) {
	mount(a, huma.Operation{OperationID: "compare-runs", Method: http.MethodGet, Path: "/run-comparison", Tags: []string{"runs"},
		Summary: "Compare two runs step by step"},
		func(ctx context.Context, in *compareIn) (*compareOut, error) {
			c, err := h.runs.Compare(ctx, actorOf(ctx), in.A, in.B)
			return &compareOut{c}, err
		})
}
