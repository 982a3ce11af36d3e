package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// Store reads and moves schedules.
type Store interface {
	// DueSchedules lists active schedules whose next slot is due at a time, the longest first.
	DueSchedules(ctx context.Context, until time.Time, limit int) ([]domain.Schedule, error)
	// NextDue is when the next slot after a time is due. Zero means that none is.
	NextDue(ctx context.Context, after time.Time) (time.Time, error)
	// ScheduleTimes reads what determines the next slot of each schedule that is not paused.
	ScheduleTimes(ctx context.Context) ([]domain.Schedule, error)
	// MoveSchedule moves a schedule to its next slot without a run, unless it has moved already.
	MoveSchedule(ctx context.Context, schedule string, m domain.SlotMove, slot *domain.Slot) error
	// PauseSchedule pauses a schedule that cannot continue.
	PauseSchedule(ctx context.Context, schedule, reason string) error
}

// Engine starts runs.
type Engine interface {
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	// Executing reports whether a new run would be executed now.
	Executing(ctx context.Context) (bool, error)
	// NonIdempotent reports whether a version of a plan has non-idempotent steps with a profile.
	NonIdempotent(ctx context.Context, plan string, version int, profile string) (bool, error)
}

// Backfill prepares and starts bulk operations that run slots.
type Backfill interface {
	PrepareSlots(by domain.Actor, r domain.BackfillRequest) (domain.Bulk, []domain.BulkItem)
	Launch(b domain.Bulk)
}

// Config configures a [Timer]. Store, Engine, and Backfill are required.
type Config struct {
	Store    Store
	Engine   Engine
	Backfill Backfill
	// Now is a clock that does not go back; default time.Now.
	Now func() time.Time
	// Sleep waits, or returns an error when the context ends. The default sleeps.
	Sleep func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

// Timer starts the runs of all schedules. It keeps nothing in memory: the database has the next slot
// of each schedule, and each slot is settled in one transaction.
type Timer struct{ Config }

// New returns a timer. Run starts it.
func New(c Config) *Timer {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Timer{c}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	// recheckEvery is how long a new schedule or a jump of the clock goes unnoticed at most.
	recheckEvery = time.Second
	// batch is the number of due schedules that are read at once. workers of them start concurrently,
	// which fills a group commit and leaves room in it for running work.
	batch   = 256
	workers = 8
)

// Run starts due slots until the context ends.
func (t *Timer) Run(ctx context.Context) {
	if err := t.rewind(ctx); err != nil && ctx.Err() == nil {
		t.Log.Error("schedules: compute the next slots", "err", err)
	}
	for {
		wait, err := t.Tick(ctx)
		if err != nil && ctx.Err() == nil {
			t.Log.Error("schedules: start due slots", "err", err)
		}
		if t.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// rewind moves schedules back whose next slot is later than the clock demands. The clock was ahead
// when that slot was computed, or the rules of the time zone have changed.
func (t *Timer) rewind(ctx context.Context) error {
	list, err := t.Store.ScheduleTimes(ctx)
	if err != nil {
		return err
	}
	now := t.Now()
	for _, s := range list {
		spec, err := Parse(s.Cron, s.Zone)
		if err != nil {
			continue // it is paused when its slot is due
		}
		if next := spec.Next(now); !next.IsZero() && (s.Next.IsZero() || next.Before(s.Next)) {
			if err := t.Store.MoveSchedule(ctx, s.ID, move(s, s.Next, next), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// move moves a schedule from one slot to another.
func move(s domain.Schedule, from, to time.Time) domain.SlotMove {
	m := domain.SlotMove{From: from, Next: to.UTC()}
	if !to.IsZero() {
		m.Due = m.Next.Add(Delay(s.ID, to, s.Jitter))
	}
	return m
}

// First returns the first slot of a schedule after a time, and when it is due.
func First(s domain.Schedule, after time.Time) (next, due time.Time, err error) {
	spec, err := Parse(s.Cron, s.Zone)
	if err != nil {
		return next, due, err
	}
	m := move(s, time.Time{}, spec.Next(after))
	return m.Next, m.Due, nil
}

// Tick settles all slots that are due, and returns how long to wait.
func (t *Timer) Tick(ctx context.Context) (time.Duration, error) {
	executing, err := t.Engine.Executing(ctx)
	if err != nil || !executing {
		return recheckEvery, err
	}
	now := t.Now()
	for {
		due, err := t.Store.DueSchedules(ctx, now, batch)
		if err != nil {
			return recheckEvery, err
		}
		if len(due) == 0 {
			break
		}
		settled, err := t.settleAll(ctx, due, now)
		if err != nil || settled == 0 { // the others are tried again later
			return recheckEvery, err
		}
	}
	next, err := t.Store.NextDue(ctx, now)
	if err != nil || next.IsZero() {
		return recheckEvery, err
	}
	return min(recheckEvery, max(next.Sub(t.Now()), 0)), nil
}

// settleAll settles due slots concurrently, and returns how many schedules have moved.
func (t *Timer) settleAll(ctx context.Context, due []domain.Schedule, now time.Time) (int, error) {
	var next, settled atomic.Int64
	var mu sync.Mutex
	var errs []error
	var work sync.WaitGroup
	for range min(workers, len(due)) {
		work.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(due) {
					return
				}
				moved, err := t.settle(ctx, due[i], now)
				if moved {
					settled.Add(1)
				}
				if err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	work.Wait()
	return int(settled.Load()), errors.Join(errs...)
}

// settle starts the due slot of a schedule, or applies its rule for missed slots. moved reports that
// the schedule is at another slot.
func (t *Timer) settle(ctx context.Context, s domain.Schedule, now time.Time) (moved bool, err error) {
	spec, err := Parse(s.Cron, s.Zone)
	if err != nil { // the zone does not exist any more
		return true, t.Store.PauseSchedule(ctx, s.ID, err.Error())
	}
	if !s.Due.Before(now.Add(-domain.SlotGrace)) {
		return t.start(ctx, s, spec, s.Next, move(s, s.Next, spec.Next(s.Next)))
	}
	missed, more := spec.Between(s.Next, now.Add(-domain.SlotGrace), domain.MaxMissedSlots)
	for n := len(missed); n > 1 && !missed[n-1].Add(Delay(s.ID, missed[n-1], s.Jitter)).Before(now.Add(-domain.SlotGrace)); n-- {
		missed = missed[:n-1] // it can still start in time
	}
	if len(missed) == 0 { // the rules of the zone have changed since the slot was computed
		missed = []time.Time{s.Next}
	}
	last := missed[len(missed)-1]
	m := move(s, s.Next, spec.Next(last))
	policy, err := Policy(ctx, t.Engine, s)
	if err != nil {
		return false, err
	}
	m.Missed = &domain.MissedSlots{ID: domain.NewID(), First: s.Next, Last: last.UTC(), Slots: len(missed), More: more, CreatedAt: now}
	if policy != domain.CatchUpAsk {
		m.Missed.Decision, m.Missed.DecidedBy, m.Missed.DecidedAt = policy, domain.System.Name, now
	}
	switch policy {
	case domain.CatchUpLast:
		return t.start(ctx, s, spec, last, m)
	case domain.CatchUpAll:
		bulk, items := t.Backfill.PrepareSlots(actorOf(s), domain.BackfillRequest{Schedule: s, Slots: missed})
		m.Bulk, m.Items = &bulk, items
		if err := t.Store.MoveSchedule(ctx, s.ID, m, nil); err != nil {
			return false, err
		}
		t.Backfill.Launch(bulk)
		return true, nil
	}
	return true, t.Store.MoveSchedule(ctx, s.ID, m, nil)
}

// Policy returns the rule for missed slots of a schedule, with the default resolved.
func Policy(ctx context.Context, e Engine, s domain.Schedule) (domain.CatchUp, error) {
	if s.CatchUp != domain.CatchUpDefault {
		return s.CatchUp, nil
	}
	unsafe, err := e.NonIdempotent(ctx, s.PlanID, s.Version, s.Profile)
	if domain.CodeOf(err) != "" || unsafe { // a version that cannot be read counts as the strictest
		return domain.CatchUpAsk, nil
	}
	return domain.CatchUpLast, err
}

// actorOf is the actor of a schedule's runs.
func actorOf(s domain.Schedule) domain.Actor {
	return domain.Actor{Name: s.Actor, Role: domain.RoleOperator, Source: domain.OriginSchedule}
}

// request is the run of a slot.
func request(s domain.Schedule, slot time.Time, overlap domain.Overlap, m domain.SlotMove) domain.StartRequest {
	return domain.StartRequest{Plan: s.PlanID, Version: s.Version, Profile: s.Profile, Input: s.Input, Labels: s.Labels,
		Origin:      domain.OriginSchedule,
		Concurrency: &domain.Concurrency{Key: "schedule:" + s.ID, Limit: 1, OnConflict: string(overlap)},
		Slot:        domain.RunSlot{Schedule: s.Key, At: slot}, Claim: &domain.SlotClaim{Schedule: s.ID, Slot: slot, SlotMove: m}}
}

// start starts the run of a slot. A slot that cannot start a run is recorded, and the schedule moves
// on.
func (t *Timer) start(ctx context.Context, s domain.Schedule, spec *Spec, slot time.Time, m domain.SlotMove) (moved bool, err error) {
	failpoint.Hit("schedule.before")
	_, err = t.Engine.Start(ctx, actorOf(s), request(s, slot.In(spec.Zone()), s.Overlap, m))
	failpoint.Hit("schedule.after")
	e, known := errors.AsType[*domain.Error](err)
	settled := domain.Slot{At: slot, SettledAt: t.Now()}
	switch {
	case err == nil:
		return true, nil
	case known && e.Reason == domain.ReasonConcurrency:
		settled.State, settled.Reason = domain.SlotSkipped, e.Message
	case known && (e.Code == domain.CodeInvalid || e.Code == domain.CodeNotFound || e.Code == domain.CodeCorrupt):
		settled.State, settled.Reason = domain.SlotFailed, e.Message
		t.Log.Warn("a slot could not start a run", "schedule", s.Key, "slot", slot, "err", err)
	case known && e.Code == domain.CodeConflict: // it was paused, or has moved
		return false, nil
	default:
		return false, err // tried again; the slot is missed after a while
	}
	return true, t.Store.MoveSchedule(ctx, s.ID, m, &settled)
}

// StartSlot starts the run of a past slot for a backfill. A slot that started a run before returns
// that run. Runs of a backfill wait for each other, whatever the schedule does on overlap.
func StartSlot(ctx context.Context, st interface {
	Schedule(ctx context.Context, idOrKey string) (domain.Schedule, error)
}, e interface {
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
}, by domain.Actor, schedule string, slot time.Time,
) (domain.Run, error) {
	s, err := st.Schedule(ctx, schedule)
	if err != nil {
		return domain.Run{}, err
	}
	spec, err := Parse(s.Cron, s.Zone)
	if err != nil {
		return domain.Run{}, err
	}
	return e.Start(ctx, by, request(s, slot.In(spec.Zone()), domain.OverlapQueue, domain.SlotMove{}))
}
