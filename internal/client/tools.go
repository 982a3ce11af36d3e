package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
)

// Tools lists the tools of the daemon by name.
func (c *Client) Tools(ctx context.Context) ([]domain.ToolInfo, error) {
	var out list[domain.ToolInfo]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/tools", into: &out})
	return out.Items, err
}

// AcceptTool takes the definition that an MCP server offers now for the accepted
// one, if it has the digest (empty: whatever it is).
func (c *Client) AcceptTool(ctx context.Context, name, digest, reason string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/tools/" + url.PathEscape(name) + "/accept", body: map[string]any{"digest": digest, "reason": reason}})
	return err
}

// ToolServers lists the MCP servers of the daemon by name.
func (c *Client) ToolServers(ctx context.Context) ([]domain.ToolServer, error) {
	var out list[domain.ToolServer]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/mcp", into: &out})
	return out.Items, err
}

// RetryToolServer starts an MCP server again that was given up.
func (c *Client) RetryToolServer(ctx context.Context, name, reason string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/mcp/" + url.PathEscape(name) + "/retry", body: map[string]any{"reason": reason}})
	return err
}

// StopTool lets nobody call a tool of the daemon any more, or lets it be called
// again.
func (c *Client) StopTool(ctx context.Context, name string, on bool, reason string) error {
	return c.stop(ctx, "/tools/", name, on, reason)
}

// StopProvider is StopTool for a provider of models.
func (c *Client) StopProvider(ctx context.Context, name string, on bool, reason string) error {
	return c.stop(ctx, "/providers/", name, on, reason)
}

func (c *Client) stop(ctx context.Context, kind, name string, on bool, reason string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: kind + url.PathEscape(name) + "/stop", body: map[string]any{"on": on, "reason": reason}})
	return err
}

// ChangeToolCircuit opens or closes a circuit of a tool of the daemon.
func (c *Client) ChangeToolCircuit(ctx context.Context, name string, ch domain.CircuitChange) error {
	return c.circuit(ctx, "/tools/", name, ch)
}

// ChangeProviderCircuit is ChangeToolCircuit for a provider of models.
func (c *Client) ChangeProviderCircuit(ctx context.Context, name string, ch domain.CircuitChange) error {
	return c.circuit(ctx, "/providers/", name, ch)
}

func (c *Client) circuit(ctx context.Context, kind, name string, ch domain.CircuitChange) error {
	body := map[string]any{"open": ch.Open, "reason": ch.Reason}
	if ch.Part != "" {
		body["part"] = ch.Part
	}
	if ch.For != 0 {
		body["for"] = ch.For.String()
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: kind + url.PathEscape(name) + "/circuit", body: body})
	return err
}
