package client

import (
	"context"
	"net/http"
)

// ExportRun returns the archive of a run, packed and signed by the server.
func (c *Client) ExportRun(ctx context.Context, run string) ([]byte, error) {
	var raw []byte
	_, err := c.do(ctx, call{method: http.MethodGet, path: runPath(run) + "/export", into: &raw})
	return raw, err
}
