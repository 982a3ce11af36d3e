package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/kairos"
)

// ReleaseHeld ends a hold and lets all held runs go on, or only those of a plan.
func (c *Client) ReleaseHeld(ctx context.Context, _ kairos.Actor, plan, reason string) (int, error) {
	var out struct {
		Released int `json:"released"`
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/system/release", body: map[string]any{"plan": plan, "reason": reason}, into: &out})
	return out.Released, err
}

// Retain removes what the daemon's retention says, or says what it would remove.
func (c *Client) Retain(ctx context.Context, _ kairos.Actor, reason string, dryRun bool) (kairos.Retained, error) {
	var out kairos.Retained
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/system/retention", body: map[string]any{"dryRun": dryRun, "reason": reason}, into: &out})
	return out, err
}

// Installation says how the daemon and its data are.
func (c *Client) Installation(ctx context.Context) (kairos.Installation, error) {
	var out kairos.Installation
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/system", into: &out})
	return out, err
}

// Vitals is how the daemon does now and did over the last day.
func (c *Client) Vitals(ctx context.Context) (kairos.Vitals, error) {
	var out kairos.Vitals
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/system/vitals", into: &out})
	return out, err
}

// Log is the newest lines of the daemon's log, newest first, of a level or worse
// that hold a text; empty: any.
func (c *Client) Log(ctx context.Context, level, text string) ([]kairos.DaemonLog, error) {
	q := url.Values{}
	if level != "" {
		q.Set("level", level)
	}
	if text != "" {
		q.Set("q", text)
	}
	var out list[kairos.DaemonLog]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/system/log", query: q, into: &out})
	return out.Items, err
}

// Maintain lets no step start any more, or lets them start again.
func (c *Client) Maintain(ctx context.Context, _ kairos.Actor, on bool, reason string) (*kairos.Maintenance, error) {
	var out struct {
		Maintenance *kairos.Maintenance `json:"maintenance"`
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/system/maintenance", body: map[string]any{"on": on, "reason": reason}, into: &out})
	return out.Maintenance, err
}

// BackUp makes a verified backup where the daemon keeps them.
func (c *Client) BackUp(ctx context.Context, _ kairos.Actor) (kairos.Backup, error) {
	var out kairos.Backup
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/system/backup", into: &out})
	return out, err
}
