package client

import (
	"context"
	"net/http"
)

// ExportRun returns the archive of a run as the server packs and signs it.
func (c *Client) ExportRun(ctx context.Context, run string) ([]byte, error) {
	var raw []byte
	_, err := c.do(ctx, call{method: http.MethodGet, path: runPath(run) + "/export", into: &raw})
	return raw, err
}
