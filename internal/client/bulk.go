package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// PreviewBulk predicts the effect of a bulk operation.
func (c *Client) PreviewBulk(ctx context.Context, r domain.BulkRequest) (domain.BulkPreview, error) {
	var out domain.BulkPreview
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/bulk-operations", query: url.Values{"preview": {"true"}},
		body: apitypes.BulkRequestOf(r), into: &out})
	return out, err
}

// StartBulk starts a bulk operation.
func (c *Client) StartBulk(ctx context.Context, r domain.BulkRequest) (apitypes.BulkOperation, error) {
	var out apitypes.BulkOperation
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/bulk-operations", body: apitypes.BulkRequestOf(r), into: &out})
	return out, err
}

// StopBulk stops a bulk operation. The remaining runs do not change.
func (c *Client) StopBulk(ctx context.Context, id, reason string) (apitypes.BulkOperation, error) {
	var out apitypes.BulkOperation
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: "/bulk-operations/" + url.PathEscape(id) + "/stop", body: reasonWire{reason}, into: &out},
	)
	return out, err
}

// Bulks lists the newest bulk operations.
func (c *Client) Bulks(ctx context.Context, limit int) ([]apitypes.BulkOperation, error) {
	return all[apitypes.BulkOperation](ctx, c, "/bulk-operations", nil, limit)
}

// BulkAct returns a bulk operation.
func (c *Client) BulkAct(ctx context.Context, id string) (apitypes.BulkOperation, error) {
	var out apitypes.BulkOperation
	_, err := c.do(
		ctx,
		call{method: http.MethodGet, path: "/bulk-operations/" + url.PathEscape(id), into: &out},
	)
	return out, err
}

// BulkItems lists the runs of a bulk operation, in order: those with a status, unless it is empty.
func (c *Client) BulkItems(ctx context.Context, id, status string) ([]domain.BulkItem, error) {
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	return all[domain.BulkItem](ctx, c, "/bulk-operations/"+url.PathEscape(id)+"/items", query, 0)
}

// FailureGroups lists failure groups.
func (c *Client) FailureGroups(ctx context.Context, limit int) ([]domain.FailureGroup, error) {
	return all[domain.FailureGroup](ctx, c, "/failure-groups", nil, limit)
}

// AckFailures acknowledges a failure group, and returns the number of changed runs.
func (c *Client) AckFailures(ctx context.Context, ref domain.FailureRef, note string) (int64, error) {
	return c.noteFailures(ctx, call{method: http.MethodPost,
		body: map[string]string{"plan": ref.PlanKey, "node": ref.Node, "code": ref.Code, "note": note}}, ref)
}

// UnackFailures withdraws the acknowledgment of a failure group.
func (c *Client) UnackFailures(ctx context.Context, ref domain.FailureRef) (int64, error) {
	return c.noteFailures(ctx, call{method: http.MethodDelete,
		query: url.Values{"plan": {ref.PlanKey}, "node": {ref.Node}, "code": {ref.Code}}}, ref)
}

func (c *Client) noteFailures(ctx context.Context, k call, ref domain.FailureRef) (int64, error) {
	var out struct {
		Runs int64 `json:"runs"`
	}
	k.path, k.into = "/failure-groups/"+url.PathEscape(cmp.Or(ref.Fingerprint, "any"))+"/acknowledgement", &out
	_, err := c.do(ctx, k)
	return out.Runs, err
}
