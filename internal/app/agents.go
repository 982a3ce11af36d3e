package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Agents are the operations on agents.
type Agents struct{ *kernel }

// List returns the agents by id.
//
// Errors: forbidden.
func (a *Agents) List(ctx context.Context, by domain.Actor) ([]domain.AgentInfo, error) {
	if err := a.allow(ctx, ListAgents, by, ""); err != nil {
		return nil, err
	}
	return a.tools().Agents(ctx)
}

// Get returns one agent.
//
// Errors: not_found, forbidden.
func (a *Agents) Get(ctx context.Context, by domain.Actor, id string) (domain.AgentInfo, error) {
	if err := a.allow(ctx, GetAgent, by, ""); err != nil {
		return domain.AgentInfo{}, err
	}
	list, err := a.tools().Agents(ctx)
	if err != nil {
		return domain.AgentInfo{}, err
	}
	return named(list, id, "agent", func(a domain.AgentInfo) string { return a.ID })
}

// Providers are the operations on providers of models.
type Providers struct{ *kernel }

// List returns the providers by name, with the results of their calls.
//
// Errors: forbidden.
func (p *Providers) List(ctx context.Context, by domain.Actor) ([]domain.ProviderInfo, error) {
	if err := p.allow(ctx, ListProviders, by, ""); err != nil {
		return nil, err
	}
	return p.tools().Providers(ctx)
}

// Get returns one provider.
//
// Errors: not_found, forbidden.
func (p *Providers) Get(ctx context.Context, by domain.Actor, name string) (domain.ProviderInfo, error) {
	if err := p.allow(ctx, GetProvider, by, ""); err != nil {
		return domain.ProviderInfo{}, err
	}
	return p.named(name)(ctx)
}

// named finds one provider.
func (p *Providers) named(name string) func(ctx context.Context) (domain.ProviderInfo, error) {
	return func(ctx context.Context) (domain.ProviderInfo, error) {
		list, err := p.tools().Providers(ctx)
		if err != nil {
			return domain.ProviderInfo{}, err
		}
		return named(list, name, "provider", func(p domain.ProviderInfo) string { return p.Name })
	}
}

// Disable disables a provider; see [Tools.Disable].
//
// Errors: not_found, invalid (there is no reason), unavailable (there is no store), forbidden.
func (p *Providers) Disable(ctx context.Context, req DisableRequest) (domain.ProviderInfo, error) {
	return change(ctx, p.kernel, DisableProvider, req.Meta, req, p.named(req.Name), func(ctx context.Context, keep *keeper) error {
		if err := reasoned(req.Reason); err != nil {
			return err
		}
		return p.tools().DisableProvider(ctx, keep, req.By, req.Name, req.Reason)
	})
}

// Enable enables a provider, which has one circuit; see [Tools.Enable].
//
// Errors: not_found, invalid (a host is given), unavailable (there is no store), forbidden.
func (p *Providers) Enable(ctx context.Context, req EnableRequest) (domain.ProviderInfo, error) {
	find := findOr(p.named(req.Name), domain.ProviderInfo{Name: req.Name})
	return change(ctx, p.kernel, EnableProvider, req.Meta, req, find, func(ctx context.Context, keep *keeper) error {
		if req.Host != "" {
			return domain.Errorf(domain.CodeInvalid, "providers have no circuits per host").Suggest("enable it without a host")
		}
		return p.tools().EnableProvider(ctx, keep, req.Name, req.Reason)
	})
}
