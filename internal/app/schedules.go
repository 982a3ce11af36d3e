package app

import (
	"context"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/internal/store"
)

// Schedules are the operations on schedules, which start runs of plans at times. The timer in
// internal/schedule starts the runs.
type Schedules struct{ *kernel }

type scheduleStore interface {
	Schedule(ctx context.Context, idOrKey string) (domain.Schedule, error)
	Schedules(ctx context.Context, f domain.ScheduleFilter) (domain.List[domain.Schedule], error)
	ScheduleSlots(ctx context.Context, id string, before time.Time, limit int) ([]domain.Slot, error)
	StartedSlots(ctx context.Context, id string, from, to time.Time) (map[int64]bool, error)
	MissedSlots(ctx context.Context, s domain.Schedule, limit int) ([]domain.MissedSlots, error)
}

// List returns a page of schedules, by key.
//
// Errors: forbidden.
func (s *Schedules) List(ctx context.Context, by domain.Actor, f domain.ScheduleFilter) (domain.List[domain.Schedule], error) {
	if err := s.allow(ctx, ListSchedules, by, ""); err != nil {
		return domain.List[domain.Schedule]{}, err
	}
	return s.store.Schedules(ctx, f)
}

// Get finds a schedule by key or ID.
//
// Errors: not_found, forbidden.
func (s *Schedules) Get(ctx context.Context, by domain.Actor, idOrKey string) (domain.Schedule, error) {
	if err := s.allow(ctx, GetSchedule, by, ""); err != nil {
		return domain.Schedule{}, err
	}
	return s.store.Schedule(ctx, idOrKey)
}

// maxTimes is the maximum number of times that Next returns.
const maxTimes = 100

// Next returns the next times of a cron expression in a time zone, after now.
//
// Errors: invalid (the expression or the zone), forbidden.
func (s *Schedules) Next(ctx context.Context, by domain.Actor, cron, zone string, n int) ([]time.Time, error) {
	if err := s.allow(ctx, PreviewSchedule, by, ""); err != nil {
		return nil, err
	}
	spec, err := schedule.Parse(cron, zone)
	if err != nil {
		return nil, err
	}
	return spec.Times(s.engine.Timed().Now(), min(max(n, 1), maxTimes)), nil
}

// CatchUp returns the rule for missed slots of a schedule, with the default resolved.
//
// Errors: forbidden.
func (s *Schedules) CatchUp(ctx context.Context, by domain.Actor, x domain.Schedule) (domain.CatchUp, error) {
	if err := s.allow(ctx, GetSchedule, by, ""); err != nil {
		return "", err
	}
	return schedule.Policy(ctx, s.engine.Timed(), x)
}

// Slots lists slots of a schedule that were due before a time, newest first. The zero time does not
// restrict.
//
// Errors: not_found, forbidden.
func (s *Schedules) Slots(ctx context.Context, by domain.Actor, idOrKey string, before time.Time, limit int) ([]domain.Slot, error) {
	x, err := s.Get(ctx, by, idOrKey)
	if err != nil {
		return nil, err
	}
	return s.store.ScheduleSlots(ctx, x.ID, before, limit)
}

// Missed lists the missed slots of a schedule, newest first.
//
// Errors: not_found, forbidden.
func (s *Schedules) Missed(ctx context.Context, by domain.Actor, idOrKey string, limit int) ([]domain.MissedSlots, error) {
	x, err := s.Get(ctx, by, idOrKey)
	if err != nil {
		return nil, err
	}
	return s.store.MissedSlots(ctx, x, limit)
}

func (s *Schedules) object() object[domain.Schedule] {
	return object[domain.Schedule]{id: func(x domain.Schedule) string { return x.ID }, find: s.store.Schedule}
}

// ScheduleFields are the settings of a schedule. Nil leaves a setting as it is.
type ScheduleFields struct {
	Plan    *string // ID or key
	Version *int    // 0 follows the current version
	Cron    *string
	Zone    *string
	Jitter  *time.Duration
	Input   *domain.RawJSON
	Profile *string // empty: none
	Labels  *map[string]string
	Overlap *domain.Overlap
	CatchUp *domain.CatchUp
}

// NewSchedule is a schedule to create.
type NewSchedule struct {
	Meta `json:"-"`
	Key  string
	ScheduleFields
}

// Create creates a schedule. Plan and Cron are required.
//
// Errors: invalid (a setting, or the input does not match the plan), not_found (the plan or its
// version), conflict (the key is used, or the plan is archived or not accepted), forbidden.
func (s *Schedules) Create(ctx context.Context, req NewSchedule) (domain.Schedule, error) {
	if known, done, err := before(ctx, s.kernel, CreateSchedule, req.Meta, req, s.object()); done || err != nil {
		return known, err
	}
	x := domain.Schedule{ID: domain.NewID(), Key: strings.TrimSpace(req.Key), Actor: req.By.Name,
		ScheduleSpec: domain.ScheduleSpec{Zone: "UTC", Overlap: domain.Overlaps[0], CatchUp: domain.CatchUps[0]}}
	if !validKey(x.Key) {
		return x, domain.Errorf(domain.CodeInvalid, "%q is not a valid key of a schedule", clip(x.Key, 50)).
			Suggest("use 1 to %d letters, digits, and the characters . _ -", maxKey)
	}
	if err := s.apply(ctx, &x, req.ScheduleFields); err != nil {
		return x, err
	}
	_, err := perform(ctx, s.kernel, CreateSchedule, req.Meta, req, s.object(), func(tx *store.Tx) (domain.Schedule, error) {
		if err := tx.Schedules().Create(x); err != nil {
			return x, err
		}
		tx.Audit("schedule:"+x.Key, "", domain.ChangeDetail(nil, x.Detail()))
		return x, nil
	})
	if err != nil {
		return x, err
	}
	return s.store.Schedule(ctx, x.ID)
}

// maxKey is the maximum length of the key of a schedule or a hook.
const maxKey = 100

// validKey reports whether a schedule or a hook may have a key.
func validKey(key string) bool {
	return key != "" && len(key) <= maxKey && !strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	})
}

// apply changes settings of a schedule, checks the result, and computes the next slot.
func (s *Schedules) apply(ctx context.Context, x *domain.Schedule, f ScheduleFields) error {
	set(f.Version, &x.Version)
	set(f.Cron, &x.Cron)
	set(f.Zone, &x.Zone)
	set(f.Jitter, &x.Jitter)
	set(f.Input, &x.Input)
	set(f.Profile, &x.Profile)
	set(f.Labels, &x.Labels)
	set(f.Overlap, &x.Overlap)
	set(f.CatchUp, &x.CatchUp)
	if x.Zone == "" {
		x.Zone = "UTC"
	}
	plan := x.PlanID
	set(f.Plan, &plan)
	if plan == "" {
		return domain.Errorf(domain.CodeInvalid, "a schedule needs a plan")
	}
	p, err := s.store.Plan(ctx, plan)
	switch {
	case err != nil:
		return err
	case p.Stage != domain.StageUsed:
		return domain.Errorf(domain.CodeConflict, "plan %s is not accepted", p.Key).Suggest("accept it first")
	}
	x.PlanID, x.PlanKey = p.ID, p.Key
	if err := schedule.Check(x.ScheduleSpec, s.engine.Timed().Now()); err != nil {
		return err
	}
	if err := s.engine.Timed().CheckStart(ctx,
		domain.StartRequest{Plan: p.ID, Version: x.Version, Profile: x.Profile, Input: x.Input}); err != nil {
		return err
	}
	if f.Cron != nil || f.Zone != nil || f.Jitter != nil {
		x.Next, x.Due, err = schedule.First(*x, s.engine.Timed().Now())
	}
	return err
}

// set copies a value that is given.
func set[T any](from *T, to *T) {
	if from != nil {
		*to = *from
	}
}

// ScheduleEdit changes settings of a schedule.
type ScheduleEdit struct {
	Meta     `json:"-"`
	Schedule string // key or ID
	Rev      int64  // of the schedule that the caller saw; 0: any
	ScheduleFields
}

// Update changes settings of a schedule. Runs that it started do not change. The principal becomes
// the actor of its runs.
//
// Errors: invalid, not_found, stale (another revision), conflict (the plan cannot be scheduled, or
// declares the schedule), forbidden.
func (s *Schedules) Update(ctx context.Context, req ScheduleEdit) (domain.Schedule, error) {
	known, done, err := before(ctx, s.kernel, UpdateSchedule, req.Meta, req, s.object())
	if done || err != nil {
		return known, err
	}
	x, err := s.store.Schedule(ctx, req.Schedule)
	if err != nil {
		return x, err
	}
	if x.Declared {
		return x, declaredError(x)
	}
	old := x
	if err := s.apply(ctx, &x, req.ScheduleFields); err != nil {
		return x, err
	}
	x.Actor = req.By.Name
	_, err = perform(ctx, s.kernel, UpdateSchedule, req.Meta, req, s.object(), func(tx *store.Tx) (domain.Schedule, error) {
		now, err := tx.Schedules().Get(x.ID)
		if err != nil {
			return now, err
		}
		if now.Rev != old.Rev || req.Rev != 0 && req.Rev != old.Rev {
			return now, scheduleChanged(now)
		}
		if req.Cron == nil && req.Zone == nil && req.Jitter == nil { // a slot may have started meanwhile
			x.Next, x.Due = now.Next, now.Due
		}
		tx.Audit("schedule:"+x.Key, "", domain.ChangeDetail(old.Detail(), x.Detail()))
		return x, tx.Schedules().Change(x)
	})
	if err != nil {
		return x, err
	}
	return s.store.Schedule(ctx, x.ID)
}

func scheduleChanged(x domain.Schedule) error {
	return domain.Errorf(domain.CodeStale, "schedule %s has changed", x.Key).Suggest("read it again, then decide")
}

// declaredError is the error of a change of a schedule that a plan declares.
func declaredError(x domain.Schedule) error {
	err := domain.Errorf(domain.CodeConflict, "plan %s declares schedule %s", x.PlanKey, x.Key)
	err.Reason = "schedule.declared"
	return err.Suggest("change schedule in the plan, and store the plan; here, you can only pause and resume the schedule")
}

// ScheduleChange names a schedule and the reason of its change.
type ScheduleChange struct {
	Meta     `json:"-"`
	Schedule string // key or ID
	Rev      int64  // of the schedule that the caller saw; 0: any
	Reason   string // shown with the schedule and in the audit log
}

// Pause stops a schedule: its slots start no runs, and do not count as missed. Active runs continue.
// A paused schedule is returned unchanged.
//
// Errors: not_found, stale, forbidden.
func (s *Schedules) Pause(ctx context.Context, req ScheduleChange) (domain.Schedule, error) {
	at := s.now()
	return s.change(ctx, PauseSchedule, req, func(tx *store.Tx, x *domain.Schedule) error {
		if x.Paused != nil {
			return nil
		}
		x.Paused = &domain.Disablement{Since: at, By: req.By.Name, Reason: req.Reason}
		tx.Audit("schedule:"+x.Key, req.Reason, changed("paused", false, true))
		return tx.Schedules().Pause(*x)
	})
}

// Resume continues a paused schedule with the next slot after now. A schedule that is not paused is
// returned unchanged.
//
// Errors: not_found, invalid (its time zone does not exist any more), stale, forbidden.
func (s *Schedules) Resume(ctx context.Context, req ScheduleChange) (domain.Schedule, error) {
	at := s.engine.Timed().Now()
	return s.change(ctx, ResumeSchedule, req, func(tx *store.Tx, x *domain.Schedule) (err error) {
		if x.Paused == nil {
			return nil
		}
		if x.Next, x.Due, err = schedule.First(*x, at); err != nil {
			return err
		}
		x.Paused = nil
		tx.Audit("schedule:"+x.Key, req.Reason, changed("paused", true, false))
		return tx.Schedules().Pause(*x)
	})
}

// Delete removes a schedule, and returns it as it was. Its runs stay.
//
// Errors: not_found, stale, conflict (the plan declares the schedule), forbidden.
func (s *Schedules) Delete(ctx context.Context, req ScheduleChange) (domain.Schedule, error) {
	kept := object[domain.Schedule]{id: func(x domain.Schedule) string { return x.Key },
		find: func(_ context.Context, key string) (domain.Schedule, error) { return domain.Schedule{Key: key}, nil }}
	return perform(ctx, s.kernel, DeleteSchedule, req.Meta, req, kept, func(tx *store.Tx) (domain.Schedule, error) {
		x, err := tx.Schedules().Get(req.Schedule)
		if err == nil && req.Rev != 0 && req.Rev != x.Rev {
			err = scheduleChanged(x)
		}
		if err == nil && x.Declared {
			err = declaredError(x)
		}
		if err != nil {
			return x, err
		}
		tx.Audit("schedule:"+x.Key, req.Reason, domain.ChangeDetail(x.Detail(), nil))
		return x, tx.Schedules().Delete(x.ID)
	})
}

// change performs an operation on one schedule.
func (s *Schedules) change(ctx context.Context, op Operation, req ScheduleChange, f func(*store.Tx, *domain.Schedule) error) (
	domain.Schedule, error) {
	x, err := perform(ctx, s.kernel, op, req.Meta, req, s.object(), func(tx *store.Tx) (domain.Schedule, error) {
		x, err := tx.Schedules().Get(req.Schedule)
		if err == nil && req.Rev != 0 && req.Rev != x.Rev {
			err = scheduleChanged(x)
		}
		if err != nil {
			return x, err
		}
		return x, f(tx, &x)
	})
	if err != nil {
		return x, err
	}
	return s.store.Schedule(ctx, x.ID)
}
