package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// SpendQuery selects the usage of models. By has names of [apitypes.SpendBy]. Since is 24h, 7d, or
// a time, and Period is one of [apitypes.SpendPeriods] or empty. Label is the key of the only label to sum by.
type SpendQuery struct {
	By                   []string
	Label, Since, Period string
	Page                 domain.Page
}

func (r SpendQuery) query() url.Values {
	q := pageQuery(r.Page)
	for k, v := range map[string]string{"by": strings.Join(r.By, ","), "label": r.Label, "since": r.Since, "period": r.Period} {
		if v != "" {
			q.Set(k, v)
		}
	}
	return q
}

// Spend returns a page of the usage and the cost of model calls.
func (c *Client) Spend(ctx context.Context, r SpendQuery) (apitypes.SpendSums, error) {
	var out apitypes.SpendSums
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/spend", query: r.query(), into: &out})
	return out, err
}

// SpendCSV returns the whole list as CSV.
func (c *Client) SpendCSV(ctx context.Context, r SpendQuery) ([]byte, error) {
	q := r.query()
	q.Set("format", "csv")
	var out []byte
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/spend", query: q, accept: "text/csv", into: &out})
	return out, err
}
