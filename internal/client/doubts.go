package client

import (
	"context"
	"net/http"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// Doubts returns a page of the attempts in doubt, those of the newest runs first.
func (c *Client) Doubts(ctx context.Context, f domain.DoubtFilter) (domain.List[apitypes.Doubt], error) {
	q := pageQuery(f.Page)
	for k, v := range map[string]string{"plan": f.Plan, "node": f.Node, "run": f.Run} {
		if v != "" {
			q.Set(k, v)
		}
	}
	var out list[apitypes.Doubt]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/doubts", query: q, into: &out})
	return domain.List[apitypes.Doubt]{Items: out.Items, Next: out.Next}, err
}
