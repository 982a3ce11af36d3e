package engine_test

import (
	"context"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/internal/store"
)

// Each world has a schedule. Its timer looks at moments that the seed chooses, so slots start in
// time, or are missed. Whatever happens, a slot starts at most one run, and it stays recorded as
// long as its run.

// declare stores the schedule of the first plan.
func (w *world) declare() {
	x := domain.Schedule{ID: domain.NewID(), Key: "often", PlanID: w.plans[0].PlanID, Actor: operator.Name,
		ScheduleSpec: domain.ScheduleSpec{Cron: "*/20 * * * *", Zone: "UTC", Input: domain.RawJSON(propertyInput),
			Overlap: []domain.Overlap{domain.OverlapSkip, domain.OverlapQueue}[w.rng.IntN(2)], CatchUp: domain.CatchUpLast}}
	var err error
	if x.Next, x.Due, err = schedule.First(x, time.Now()); err == nil {
		_, _, err = w.store.Do(store.Operation{Name: "create-schedule", Action: "schedule.create", By: operator, At: time.Now()},
			func(tx *store.Tx) (string, error) { return "schedule:" + x.Key, tx.Schedules().Create(x) })
	}
	if err != nil {
		w.violate("create the schedule: %v", err)
	}
	w.schedule = x.ID
}

// startDue starts the slots that are due.
func (w *world) startDue() {
	if len(w.roots) >= 6 {
		w.pass()
		return
	}
	w.sleep(time.Millisecond) // no two runs have the same age
	w.note("the timer of schedules looks")
	timer := schedule.New(schedule.Config{Store: ticking{w.store, w.order}, Engine: claiming{w.engine.Timed(), w.mistake},
		Now: w.engine.Timed().Now})
	if _, err := timer.Tick(w.ctx()); err != nil {
		w.violate("the timer of schedules: %v", err)
	}
	for _, s := range w.startedSlots() {
		if !slices.Contains(w.roots, s.Run) {
			w.roots = append(w.roots, s.Run)
			w.note("start %s for %s", w.name(s.Run), s.At.Format("15:04"))
		}
	}
}

// startedSlots lists the slots that have started a run.
func (w *world) startedSlots() (list []domain.Slot) {
	slots, err := w.store.ScheduleSlots(w.ctx(), w.schedule, time.Time{}, 1000)
	if err != nil {
		w.violate("slots: %v", err)
	}
	for _, s := range slots {
		if s.State == domain.SlotStarted {
			list = append(list, s)
		}
	}
	return list
}

// oneRunPerSlot checks that the runs of the schedule and its started slots belong to each other.
func (w *world) oneRunPerSlot() {
	started := map[string]time.Time{} // by run
	for _, s := range w.startedSlots() {
		started[s.Run] = s.At
	}
	runs := map[int64]string{} // by slot
	for _, id := range w.runs() {
		r, ok := w.run(id)
		if !ok || r.Origin != domain.OriginSchedule {
			continue
		}
		slot := r.Slot.At.Unix()
		if other := runs[slot]; other != "" {
			w.violate("%s and %s are runs of the slot %s", other, w.name(id), r.Slot)
		}
		runs[slot] = w.name(id)
		if at := started[id]; !at.Equal(r.Slot.At) {
			w.violate("%s is a run of the slot %s, and the slot of the schedule is %s", w.name(id), r.Slot, at)
		}
		delete(started, id)
	}
	for id, at := range started {
		w.violate("the slot %s has started %s, which does not exist", at, w.name(id))
	}
	w.slotRuns = max(w.slotRuns, len(runs))
}

// ticking is the timer's view of the store. Its writes have their turn like those of the engine.
type ticking struct {
	*store.Store
	o *order
}

func (s ticking) MoveSchedule(ctx context.Context, schedule string, m domain.SlotMove, slot *domain.Slot) error {
	s.o.turn("", aWrite)
	return s.Store.MoveSchedule(ctx, schedule, m, slot)
}

// claiming is the timer's view of the engine. With mistakeClaim, it starts a second run of a slot.
type claiming struct {
	engine.Timed
	mistake mistake
}

func (e claiming) Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error) {
	run, err := e.Timed.Start(ctx, actor, r)
	if err == nil && e.mistake == mistakeClaim {
		r.Claim, r.Concurrency = nil, nil
		_, err = e.Timed.Start(ctx, actor, r)
	}
	return run, err
}
