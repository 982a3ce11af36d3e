package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
)

// PreviewBulk says what an act on many runs would do.
func (c *Client) PreviewBulk(ctx context.Context, r domain.BulkRequest) (domain.BulkPreview, error) {
	var out domain.BulkPreview
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/bulk-previews", body: r, into: &out})
	return out, err
}

// StartBulk begins an act on many runs.
func (c *Client) StartBulk(ctx context.Context, r domain.BulkRequest) (domain.Bulk, error) {
	var out domain.Bulk
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/bulk-operations", body: r, into: &out})
	return out, err
}

// StopBulk ends an act on many runs; those not reached stay as they are.
func (c *Client) StopBulk(ctx context.Context, id, reason string) (domain.Bulk, error) {
	var out domain.Bulk
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: "/bulk-operations/" + url.PathEscape(id) + "/stop", body: reasonWire{reason}, into: &out},
	)
	return out, err
}

// Bulks lists the newest acts on many runs.
func (c *Client) Bulks(ctx context.Context, limit int) ([]domain.Bulk, error) {
	items, err := all[domain.Bulk](ctx, c, "/bulk-operations", nil, limit)
	return items, err
}

// BulkAct says how far an act on many runs is.
func (c *Client) BulkAct(ctx context.Context, id string) (domain.Bulk, error) {
	var out domain.Bulk
	_, err := c.do(
		ctx,
		call{method: http.MethodGet, path: "/bulk-operations/" + url.PathEscape(id), query: url.Values{"limit": {"1"}}, into: &out},
	)
	return out, err
}

// BulkItems lists the runs of an act on many.
func (c *Client) BulkItems(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error) {
	var out struct {
		Items []domain.BulkItem `json:"items"`
	}
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/bulk-operations/" + url.PathEscape(id),
		query: url.Values{"limit": {strconv.Itoa(limit)}, "after": {strconv.FormatInt(after, 10)}}, into: &out})
	return out.Items, err
}

// FailureGroups lists failed runs by what failed.
func (c *Client) FailureGroups(ctx context.Context, limit int) ([]domain.FailureGroup, error) {
	return all[domain.FailureGroup](ctx, c, "/failures", nil, limit)
}

// AckFailures takes note of a group of failures and says how many runs it has;
// who asks is the token's owner. UnackFailures takes that back.
func (c *Client) AckFailures(ctx context.Context, ref domain.FailureRef, note string) (int64, error) {
	return c.noteFailures(ctx, "acknowledge", ref, note)
}

// UnackFailures takes an acknowledgement back.
func (c *Client) UnackFailures(ctx context.Context, ref domain.FailureRef) (int64, error) {
	return c.noteFailures(ctx, "unacknowledge", ref, "")
}

func (c *Client) noteFailures(ctx context.Context, act string, ref domain.FailureRef, note string) (int64, error) {
	var out struct {
		Runs int64 `json:"runs"`
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/failures/" + act, into: &out,
		body: map[string]string{"plan": ref.PlanKey, "node": ref.Node, "code": ref.Code, "fingerprint": ref.Fingerprint, "note": note}})
	return out.Runs, err
}
