package app_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// finished waits for the end of a bulk operation.
func (c *clocked) finished(id string) domain.Bulk {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		b, err := c.Bulk.Get(c.t.Context(), apptest.Viewer, id)
		if err != nil {
			c.t.Fatal(err)
		}
		if b.State.Final() {
			return b
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("still %+v", b)
		}
		runtime.Gosched() // a bulk operation has no event to wait for
	}
}

// Slots that kairosd could not start in time start none, the last, or all of their runs. The default
// depends on the plan.
func TestMissedSlots(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, plan string
		catchUp    domain.CatchUp
		started    int
		open       bool
	}{
		{"none", "slotted", domain.CatchUpNone, 0, false},
		{"last", "slotted", domain.CatchUpLast, 1, false},
		{"all", "slotted", domain.CatchUpAll, 6, false},
		{"ask", "slotted", domain.CatchUpAsk, 0, true},
		{"default", "slotted", domain.CatchUpDefault, 1, false},
		{"default of a plan with a non-idempotent step", "risky", domain.CatchUpDefault, 0, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := newClocked(t)
			queue := domain.OverlapQueue
			s := c.create(x.plan, "*/10 * * * *", func(f *app.ScheduleFields) { f.CatchUp, f.Overlap = &x.catchUp, &queue })
			// Six slots are missed, and the seventh starts in time.
			c.tick(s.Next.Add(time.Hour + time.Second))
			missed, err := c.Schedules.Missed(t.Context(), apptest.Viewer, "nightly", 10)
			if err != nil || len(missed) != 1 || missed[0].Slots != 6 || missed[0].More || !missed[0].First.Equal(s.Next) ||
				!missed[0].Last.Equal(s.Next.Add(50*time.Minute)) || (missed[0].Decision == "") != x.open {
				t.Fatalf("%+v %v", missed, err)
			}
			if bulks, err := c.Bulk.List(t.Context(), apptest.Viewer, 1); err != nil {
				t.Fatal(err)
			} else if len(bulks) > 0 {
				if b := c.finished(bulks[0].ID); b.State != domain.BulkDone || b.Acted != 6 {
					t.Errorf("%+v", b)
				}
			}
			if n := c.runs(); n != x.started+1 {
				t.Errorf("%d runs, want %d: %q", n, x.started+1, c.slots())
			}
			if got := c.get(); !got.Next.Equal(s.Next.Add(70*time.Minute)) || (got.Missed != nil) != x.open {
				t.Errorf("next %s, missed %+v", got.Next, got.Missed)
			}
		})
	}
}

// Missed slots that wait for a decision are one entry, which grows. A decision about fewer slots than
// there are is refused.
func TestADecisionAboutMissedSlots(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	ask := domain.CatchUpAsk
	s := c.create("slotted", "*/10 * * * *", func(f *app.ScheduleFields) { f.CatchUp = &ask })
	c.tick(s.Next.Add(35 * time.Minute))
	old := c.get().Missed
	c.tick(s.Next.Add(65 * time.Minute))
	open, err := c.Schedules.List(t.Context(), apptest.Viewer, domain.ScheduleFilter{State: "missed", Page: domain.Page{Limit: 10}})
	if err != nil || len(open.Items) != 1 {
		t.Fatalf("%+v %v", open, err)
	}
	if m := open.Items[0].Missed; m == nil || m.Slots != 7 || m.ID != old.ID || !m.First.Equal(s.Next) {
		t.Fatalf("%+v", m)
	}
	decide := app.MissedDecision{Meta: app.Meta{By: apptest.Operator, Key: "k"}, Schedule: "nightly", Missed: old.ID, Slots: old.Slots,
		Decision: domain.CatchUpAll}
	if _, err := c.Schedules.DecideMissed(t.Context(), decide); domain.CodeOf(err) != domain.CodeStale {
		t.Fatalf("a decision about %d of 7 slots: %v", old.Slots, err)
	}
	decide.Slots = 7
	if _, err := c.Schedules.DecideMissed(t.Context(), app.MissedDecision{Meta: app.Meta{By: apptest.Viewer}, Schedule: "nightly",
		Decision: domain.CatchUpNone}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Fatalf("by a viewer: %v", err)
	}
	b, err := c.Schedules.DecideMissed(t.Context(), decide)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Schedules.DecideMissed(t.Context(), decide)
	if err != nil || again.ID != b.ID {
		t.Errorf("the same request again: %+v %v", again, err)
	}
	if b = c.finished(b.ID); b.Acted != 7 || c.runs() != 7 || c.get().Missed != nil {
		t.Errorf("%+v, %d runs: %q", b, c.runs(), c.slots())
	}
	decide.Key = "another"
	if _, err := c.Schedules.DecideMissed(t.Context(), decide); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a second decision: %v", err)
	}
}

// Years of missed slots are counted and started up to a limit.
//
// Bad input: S06.
func TestYearsOfMissedSlots(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	ask := domain.CatchUpAsk
	s := c.create("slotted", "* * * * *", func(f *app.ScheduleFields) { f.CatchUp = &ask })
	c.tick(s.Next.AddDate(10, 0, 0))
	m := c.get().Missed
	if m == nil || m.Slots != domain.MaxMissedSlots || !m.More || !m.First.Equal(s.Next) {
		t.Fatalf("%+v", m)
	}
}

// A backfill runs the slots of a range that have no run, once each.
//
// Bad input: S08.
func TestBackfill(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	c.create("slotted", "0 * * * *", nil)
	to := time.Now().Truncate(time.Hour)
	req := app.Backfill{Meta: app.Meta{By: apptest.Operator}, Schedule: "nightly", From: to.Add(-5 * time.Hour), To: to, Canary: true}
	p, err := c.Schedules.PreviewBackfill(t.Context(), apptest.Viewer, req)
	if err != nil || len(p.Slots) != 5 || p.Started != 0 {
		t.Fatalf("%+v %v", p, err)
	}
	b, err := c.Schedules.Backfill(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if b = c.finished(b.ID); b.State != domain.BulkDone || b.Acted != 5 || c.runs() != 5 {
		t.Fatalf("%+v, %d runs", b, c.runs())
	}
	list, err := c.Store.Runs(t.Context(), domain.RunFilter{Bulk: b.ID})
	if err != nil || len(list.Items) != 5 {
		t.Errorf("runs of the operation: %d %v", len(list.Items), err)
	}
	req.From = to.Add(-6 * time.Hour)
	if p, err = c.Schedules.PreviewBackfill(t.Context(), apptest.Viewer, req); err != nil || len(p.Slots) != 1 || p.Started != 5 {
		t.Errorf("%+v %v", p, err)
	}
	for name, bad := range map[string]app.Backfill{
		"future": {From: to, To: time.Now().Add(time.Hour)}, "reversed": {From: to, To: to.Add(-time.Hour)}, "no beginning": {To: to},
		"too long": {From: to.AddDate(-1, 0, 0), To: to},
	} {
		bad.Meta, bad.Schedule = req.Meta, "nightly"
		if _, err := c.Schedules.Backfill(t.Context(), bad); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Settings are checked when a schedule is created or changed.
//
// Bad input: S05.
func TestSettingsOfASchedule(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	s := c.create("slotted", "*/10 * * * *", nil)
	ptr := func(d time.Duration) *time.Duration { return &d }
	text := func(s string) *string { return &s }
	for name, x := range map[string]struct {
		f    app.ScheduleFields
		code domain.Code
		want string
	}{
		"jitter as long as the interval": {app.ScheduleFields{Jitter: ptr(10 * time.Minute)}, domain.CodeInvalid,
			"not shorter than the interval"},
		"negative jitter": {app.ScheduleFields{Jitter: ptr(-1)}, domain.CodeInvalid, "negative"},
		"zone":            {app.ScheduleFields{Zone: text("Mars/Base")}, domain.CodeInvalid, "time zone"},
		"expression":      {app.ScheduleFields{Cron: text("0 0 31 2 *")}, domain.CodeInvalid, "it matches no time"},
		"plan":            {app.ScheduleFields{Plan: text("nope")}, domain.CodeNotFound, "nope"},
		"overlap":         {app.ScheduleFields{Overlap: new(domain.Overlap)}, domain.CodeInvalid, "overlap"},
		"version":         {app.ScheduleFields{Version: func() *int { n := 7; return &n }()}, domain.CodeNotFound, "7"},
	} {
		_, err := c.Schedules.Update(t.Context(), app.ScheduleEdit{Meta: app.Meta{By: apptest.Operator}, Schedule: "nightly",
			ScheduleFields: x.f})
		if domain.CodeOf(err) != x.code || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	edit := app.ScheduleEdit{Meta: app.Meta{By: apptest.Author}, Schedule: "nightly", Rev: s.Rev,
		ScheduleFields: app.ScheduleFields{Jitter: ptr(time.Minute)}}
	changed, err := c.Schedules.Update(t.Context(), edit)
	if err != nil || changed.Jitter != time.Minute || changed.Actor != "anna" || changed.Rev != s.Rev+1 ||
		changed.Due.Before(changed.Next) {
		t.Fatalf("%+v %v", changed, err)
	}
	if _, err := c.Schedules.Update(t.Context(), edit); domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("of an older revision: %v", err)
	}
	for _, key := range []string{"", "a b", "ä", strings.Repeat("x", 101), "nightly"} {
		want := domain.CodeInvalid
		if key == "nightly" {
			want = domain.CodeConflict
		}
		_, err := c.Schedules.Create(t.Context(), app.NewSchedule{Meta: app.Meta{By: apptest.Operator}, Key: key,
			ScheduleFields: app.ScheduleFields{Plan: text("slotted"), Cron: text("@daily")}})
		if domain.CodeOf(err) != want {
			t.Errorf("key %q: %v", key, err)
		}
	}
	c.tick(changed.Due)
	if _, err := c.Schedules.Delete(t.Context(), app.ScheduleChange{Meta: app.Meta{By: apptest.Operator},
		Schedule: "nightly"}); err != nil {
		t.Fatal(err)
	}
	if n := c.runs(); n != 1 {
		t.Errorf("%d runs are left", n)
	}
	if _, err := c.Schedules.Get(t.Context(), apptest.Viewer, "nightly"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("after it was deleted: %v", err)
	}
	var actions []string
	for _, a := range []string{"schedule.create", "schedule.update", "schedule.delete"} {
		for _, e := range audited(t, c.World, a) {
			actions = append(actions, e.Actor+" "+e.Action)
		}
	}
	if want := []string{"otto schedule.create", "anna schedule.update", "otto schedule.delete"}; !slices.Equal(actions, want) {
		t.Errorf("%q", actions)
	}
}

// A schedule whose time zone has disappeared is paused, with the reason.
//
// Bad input: S03.
func TestAZoneThatDisappears(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	s := c.create("slotted", "* * * * *", nil)
	s.Zone = "US/Pacific-New"
	storetest.Do(t, c.Store, "test", func(tx *store.Tx) error { return tx.Schedules().Change(s) })
	c.tick(s.Next)
	if got := c.get(); got.Paused == nil || !strings.Contains(got.Paused.Reason, "US/Pacific-New") || c.runs() != 0 {
		t.Errorf("%+v", got.Paused)
	}
	_, err := c.Schedules.Resume(t.Context(), app.ScheduleChange{Meta: app.Meta{By: apptest.Operator}, Schedule: "nightly"})
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a resume: %v", err)
	}
}
