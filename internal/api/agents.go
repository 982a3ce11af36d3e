package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// Crew is who acts with models.
type Crew interface {
	// Agents lists the agents by id.
	Agents(ctx context.Context) ([]domain.AgentInfo, error)
	// Providers lists the models' providers by name, with how their calls went.
	Providers(ctx context.Context) ([]domain.ProviderInfo, error)
}

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
	there := func() error {
		if a.Crew == nil {
			return domain.Errorf(domain.CodeUnavailable, "there are no agents here")
		}
		return nil
	}
	register(a, huma.Operation{OperationID: "list-agents", Method: http.MethodGet, Path: "/agents", Tags: tags,
		Summary: "List agents: what they can do, with which model and tools"},
		func(ctx context.Context, _ *struct{}) (*agentsOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			list, err := a.Crew.Agents(ctx)
			if err != nil {
				return nil, err
			}
			return &agentsOut{Body: listOf(list, "", func(v domain.AgentInfo) domain.AgentInfo { return v })}, nil
		})
	register(a, huma.Operation{OperationID: "list-providers", Method: http.MethodGet, Path: "/providers", Tags: tags,
		Summary: "List the providers of models: how their calls went, and the last error"},
		func(ctx context.Context, _ *struct{}) (*providersOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			list, err := a.Crew.Providers(ctx)
			if err != nil {
				return nil, err
			}
			return &providersOut{Body: listOf(list, "", func(v domain.ProviderInfo) domain.ProviderInfo { return v })}, nil
		})
	register(a, huma.Operation{OperationID: "get-agent", Method: http.MethodGet, Path: "/agents/{id}", Tags: tags, Summary: "One agent"},
		func(ctx context.Context, in *agentIn) (*agentOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			list, err := a.Crew.Agents(ctx)
			if err != nil {
				return nil, err
			}
			v, err := named(list, in.ID, "agent", "/agents", func(v domain.AgentInfo) string { return v.ID })
			return &agentOut{v}, err
		})
	register(a, huma.Operation{OperationID: "get-provider", Method: http.MethodGet, Path: "/providers/{name}", Tags: tags, Summary: "One provider of models"},
		func(ctx context.Context, in *providerIn) (*providerOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			list, err := a.Crew.Providers(ctx)
			if err != nil {
				return nil, err
			}
			v, err := named(list, in.Name, "provider", "/providers", func(v domain.ProviderInfo) string { return v.Name })
			return &providerOut{v}, err
		})
	register(a, huma.Operation{OperationID: "list-messages", Method: http.MethodGet, Path: "/runs/{id}/messages", Tags: []string{"runs"},
		Summary: "List what a run's agents said to each other, and its handoffs"},
		func(ctx context.Context, in *messagesIn) (*messagesOut, error) {
			c, err := a.App.Runs.Conversation(ctx, actorOf(ctx), in.ID)
			return &messagesOut{c}, err
		})
}

// named finds one of a list by its name, as it stands in an address.
func named[T any](list []T, escaped, what, at string, name func(T) string) (found T, err error) {
	want, err := url.PathUnescape(escaped)
	if err != nil {
		want = escaped
	}
	for _, x := range list {
		if name(x) == want {
			return x, nil
		}
	}
	return found, domain.Errorf(domain.CodeNotFound, "there is no %s %q", what, want).Suggest("GET %s lists them", at)
}
