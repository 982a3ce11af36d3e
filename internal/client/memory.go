package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
)

// MemorySessions lists an owner's sessions that have a memory, by name. An empty owner means the
// caller.
func (c *Client) MemorySessions(ctx context.Context, owner string, p domain.Page) (domain.List[domain.MemorySession], error) {
	var out list[domain.MemorySession]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/sessions", query: memoryQuery(owner, p), into: &out})
	return domain.List[domain.MemorySession]{Items: out.Items, Next: out.Next}, err
}

// Memories lists the exchanges that a session remembers, newest first.
func (c *Client) Memories(ctx context.Context, owner, session string, p domain.Page) (domain.List[domain.Memory], error) {
	var out list[domain.Memory]
	_, err := c.do(
		ctx,
		call{method: http.MethodGet, path: "/sessions/" + url.PathEscape(session) + "/memory", query: memoryQuery(owner, p), into: &out},
	)
	return domain.List[domain.Memory]{Items: out.Items, Next: out.Next}, err
}

// Forget deletes the memory of a session and returns the number of deleted exchanges.
func (c *Client) Forget(ctx context.Context, owner, session, reason string) (int64, error) {
	var out struct {
		Exchanges int64 `json:"exchanges"`
	}
	q := memoryQuery(owner, domain.Page{})
	if reason != "" {
		q.Set("reason", reason)
	}
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/sessions/" + url.PathEscape(session) + "/memory", query: q, into: &out})
	return out.Exchanges, err
}

func memoryQuery(owner string, p domain.Page) url.Values {
	q := url.Values{}
	if owner != "" {
		q.Set("owner", owner)
	}
	if p.After != "" {
		q.Set("cursor", p.After)
	}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	return q
}
