package client

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Agents lists the daemon's agents by id.
func (c *Client) Agents(ctx context.Context) ([]domain.AgentInfo, error) {
	items, err := all[domain.AgentInfo](ctx, c, "/agents", nil, 0)
	return items, err
}

// Providers lists the daemon's model providers with the results of their calls.
func (c *Client) Providers(ctx context.Context) ([]domain.ProviderInfo, error) {
	items, err := all[domain.ProviderInfo](ctx, c, "/providers", nil, 0)
	return items, err
}

// Conversation returns the messages and the handoffs of a run's agents.
func (c *Client) Conversation(ctx context.Context, run string) (out domain.Conversation, err error) {
	if out.Messages, err = all[domain.AgentMessage](ctx, c, runPath(run)+"/messages", nil, 0); err != nil {
		return out, err
	}
	out.Handoffs, err = c.RunHandoffs(ctx, run)
	return out, err
}

// RunHandoffs lists the handoffs of a run, in order.
func (c *Client) RunHandoffs(ctx context.Context, run string) ([]domain.Handoff, error) {
	return all[domain.Handoff](ctx, c, runPath(run)+"/handoffs", nil, 0)
}
