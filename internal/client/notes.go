package client

import (
	"context"
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
)

// Notes returns the notes of a run, in order.
func (c *Client) Notes(ctx context.Context, run string) ([]domain.Note, error) {
	return all[domain.Note](ctx, c, runPath(run)+"/notes", nil, 0)
}

// AddNote adds a note to a run. Its author is the principal of the client.
func (c *Client) AddNote(ctx context.Context, run, text string) (domain.Note, error) {
	var out domain.Note
	_, err := c.do(ctx, call{method: http.MethodPost, path: runPath(run) + "/notes", body: map[string]string{"text": text}, into: &out})
	return out, err
}
