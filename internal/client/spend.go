package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// SpendQuery selects the usage of models. By has names of [apitypes.SpendBy]. Since is 24h, 7d, or
// a time, and Period is hour, day, or empty.
type SpendQuery struct {
	By            []string
	Since, Period string
	Page          domain.Page
}

// Spend returns a page of the usage and the cost of model calls.
func (c *Client) Spend(ctx context.Context, r SpendQuery) (domain.List[apitypes.Spend], error) {
	q := pageQuery(r.Page)
	for k, v := range map[string]string{"by": strings.Join(r.By, ","), "since": r.Since, "period": r.Period} {
		if v != "" {
			q.Set(k, v)
		}
	}
	var out list[apitypes.Spend]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/spend", query: q, into: &out})
	return domain.List[apitypes.Spend]{Items: out.Items, Next: out.Next}, err
}
