package client

import "net/http"

// Transport returns the transport of a client.
func Transport(c *Client) http.RoundTripper { return c.http.Transport }
