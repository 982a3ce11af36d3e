package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// ReleaseHeld ends a hold and continues all held runs, or only those of a plan.
func (c *Client) ReleaseHeld(ctx context.Context, plan, reason string) (int, error) {
	var out struct {
		Released int `json:"released"`
	}
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: "/system/release", body: map[string]any{"plan": plan, "reason": reason}, into: &out},
	)
	return out.Released, err
}

// Retain deletes expired data, or only reports what would be deleted.
func (c *Client) Retain(ctx context.Context, reason string, dryRun bool) (domain.RetentionResult, error) {
	var out domain.RetentionResult
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: "/system/retention", body: map[string]any{"dryRun": dryRun, "reason": reason}, into: &out},
	)
	return out, err
}

// Server returns the status of the server and its data.
func (c *Client) Server(ctx context.Context) (domain.Server, error) {
	var out domain.Server
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/system", into: &out})
	return out, err
}

// HealthMetrics returns the current health metrics and those of the last day.
func (c *Client) HealthMetrics(ctx context.Context) (domain.HealthMetrics, error) {
	var out domain.HealthMetrics
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/system/metrics-history", into: &out})
	return out, err
}

// Log returns lines of the daemon's log, newest first. level is the least severe level, and text a
// text that the lines contain; empty values match every line.
func (c *Client) Log(ctx context.Context, level, text string) ([]domain.DaemonLog, error) {
	q := url.Values{}
	if level != "" {
		q.Set("level", level)
	}
	if text != "" {
		q.Set("filter", filter.Quote(text))
	}
	return all[domain.DaemonLog](ctx, c, "/system/log", q, 0)
}

// Maintain begins or ends maintenance, during which no step starts.
func (c *Client) Maintain(ctx context.Context, on bool, reason string) (*domain.Maintenance, error) {
	var out struct {
		Maintenance *domain.Maintenance `json:"maintenance"`
	}
	k := call{method: http.MethodPut, path: "/system/maintenance", body: reasonWire{reason}, into: &out}
	if !on {
		k = call{method: http.MethodDelete, path: "/system/maintenance", query: url.Values{"reason": {reason}}, into: &out}
	}
	_, err := c.do(ctx, k)
	return out.Maintenance, err
}

// BackUp creates a verified backup in the daemon's directory of backups.
func (c *Client) BackUp(ctx context.Context) (domain.Backup, error) {
	var out domain.Backup
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/system/backup", into: &out})
	return out, err
}
