package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
)

// Tools lists the tools of the daemon by name.
func (c *Client) Tools(ctx context.Context) ([]domain.ToolInfo, error) {
	items, err := all[domain.ToolInfo](ctx, c, "/tools", nil, 0)
	return items, err
}

// AcceptTool accepts the definition that an MCP server offers now, if it has the digest. An empty
// digest accepts any definition.
func (c *Client) AcceptTool(ctx context.Context, name, digest, reason string) error {
	_, err := c.do(
		ctx,
		call{
			method: http.MethodPost,
			path:   "/tools/" + url.PathEscape(name) + "/accept",
			body:   map[string]any{"digest": digest, "reason": reason},
		},
	)
	return err
}

// ToolServers lists the MCP servers of the daemon by name.
func (c *Client) ToolServers(ctx context.Context) ([]domain.ToolServer, error) {
	items, err := all[domain.ToolServer](ctx, c, "/tool-servers", nil, 0)
	return items, err
}

// RetryToolServer starts a disabled MCP server again.
func (c *Client) RetryToolServer(ctx context.Context, name, reason string) error {
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: "/tool-servers/" + url.PathEscape(name) + "/retry", body: map[string]any{"reason": reason}},
	)
	return err
}

// DisableTool rejects new calls of a tool until it is enabled.
func (c *Client) DisableTool(ctx context.Context, name, reason string) error {
	return c.turn(ctx, "/tools/", name, "/disable", map[string]any{"reason": reason})
}

// EnableTool allows calls of a disabled tool and closes its circuits. With a host, it closes only
// the circuit of that host.
func (c *Client) EnableTool(ctx context.Context, name, host, reason string) error {
	return c.turn(ctx, "/tools/", name, "/enable", map[string]any{"host": host, "reason": reason})
}

// DisableProvider disables a provider of models; see DisableTool.
func (c *Client) DisableProvider(ctx context.Context, name, reason string) error {
	return c.turn(ctx, "/providers/", name, "/disable", map[string]any{"reason": reason})
}

// EnableProvider allows calls of a disabled provider and closes its circuit.
func (c *Client) EnableProvider(ctx context.Context, name, reason string) error {
	return c.turn(ctx, "/providers/", name, "/enable", map[string]any{"reason": reason})
}

func (c *Client) turn(ctx context.Context, kind, name, action string, body map[string]any) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: kind + url.PathEscape(name) + action, body: body})
	return err
}
