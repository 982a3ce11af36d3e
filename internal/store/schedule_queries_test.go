package store

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// everyScheduleQuery creates a schedule of a plan version, starts and misses slots, and deletes it.
func everyScheduleQuery(t *testing.T, s *Store, v domain.Version, must func(string, error)) {
	t.Helper()
	ctx, slot := t.Context(), time.Date(2030, 1, 31, 2, 30, 0, 0, time.UTC)
	next := slot.Add(time.Hour)
	x := domain.Schedule{ID: domain.NewID(), Key: "nightly", PlanID: v.PlanID, Next: slot, Due: slot, Actor: "t",
		ScheduleSpec: domain.ScheduleSpec{Cron: "30 * * * *", Zone: "UTC", Overlap: domain.OverlapSkip, CatchUp: domain.CatchUpAsk,
			Labels: map[string]string{"env": "prod"}}}
	do := func(name string, f func(tx ScheduleTx) error) {
		t.Helper()
		_, _, err := s.Do(s.by(name, domain.System), func(tx *Tx) (string, error) { return "", f(tx.Schedules()) })
		must(name, err)
	}
	do("create", func(tx ScheduleTx) error { return tx.Create(x) })
	if _, _, err := s.Do(s.by("create", domain.System), func(tx *Tx) (string, error) {
		return "",
			tx.Schedules().Create(x)
	}); domain.CodeOf(
		err) != domain.CodeConflict {
		t.Errorf("a second schedule with its key: %v", err)
	}
	due, err := s.DueSchedules(ctx, slot, 10)
	if must("due", err); len(due) != 1 || due[0].Key != "nightly" || due[0].Labels["env"] != "prod" {
		t.Fatalf("%+v", due)
	}
	claim := domain.SlotClaim{Schedule: x.ID, Slot: slot, SlotMove: domain.SlotMove{From: slot, Next: next, Due: next}}
	start := func() (domain.Run, bool) {
		t.Helper()
		run, created, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: domain.OriginSchedule, Claim: &claim,
			Slot: domain.RunSlot{Schedule: "nightly", At: slot}})
		must("start", err)
		return run, created
	}
	run, created := start()
	again, repeated := start()
	if !created || repeated || again.ID != run.ID || run.Slot != (domain.RunSlot{Schedule: "nightly", At: slot}) {
		t.Errorf("%t %t %s %s %+v", created, repeated, run.ID, again.ID, run.Slot)
	}
	claim.Slot = next.Add(time.Hour)
	if _, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Claim: &claim}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a slot that the schedule is not at: %v", err)
	}
	at, err := s.NextDue(ctx, slot)
	if must("next due", err); !at.Equal(next) {
		t.Errorf("next due %s", at)
	}
	for range 2 { // the second extends the first
		m := domain.MissedSlots{ID: domain.NewID(), First: next, Last: next, Slots: 1, CreatedAt: slot}
		must("miss", s.MoveSchedule(ctx, x.ID, domain.SlotMove{From: next, Next: next.Add(time.Hour), Due: next.Add(time.Hour),
			Missed: &m}, nil))
		next = next.Add(time.Hour)
	}
	skipped := domain.Slot{At: next, State: domain.SlotSkipped, Reason: "busy", SettledAt: slot}
	must("skip", s.MoveSchedule(ctx, x.ID, domain.SlotMove{From: next, Next: next.Add(time.Hour), Due: next.Add(time.Hour)}, &skipped))
	list, err := s.Schedules(ctx, domain.ScheduleFilter{State: "missed"})
	if must("list", err); len(list.Items) != 1 || list.Items[0].Missed.Slots != 2 || list.Items[0].Last.State != domain.SlotSkipped {
		t.Fatalf("%+v", list.Items)
	}
	x = list.Items[0]
	do("decide", func(tx ScheduleTx) error {
		if _, err := tx.Missed(x); err != nil {
			return err
		}
		return tx.Decide(x, domain.CatchUpNone, "t", slot)
	})
	missed, err := s.MissedSlots(ctx, x, 5)
	if must("missed", err); len(missed) != 1 || missed[0].Decision != domain.CatchUpNone {
		t.Errorf("%+v", missed)
	}
	started, err := s.StartedSlots(ctx, x.ID, slot, next)
	if must("started", err); len(started) != 1 || !started[slot.Unix()] {
		t.Errorf("%v", started)
	}
	times, err := s.ScheduleTimes(ctx)
	if must("times", err); len(times) != 1 {
		t.Errorf("%+v", times)
	}
	do("change", func(tx ScheduleTx) error { return tx.Change(x) })
	must("pause", s.PauseSchedule(ctx, x.ID, "its zone is gone"))
	x, err = s.Schedule(ctx, "nightly")
	if must("get", err); x.Paused == nil || x.Paused.Reason != "its zone is gone" {
		t.Errorf("%+v", x.Paused)
	}
	do("delete", func(tx ScheduleTx) error { return tx.Delete(x.ID) })
	if _, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Claim: &claim}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a slot of a deleted schedule: %v", err)
	}
}
