package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// MCP returns the address of the MCP server, and a client that sends the token with each request.
func (c *Client) MCP() (endpoint string, h *http.Client) {
	return c.origin + "/mcp", &http.Client{Transport: bearer{c.http.Transport, c.token}, CheckRedirect: c.http.CheckRedirect}
}

// bearer adds a token to requests.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(r)
}

// Confirm confirms an action that an MCP client previewed.
func (c *Client) Confirm(ctx context.Context, run string, r apitypes.RunConfirm) (p domain.Preview, err error) {
	_, err = c.do(ctx, call{method: http.MethodPost, path: "/runs/" + url.PathEscape(run) + "/confirm", body: r, into: &p})
	return p, err
}

// Refuse refuses an action that an MCP client asks for.
func (c *Client) Refuse(ctx context.Context, run string, r apitypes.RunConfirm) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/runs/" + url.PathEscape(run) + "/refuse", body: r})
	return err
}

// RequestedActions lists the actions that MCP clients ask a person to confirm, newest first.
func (c *Client) RequestedActions(ctx context.Context) ([]domain.RequestedAction, error) {
	var out apitypes.RequestedActions
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/requested-actions", into: &out})
	return out.Actions, err
}
