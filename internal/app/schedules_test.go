package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// Plans that schedules run: one without effects, one that waits until it is cancelled, and one with a
// non-idempotent step.
const (
	slotted = "id: slotted\nnodes: {a: {type: set, input: {at: \"${run.slot}\"}}}\n"
	patient = "id: patient\nnodes: {a: {type: wait, input: {for: 24h}}}\n"
	risky   = "id: risky\nnodes: {a: {type: pay}}\n"
)

// clocked is an App with a timer whose clock the test sets.
type clocked struct {
	*apptest.World
	t     *testing.T
	now   time.Time
	timer *schedule.Timer
}

func newClocked(t *testing.T) *clocked {
	t.Helper()
	r := enginetest.NewRegistry().Handle("pay", walk.EffectUnsafe, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, nil
	})
	c := &clocked{World: apptest.With(t, storetest.Open(t), r), t: t}
	for _, src := range []string{slotted, patient, risky} {
		c.Engine.Save(src)
	}
	c.timer = c.another()
	return c
}

// another is another timer on the same database, as after a restart.
func (c *clocked) another() *schedule.Timer {
	return schedule.New(schedule.Config{Store: c.Store, Engine: c.Engine.Timed(), Backfill: c.Config.Bulk,
		Now: func() time.Time { return c.now }})
}

func (c *clocked) create(plan, cron string, change func(*app.ScheduleFields)) domain.Schedule {
	c.t.Helper()
	f := app.ScheduleFields{Plan: &plan, Cron: &cron}
	if change != nil {
		change(&f)
	}
	s, err := c.Schedules.Create(c.t.Context(), app.NewSchedule{Meta: app.Meta{By: apptest.Operator}, Key: "nightly", ScheduleFields: f})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// tick lets the timer work at a time.
func (c *clocked) tick(at time.Time) {
	c.t.Helper()
	c.now = at
	if _, err := c.timer.Tick(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clocked) get() domain.Schedule {
	c.t.Helper()
	s, err := c.Schedules.Get(c.t.Context(), apptest.Viewer, "nightly")
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// slots lists the slots that were due as "slot state", oldest first.
func (c *clocked) slots() (out []string) {
	c.t.Helper()
	list, err := c.Schedules.Slots(c.t.Context(), apptest.Viewer, "nightly", time.Time{}, 200)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range list {
		out = append(out, s.At.Format("15:04")+" "+s.State)
	}
	slices.Reverse(out)
	return out
}

// runs counts the runs of the schedule.
func (c *clocked) runs() int {
	c.t.Helper()
	list, err := c.Store.Runs(c.t.Context(),
		domain.RunFilter{RunCause: domain.RunCause{Schedule: "nightly"}, Page: domain.Page{Limit: 200}})
	if err != nil {
		c.t.Fatal(err)
	}
	return len(list.Items)
}

// A slot starts one run, which has its slot, also if several timers work at once, the clock is set
// back, or kairosd restarts.
func TestASlotStartsOneRun(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	zone := "Europe/Madrid"
	s := c.create("slotted", "*/10 * * * *", func(f *app.ScheduleFields) { f.Zone = &zone })
	first := s.Next
	c.tick(first.Add(-time.Second))
	if n := c.runs(); n != 0 {
		t.Fatalf("%d runs before the slot", n)
	}
	c.now = first.Add(time.Second)
	var work sync.WaitGroup
	for range 8 {
		timer := c.another()
		work.Go(func() {
			if _, err := timer.Tick(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if n := c.runs(); n != 1 {
		t.Fatalf("%d runs after the slot", n)
	}
	list, err := c.Store.Runs(t.Context(), domain.RunFilter{RunCause: domain.RunCause{Schedule: "nightly"}})
	if err != nil {
		t.Fatal(err)
	}
	run := c.Engine.Settle(list.Items[0].ID)
	want := fmt.Sprintf(`{"at":%q}`, first.In(mustZone(t, zone)).Format(time.RFC3339))
	if run.Status != domain.RunCompleted || string(run.Output) != want || run.Actor != "otto" || run.Origin != "schedule" {
		t.Errorf("%s %s by %s from %s, want %s", run.Status, run.Output, run.Actor, run.Origin, want)
	}
	// The clock was an hour ahead, and kairosd restarts: the schedule moves back, and the slot that
	// has a run starts no other.
	c.tick(first.Add(10*time.Minute + time.Second))
	c.now = first.Add(-30 * time.Second)
	timer, stopped := c.another(), context.Canceled
	timer.Sleep = func(context.Context, time.Duration) error { return stopped }
	timer.Run(t.Context())
	if next := c.get().Next; !next.Equal(first) {
		t.Fatalf("after the clock was set back, the next slot is %s, want %s", next, first)
	}
	c.tick(first.Add(time.Second))
	c.tick(first.Add(10*time.Minute + time.Second))
	if n := c.runs(); n != 2 {
		t.Errorf("%d runs of two slots: %q", n, c.slots())
	}
	again, err := c.Runs.Get(t.Context(), apptest.Viewer, run.ID)
	if err != nil || again.Run.Slot.Schedule != "nightly" || !again.Run.Slot.At.Equal(first) {
		t.Errorf("%+v %v", again.Run.Slot, err)
	}
}

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// While the plan is paused, the server is in maintenance, or the schedule is paused, no slot starts.
func TestNothingStartsWhilePaused(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	s := c.create("slotted", "*/10 * * * *", nil)
	due := s.Next.Add(time.Second)
	change := app.PlanChange{Meta: app.Meta{By: apptest.Operator}, Plan: "slotted"}
	if _, err := c.Plans.Pause(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	c.tick(due)
	if _, err := c.Plans.Unpause(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	c.Engine.Maintain(true)
	c.tick(due)
	c.Engine.Maintain(false)
	if n, got := c.runs(), c.slots(); n != 0 || len(got) != 0 {
		t.Fatalf("%d runs while it was paused: %q", n, got)
	}
	pause := app.ScheduleChange{Meta: app.Meta{By: apptest.Operator}, Schedule: "nightly", Reason: "holidays"}
	p, err := c.Schedules.Pause(t.Context(), pause)
	if err != nil || p.Paused == nil || p.Paused.Reason != "holidays" || p.Rev <= s.Rev {
		t.Fatalf("%+v %v", p.Paused, err)
	}
	c.tick(due)
	if n := c.runs(); n != 0 {
		t.Fatalf("%d runs of a paused schedule", n)
	}
	if p, err = c.Schedules.Resume(t.Context(), pause); err != nil || p.Paused != nil {
		t.Fatalf("%+v %v", p, err)
	}
	c.tick(p.Next)
	if got := c.slots(); len(got) != 1 || !strings.HasSuffix(got[0], " started") {
		t.Errorf("after the pauses: %q", got)
	}
	if said := audited(t, c.World,
		"schedule.pause"); len(said) != 1 || said[0].Object != "schedule:nightly" || said[0].Reason != "holidays" {
		t.Errorf("%+v", said)
	}
}

// A slot that is due while a run of an earlier one is active is skipped, waits, or cancels that run.
func TestOverlap(t *testing.T) {
	t.Parallel()
	for overlap, want := range map[domain.Overlap]struct {
		slots  []string
		status []domain.RunStatus
	}{
		domain.OverlapSkip:         {[]string{"started", "skipped"}, []domain.RunStatus{domain.RunWaiting}},
		domain.OverlapQueue:        {[]string{"started", "started"}, []domain.RunStatus{domain.RunQueued, domain.RunWaiting}},
		domain.OverlapCancelOldest: {[]string{"started", "started"}, []domain.RunStatus{domain.RunWaiting, domain.RunCancelled}},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			t.Parallel()
			c := newClocked(t)
			s := c.create("patient", "* * * * *", func(f *app.ScheduleFields) { f.Overlap = &overlap })
			c.tick(s.Next)
			c.Engine.Until(c.get().Last.Run, domain.RunWaiting, domain.WaitTimer)
			c.tick(s.Next.Add(time.Minute))
			var states []string
			for _, x := range c.slots() {
				states = append(states, strings.Fields(x)[1])
			}
			if !slices.Equal(states, want.slots) {
				t.Fatalf("%q, want %q", states, want.slots)
			}
			if overlap == domain.OverlapCancelOldest {
				c.Engine.Until(c.get().Last.Run, domain.RunWaiting, domain.WaitTimer)
			}
			list, err := c.Store.Runs(t.Context(), domain.RunFilter{RunCause: domain.RunCause{Schedule: "nightly"}})
			if err != nil {
				t.Fatal(err)
			}
			var got []domain.RunStatus
			for _, r := range list.Items {
				got = append(got, r.Status)
			}
			if !slices.Equal(got, want.status) {
				t.Errorf("%q, want %q", got, want.status)
			}
		})
	}
}

// A slot whose run cannot be created is recorded, and the schedule moves on.
//
// Bad input: S07.
func TestASlotThatCannotStartIsRecorded(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	s := c.create("slotted", "* * * * *", nil)
	c.Engine.Save(slotted + "input: {type: object, required: [day], properties: {day: {type: string}}}\n")
	c.tick(s.Next)
	if got := c.get(); got.Last == nil || got.Last.State != domain.SlotFailed || !strings.Contains(got.Last.Reason, "day") ||
		!got.Next.After(s.Next) {
		t.Errorf("%+v, next %s", got.Last, got.Next)
	}
	if said := audited(t, c.World, "schedule.failed"); len(said) != 1 {
		t.Errorf("%+v", said)
	}
}
