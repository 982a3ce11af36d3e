package query

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// ScheduleReader reads schedules and their slots.
type ScheduleReader struct{ db *core.DB }

// Schedule finds a schedule by key or ID, with its newest slot and its open missed slots. It returns
// CodeNotFound.
func (s *ScheduleReader) Schedule(ctx context.Context, idOrKey string) (domain.Schedule, error) {
	r, err := s.db.Q.ScheduleNamed(ctx, idOrKey)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Schedule{}, domain.Errorf(domain.CodeNotFound, "schedule %q not found", idOrKey)
	} else if err != nil {
		return domain.Schedule{}, core.Translate(err, "read a schedule")
	}
	out := core.Schedule(r.Schedule, r.PlanPublicID, r.PlanKey, r.PlanStopped != 0)
	return out, s.complete(ctx, r.Schedule.ID, &out)
}

// complete adds the newest slot and the open missed slots.
func (s *ScheduleReader) complete(ctx context.Context, row int64, out *domain.Schedule) error {
	slots, err := s.ScheduleSlots(ctx, out.ID, time.Time{}, 1)
	if err != nil {
		return err
	}
	if len(slots) > 0 {
		out.Last = &slots[0]
	}
	m, err := s.db.Q.MissedOpen(ctx, row)
	if err == nil {
		missed := core.Missed(m, out.Key, out.PlanKey)
		out.Missed = &missed
	} else if !errors.Is(err, sql.ErrNoRows) {
		return core.Translate(err, "read missed slots")
	}
	return nil
}

// Schedules lists schedules by key, with their newest slots.
func (s *ScheduleReader) Schedules(ctx context.Context, f domain.ScheduleFilter) (domain.List[domain.Schedule], error) {
	var list domain.List[domain.Schedule]
	limit := core.PageLimit(f.Page.Limit)
	rows, err := s.db.Q.ScheduleList(ctx, dbsqlc.ScheduleListParams{After: f.Page.After, Text: f.Text, Plan: f.Plan, State: f.State,
		Max: int64(limit) + 1})
	if err != nil {
		return list, core.Translate(err, "list schedules")
	}
	for i, r := range rows {
		if i == limit {
			list.Next = rows[i-1].Schedule.Key
			break
		}
		out := core.Schedule(r.Schedule, r.PlanPublicID, r.PlanKey, r.PlanStopped != 0)
		if err := s.complete(ctx, r.Schedule.ID, &out); err != nil {
			return list, err
		}
		list.Items = append(list.Items, out)
	}
	return list, nil
}

// DueSchedules lists active schedules whose next slot is due at a time, the longest first.
func (s *ScheduleReader) DueSchedules(ctx context.Context, until time.Time, limit int) ([]domain.Schedule, error) {
	rows, err := s.db.Q.ScheduleDue(ctx, core.Micros(until), int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read due schedules")
	}
	out := make([]domain.Schedule, len(rows))
	for i, r := range rows {
		out[i] = core.Schedule(r.Schedule, r.PlanPublicID, r.PlanKey, false)
	}
	return out, nil
}

// NextDue is when the next slot after a time is due. Zero means that none is.
func (s *ScheduleReader) NextDue(ctx context.Context, after time.Time) (time.Time, error) {
	at, err := s.db.Q.ScheduleNextDue(ctx, core.Micros(after))
	return core.FromMicros(at), core.Translate(err, "read due schedules")
}

// ScheduleTimes reads what determines the next slot of each schedule that is not paused.
func (s *ScheduleReader) ScheduleTimes(ctx context.Context) ([]domain.Schedule, error) {
	rows, err := s.db.Q.ScheduleAll(ctx)
	if err != nil {
		return nil, core.Translate(err, "read schedules")
	}
	out := make([]domain.Schedule, len(rows))
	for i, r := range rows {
		out[i] = domain.Schedule{ID: r.PublicID, Next: core.FromMicros(r.NextAt), ScheduleSpec: domain.ScheduleSpec{Cron: r.Cron,
			Zone: r.Zone, Jitter: time.Duration(r.Jitter) * time.Microsecond}}
	}
	return out, nil
}

// ScheduleSlots lists slots of a schedule that were due before a time, newest first. The zero time
// does not restrict.
func (s *ScheduleReader) ScheduleSlots(ctx context.Context, id string, before time.Time, limit int) ([]domain.Slot, error) {
	below := int64(math.MaxInt64)
	if !before.IsZero() {
		below = core.Micros(before)
	}
	rows, err := s.db.Q.SlotList(ctx, id, below, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read slots")
	}
	out := make([]domain.Slot, len(rows))
	for i, r := range rows {
		out[i] = domain.Slot{At: core.FromMicros(r.Slot), State: r.State, Run: r.Run, RunStatus: domain.RunStatus(r.RunStatus),
			Reason:    r.Reason,
			SettledAt: core.FromMicros(r.At)}
	}
	return out, nil
}

// StartedSlots lists the slots of a range that started a run.
func (s *ScheduleReader) StartedSlots(ctx context.Context, id string, from, to time.Time) (map[int64]bool, error) {
	rows, err := s.db.Q.SlotsStarted(ctx, id, core.Micros(from), core.Micros(to))
	if err != nil {
		return nil, core.Translate(err, "read slots")
	}
	out := make(map[int64]bool, len(rows))
	for _, at := range rows {
		out[core.FromMicros(at).Unix()] = true
	}
	return out, nil
}

// MissedSlots lists the missed slots of a schedule, newest first.
func (s *ScheduleReader) MissedSlots(ctx context.Context, schedule domain.Schedule, limit int) ([]domain.MissedSlots, error) {
	rows, err := s.db.Q.MissedList(ctx, schedule.ID, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read missed slots")
	}
	out := make([]domain.MissedSlots, len(rows))
	for i, r := range rows {
		out[i] = core.Missed(r, schedule.Key, schedule.PlanKey)
	}
	return out, nil
}
