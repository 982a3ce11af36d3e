package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

type (
	agentsOut struct {
		Body apitypes.List[domain.AgentInfo]
	}
	providersOut struct {
		Body apitypes.List[domain.ProviderInfo]
	}
	agentIn struct {
		ID string `path:"id" maxLength:"128"`
	}
	agentOut   struct{ Body domain.AgentInfo }
	providerIn struct {
		Name string `path:"name" maxLength:"128"`
	}
	providerOut      struct{ Body domain.ProviderInfo }
	enableProviderIn struct {
		Name string `path:"name" maxLength:"200"`
		Body *ReasonOptions
	}
)

// agentHandler serves agents and providers of models.
type agentHandler struct {
	*kernel
	agents    *app.Agents
	providers *app.Providers
}

func (h agentHandler) routes(a *API) {
	h.spendRoutes(a)
	tags := []string{"agents"}
	mount(a, huma.Operation{OperationID: "list-agents", Method: http.MethodGet, Path: "/agents", Tags: tags,
		Summary: "List agents with their models and tools"},
		func(ctx context.Context, in *ListIn) (*agentsOut, error) {
			list, err := h.agents.List(ctx, actorOf(ctx))
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, list, func(v domain.AgentInfo) string { return v.ID }, same)
			return &agentsOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "list-providers", Method: http.MethodGet, Path: "/providers", Tags: tags,
		Summary: "List model providers with statistics of their calls"},
		func(ctx context.Context, in *ListIn) (*providersOut, error) {
			list, err := h.providers.List(ctx, actorOf(ctx))
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, list, func(v domain.ProviderInfo) string { return v.Name }, same)
			return &providersOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "get-agent", Method: http.MethodGet, Path: "/agents/{id}", Tags: tags, Summary: "Get an agent"},
		func(ctx context.Context, in *agentIn) (*agentOut, error) {
			v, err := h.agents.Get(ctx, actorOf(ctx), in.ID)
			return &agentOut{v}, err
		})
	mount(
		a,
		huma.Operation{
			OperationID: "get-provider",
			Method:      http.MethodGet,
			Path:        "/providers/{name}",
			Tags:        tags,
			Summary:     "Get a model provider",
		},
		func(ctx context.Context, in *providerIn) (*providerOut, error) {
			v, err := h.providers.Get(ctx, actorOf(ctx), in.Name)
			return &providerOut{v}, err
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID: "disable-provider",
			Method:      http.MethodPost,
			Path:        "/providers/{name}/disable",
			Tags:        []string{"providers"},
			Summary:     "Disable a provider",
			Description: refused,
		},
		func(ctx context.Context, in *disableIn) (*providerOut, error) {
			p, err := h.providers.Disable(ctx, app.DisableRequest{Meta: meta(ctx), Name: in.Name, Reason: in.Body.Reason})
			return &providerOut{p}, err
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID: "enable-provider",
			Method:      http.MethodPost,
			Path:        "/providers/{name}/enable",
			Tags:        []string{"providers"},
			Summary:     "Enable a provider, and close its circuit",
			Description: "A repetition changes nothing.",
		},
		func(ctx context.Context, in *enableProviderIn) (*providerOut, error) {
			body := cmp.Or(in.Body, &ReasonOptions{})
			p, err := h.providers.Enable(ctx, app.EnableRequest{Meta: meta(ctx), Name: in.Name, Reason: body.Reason})
			return &providerOut{p}, err
		},
	)
}
