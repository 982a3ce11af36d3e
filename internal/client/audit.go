package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// AuditEvents lists the audit log, newest first. It uses the Query and Page of the filter.
func (c *Client) AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error) {
	q := pageQuery(f.Page)
	if f.Query != "" {
		q.Set("filter", f.Query)
	}
	var out list[apitypes.AuditEvent]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/audit/events", query: q, into: &out})
	return mapList(out, apitypes.AuditEvent.Domain), err
}

// AuditEvent returns one event of the audit log.
func (c *Client) AuditEvent(ctx context.Context, seq int64) (domain.AuditEvent, error) {
	var out apitypes.AuditEvent
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/audit/events/" + strconv.FormatInt(seq, 10), into: &out})
	return out.Domain(), err
}
