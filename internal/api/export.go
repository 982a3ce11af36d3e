package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app/bundle"
)

func (h runHandler) exportRoutes(a *API) {
	mount(a, huma.Operation{OperationID: "export-run", Method: http.MethodGet, Path: "/runs/{id}/export", Tags: []string{"runs"},
		Summary: "Export a run as an archive",
		Responses: map[string]*huma.Response{
			"200": {
				Description: "tar, compressed with Zstandard",
				Content:     map[string]*huma.MediaType{bundle.MediaType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
			},
		},
	}, h.exportRun)
}

func (h runHandler) exportRun(ctx context.Context, in *RunIn) (*huma.StreamResponse, error) {
	run, b, err := h.runs.Export(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", bundle.MediaType)
		ctx.SetHeader("Content-Disposition", `attachment; filename="`+bundle.Name(run.ID)+`"`)
		if err := b.Write(ctx.BodyWriter()); err != nil {
			h.log.Debug("write an export", "run", run.ID, "err", err)
		}
	}}, nil
}
