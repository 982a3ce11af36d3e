package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Agents are the operations on agents.
type Agents struct{ *kernel }

// List gives the agents by id.
//
// Errors: forbidden.
func (a *Agents) List(ctx context.Context, by domain.Actor) ([]domain.AgentInfo, error) {
	if err := a.allow(ctx, ListAgents, by, ""); err != nil {
		return nil, err
	}
	return a.tools().Agents(ctx)
}

// Get gives one agent.
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

// List gives the providers by name, with how their calls went.
//
// Errors: forbidden.
func (p *Providers) List(ctx context.Context, by domain.Actor) ([]domain.ProviderInfo, error) {
	if err := p.allow(ctx, ListProviders, by, ""); err != nil {
		return nil, err
	}
	return p.tools().Providers(ctx)
}

// Get gives one provider.
//
// Errors: not_found, forbidden.
func (p *Providers) Get(ctx context.Context, by domain.Actor, name string) (domain.ProviderInfo, error) {
	if err := p.allow(ctx, GetProvider, by, ""); err != nil {
		return domain.ProviderInfo{}, err
	}
	list, err := p.tools().Providers(ctx)
	if err != nil {
		return domain.ProviderInfo{}, err
	}
	return named(list, name, "provider", func(p domain.ProviderInfo) string { return p.Name })
}

// Stop is [Tools.Stop] for a provider: it is drained.
//
// Errors: not_found, conflict (it is so already), unavailable (nothing keeps it here),
// forbidden.
func (p *Providers) Stop(ctx context.Context, req StopCalls) error {
	return p.change(ctx, StopProvider, req.Meta, req, func(keep keeper) error {
		return p.tools().StopProvider(ctx, keep, req.By, req.Name, req.On, req.Reason)
	})
}

// ChangeCircuit is [Tools.ChangeCircuit] for a provider, which has one circuit.
//
// Errors: not_found, invalid (the time is too short or too long), conflict (it is closed
// already, or too many are open), unavailable (nothing keeps it here), forbidden.
func (p *Providers) ChangeCircuit(ctx context.Context, req CircuitRequest) error {
	return p.change(ctx, ChangeProviderCircuit, req.Meta, req, func(keep keeper) error {
		return p.tools().ChangeProviderCircuit(ctx, keep, req.By, req.Name, req.CircuitChange)
	})
}
