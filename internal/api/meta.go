package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
)

func (a *API) metaRoutes() {
	mount(a, huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: "/openapi.json", Tags: []string{"meta"},
		Summary: "This description",
		Responses: map[string]*huma.Response{
			"200": {
				Description: "OpenAPI 3.1",
				Content:     map[string]*huma.MediaType{"application/openapi+json": {Schema: &huma.Schema{Type: huma.TypeObject}}},
			},
		},
	}, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		text, err := a.description()
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			ctx.SetHeader("Content-Type", "application/openapi+json")
			if _, err := ctx.BodyWriter().Write(text); err != nil {
				a.Log.Debug("write the description", "err", err)
			}
		}}, nil
	})

	mount(a, huma.Operation{
		OperationID: "get-version", Method: http.MethodGet, Path: "/version", Tags: []string{"meta"},
		Summary: "Get the version of the server",
	}, func(context.Context, *struct{}) (*versionOut, error) { return &versionOut{Body: a.Version}, nil })

	mount(a, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/me", Tags: []string{"meta"},
		Summary: "Get the principal of this request",
	}, func(ctx context.Context, _ *struct{}) (*meOut, error) {
		actor := actorOf(ctx)
		me := apitypes.Me{
			Name:   actor.Name,
			Role:   actor.Role,
			Source: actor.Source,
			Scopes: strings.Fields(actor.Scopes),
			Routes: []string{},
		}
		for _, r := range a.routes {
			if app.Allow(actor, r.op) == nil {
				me.Routes = append(me.Routes, r.method+" "+r.path)
			}
		}
		slices.Sort(me.Routes)
		return &meOut{Body: me}, nil
	})
}

type versionOut struct{ Body apitypes.Version }

type meOut struct{ Body apitypes.Me }
