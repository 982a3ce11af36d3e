package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

func schedulePath(idOrKey string, more string) string {
	return "/schedules/" + url.PathEscape(idOrKey) + more
}

// Schedules lists schedules, by key.
func (c *Client) Schedules(ctx context.Context, f domain.ScheduleFilter) (items []apitypes.Schedule, next string, err error) {
	q := pageQuery(f.Page)
	for name, value := range map[string]string{"plan": f.Plan, "filter": f.Text, "status": f.State} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var out list[apitypes.Schedule]
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/schedules", query: q, into: &out})
	return out.Items, out.Next, err
}

// Schedule finds a schedule by id or key.
func (c *Client) Schedule(ctx context.Context, idOrKey string) (apitypes.ScheduleDetail, error) {
	var out apitypes.ScheduleDetail
	_, err := c.do(ctx, call{method: http.MethodGet, path: schedulePath(idOrKey, ""), into: &out})
	return out, err
}

// CreateSchedule creates a schedule.
func (c *Client) CreateSchedule(ctx context.Context, s apitypes.ScheduleCreate) (apitypes.Schedule, error) {
	var out apitypes.Schedule
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/schedules", body: s, into: &out})
	return out, err
}

// UpdateSchedule changes settings of a schedule.
func (c *Client) UpdateSchedule(ctx context.Context, idOrKey string, s apitypes.ScheduleChange) (apitypes.Schedule, error) {
	var out apitypes.Schedule
	_, err := c.do(ctx, call{method: http.MethodPatch, path: schedulePath(idOrKey, ""), body: s, into: &out})
	return out, err
}

// PauseSchedule pauses a schedule, or resumes it.
func (c *Client) PauseSchedule(ctx context.Context, idOrKey string, on bool, reason string) (apitypes.Schedule, error) {
	action := "/resume"
	if on {
		action = "/pause"
	}
	var out apitypes.Schedule
	_, err := c.do(ctx, call{method: http.MethodPost, path: schedulePath(idOrKey, action), body: reasonWire{reason}, into: &out})
	return out, err
}

// DeleteSchedule deletes a schedule.
func (c *Client) DeleteSchedule(ctx context.Context, idOrKey string) (apitypes.Schedule, error) {
	var out apitypes.Schedule
	_, err := c.do(ctx, call{method: http.MethodDelete, path: schedulePath(idOrKey, ""), into: &out})
	return out, err
}

// ScheduleTimes returns the next times of a cron expression.
func (c *Client) ScheduleTimes(ctx context.Context, cron, zone string, n int) ([]time.Time, error) {
	var out struct {
		Times []time.Time `json:"times"`
	}
	q := url.Values{"cron": {cron}, "count": {strconv.Itoa(n)}}
	if zone != "" {
		q.Set("timeZone", zone)
	}
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/schedule-times", query: q, into: &out})
	return out.Times, err
}

// ScheduleSlots lists the newest slots of a schedule that were due.
func (c *Client) ScheduleSlots(ctx context.Context, idOrKey string, limit int) ([]apitypes.Slot, error) {
	return all[apitypes.Slot](ctx, c, schedulePath(idOrKey, "/slots"), nil, limit)
}

// DecideMissed decides about the missed slots of a schedule. operation is the bulk operation that runs
// them, if any.
func (c *Client) DecideMissed(ctx context.Context, idOrKey string, d apitypes.MissedDecision) (operation string, err error) {
	var out struct {
		Operation string `json:"operation"`
	}
	_, err = c.do(ctx, call{method: http.MethodPost, path: schedulePath(idOrKey, "/missed"), body: d, into: &out})
	return out.Operation, err
}

// PreviewBackfill shows what a backfill would do.
func (c *Client) PreviewBackfill(ctx context.Context, idOrKey string, r apitypes.BackfillCreate) (apitypes.BackfillPreview, error) {
	var out apitypes.BackfillPreview
	_, err := c.do(ctx, call{method: http.MethodPost, path: schedulePath(idOrKey, "/backfill"), query: url.Values{"preview": {"true"}},
		body: r, into: &out})
	return out, err
}

// Backfill runs the past slots of a range.
func (c *Client) Backfill(ctx context.Context, idOrKey string, r apitypes.BackfillCreate) (apitypes.BulkOperation, error) {
	var out apitypes.BulkOperation
	_, err := c.do(ctx, call{method: http.MethodPost, path: schedulePath(idOrKey, "/backfill"), body: r, into: &out})
	return out, err
}
