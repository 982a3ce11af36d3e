package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

type (
	agentsOut    struct{ Body List[domain.AgentInfo] }
	providersOut struct{ Body List[domain.ProviderInfo] }
	agentIn      struct {
		ID string `path:"id" maxLength:"128"`
	}
	agentOut   struct{ Body domain.AgentInfo }
	providerIn struct {
		Name string `path:"name" maxLength:"128"`
	}
	providerOut struct{ Body domain.ProviderInfo }
	messagesIn  struct{ RunIn }
	messagesOut struct{ Body domain.Conversation }
)

func (a *API) agentRoutes() {
	tags := []string{"agents"}
	mount(a, huma.Operation{OperationID: "list-agents", Method: http.MethodGet, Path: "/agents", Tags: tags,
		Summary: "List agents: what they can do, with which model and tools"},
		func(ctx context.Context, _ *struct{}) (*agentsOut, error) {
			list, err := a.App.Agents.List(ctx, actorOf(ctx))
			return &agentsOut{Body: listOf(list, "", func(v domain.AgentInfo) domain.AgentInfo { return v })}, err
		})
	mount(a, huma.Operation{OperationID: "list-providers", Method: http.MethodGet, Path: "/providers", Tags: tags,
		Summary: "List the providers of models: how their calls went, and the last error"},
		func(ctx context.Context, _ *struct{}) (*providersOut, error) {
			list, err := a.App.Providers.List(ctx, actorOf(ctx))
			return &providersOut{Body: listOf(list, "", func(v domain.ProviderInfo) domain.ProviderInfo { return v })}, err
		})
	mount(a, huma.Operation{OperationID: "get-agent", Method: http.MethodGet, Path: "/agents/{id}", Tags: tags, Summary: "One agent"},
		func(ctx context.Context, in *agentIn) (*agentOut, error) {
			v, err := a.App.Agents.Get(ctx, actorOf(ctx), unescaped(in.ID))
			return &agentOut{v}, err
		})
	mount(a, huma.Operation{OperationID: "get-provider", Method: http.MethodGet, Path: "/providers/{name}", Tags: tags, Summary: "One provider of models"},
		func(ctx context.Context, in *providerIn) (*providerOut, error) {
			v, err := a.App.Providers.Get(ctx, actorOf(ctx), unescaped(in.Name))
			return &providerOut{v}, err
		})
	mount(a, huma.Operation{OperationID: "list-messages", Method: http.MethodGet, Path: "/runs/{id}/messages", Tags: []string{"runs"},
		Summary: "List what a run's agents said to each other, and its handoffs"},
		func(ctx context.Context, in *messagesIn) (*messagesOut, error) {
			c, err := a.App.Runs.Conversation(ctx, actorOf(ctx), in.ID)
			return &messagesOut{c}, err
		})
}

// unescaped is a name as it was before it became part of an address.
func unescaped(name string) string {
	if want, err := url.PathUnescape(name); err == nil {
		return want
	}
	return name
}
