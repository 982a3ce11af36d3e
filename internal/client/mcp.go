package client

import "net/http"

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
