package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Tools lists the tools of the daemon by name.
func (c *Client) Tools(ctx context.Context) ([]kairos.ToolInfo, error) {
	var out list[kairos.ToolInfo]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/tools", into: &out})
	return out.Items, err
}

// AcceptTool takes the definition that an MCP server offers now for the accepted
// one.
func (c *Client) AcceptTool(ctx context.Context, _ kairos.Actor, name, reason string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/tools/" + url.PathEscape(name) + "/accept", body: map[string]any{"reason": reason}})
	return err
}
