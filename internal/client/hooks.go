package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

func hookPath(idOrKey, more string) string { return "/hooks/" + url.PathEscape(idOrKey) + more }

// Hooks lists hooks, by key.
func (c *Client) Hooks(ctx context.Context, f domain.HookFilter) (items []apitypes.Hook, next string, err error) {
	q := pageQuery(f.Page)
	if f.Text != "" {
		q.Set("filter", f.Text)
	}
	var out list[apitypes.Hook]
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/hooks", query: q, into: &out})
	return out.Items, out.Next, err
}

// Hook finds a hook by id or key.
func (c *Client) Hook(ctx context.Context, idOrKey string) (apitypes.HookDetail, error) {
	var out apitypes.HookDetail
	_, err := c.do(ctx, call{method: http.MethodGet, path: hookPath(idOrKey, ""), into: &out})
	return out, err
}

// CreateHook creates a hook.
func (c *Client) CreateHook(ctx context.Context, h apitypes.HookCreate) (apitypes.HookDetail, error) {
	var out apitypes.HookDetail
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/hooks", body: h, into: &out})
	return out, err
}

// UpdateHook changes settings of a hook.
func (c *Client) UpdateHook(ctx context.Context, idOrKey string, h apitypes.HookEdit) (apitypes.HookDetail, error) {
	var out apitypes.HookDetail
	_, err := c.do(ctx, call{method: http.MethodPatch, path: hookPath(idOrKey, ""), body: h, into: &out})
	return out, err
}

// PauseHook pauses a hook, or resumes it.
func (c *Client) PauseHook(ctx context.Context, idOrKey string, on bool, reason string) (apitypes.HookDetail, error) {
	action := "/resume"
	if on {
		action = "/pause"
	}
	var out apitypes.HookDetail
	_, err := c.do(ctx, call{method: http.MethodPost, path: hookPath(idOrKey, action), body: reasonWire{reason}, into: &out})
	return out, err
}

// DeleteHook deletes a hook.
func (c *Client) DeleteHook(ctx context.Context, idOrKey string) (apitypes.HookDetail, error) {
	var out apitypes.HookDetail
	_, err := c.do(ctx, call{method: http.MethodDelete, path: hookPath(idOrKey, ""), into: &out})
	return out, err
}

// HookDeliveries lists the deliveries to a hook, newest first.
func (c *Client) HookDeliveries(ctx context.Context, f domain.DeliveryFilter) (items []apitypes.HookDelivery, next string, err error) {
	q := pageQuery(f.Page)
	if f.State != "" {
		q.Set("filter", string(f.State))
	}
	var out list[apitypes.HookDelivery]
	_, err = c.do(ctx, call{method: http.MethodGet, path: hookPath(f.Hook, "/deliveries"), query: q, into: &out})
	return out.Items, out.Next, err
}

// HookDelivery finds a delivery.
func (c *Client) HookDelivery(ctx context.Context, id string) (apitypes.HookDeliveryDetail, error) {
	var out apitypes.HookDeliveryDetail
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/hook-deliveries/" + url.PathEscape(id), into: &out})
	return out, err
}

// PreviewReplay shows what a replay would do.
func (c *Client) PreviewReplay(ctx context.Context, idOrKey string, r apitypes.ReplayCreate) (apitypes.ReplayPreview, error) {
	var out apitypes.ReplayPreview
	_, err := c.do(ctx, call{method: http.MethodPost, path: hookPath(idOrKey, "/replay"), query: url.Values{"preview": {"true"}}, body: r,
		into: &out})
	return out, err
}

// Replay replays deliveries to a hook.
func (c *Client) Replay(ctx context.Context, idOrKey string, r apitypes.ReplayCreate) (apitypes.BulkOperation, error) {
	var out apitypes.BulkOperation
	_, err := c.do(ctx, call{method: http.MethodPost, path: hookPath(idOrKey, "/replay"), body: r, into: &out})
	return out, err
}
