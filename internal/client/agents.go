package client

import (
	"context"
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
)

// Agents lists the daemon's agents by id.
func (c *Client) Agents(ctx context.Context) ([]domain.AgentInfo, error) {
	items, err := all[domain.AgentInfo](ctx, c, "/agents", nil, 0)
	return items, err
}

// Providers lists the daemon's models and how their calls go.
func (c *Client) Providers(ctx context.Context) ([]domain.ProviderInfo, error) {
	items, err := all[domain.ProviderInfo](ctx, c, "/providers", nil, 0)
	return items, err
}

// Conversation is what a run's agents said to each other.
func (c *Client) Conversation(ctx context.Context, run string) (domain.Conversation, error) {
	var out domain.Conversation
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/runs/" + run + "/messages", into: &out})
	return out, err
}
