package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/kairosd/kairosd/internal/kairos"
)

// AuditEvents lists the audit log, newest first, by the filter's Query and Page.
func (c *Client) AuditEvents(ctx context.Context, f kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error) {
	q := pageQuery(f.Page)
	if f.Query != "" {
		q.Set("q", f.Query)
	}
	var out list[kairos.AuditView]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/audit", query: q, into: &out})
	return mapList(out, kairos.AuditView.Event), err
}

// AuditEvent is one event of the audit log.
func (c *Client) AuditEvent(ctx context.Context, seq int64) (kairos.AuditEvent, error) {
	var out kairos.AuditView
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/audit/" + strconv.FormatInt(seq, 10), into: &out})
	return out.Event(), err
}
