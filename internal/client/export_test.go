package client

import "net/http"

// Transport is how a client sends its requests.
func Transport(c *Client) http.RoundTripper { return c.http.Transport }
