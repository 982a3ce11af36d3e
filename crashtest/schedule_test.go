package crashtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// A slot starts exactly one run, wherever the daemon is killed: before it starts the run, in the
// transaction that claims the slot, and after the start.
func TestKillAroundASlot(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	for _, point := range []string{"schedule.before", "schedule.claimed", "schedule.after"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			inst := newInstance(t, bin, filepath.Join(in, point))
			slot := inst.dueSchedule(ctx, t)

			// The daemon starts the slot as soon as it runs, and dies at the point.
			cmd := exec.Command(bin, "serve", "--data", inst.data(), "--listen", "127.0.0.1:0", "--crash-loop", "0")
			cmd.Env = append(os.Environ(), failpoint.Env+"=kill="+point+":1")
			if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("the daemon did not die at %s: %v\n%s", point, err, out)
			}

			if err := inst.open(""); err != nil {
				t.Fatal(err)
			}
			for _, err := range inst.api.Events(ctx, "", "0") {
				if err != nil {
					t.Fatal(err)
				}
				list, err := inst.api.Runs(ctx,
					domain.RunFilter{RunCause: domain.RunCause{Schedule: "daily"}, Page: domain.Page{Limit: 10}})
				if err != nil {
					t.Fatal(err)
				}
				if len(list.Items) > 0 && list.Items[0].Status == domain.RunCompleted {
					break
				}
			}
			// Another start finds the slot settled.
			if err := inst.end(); err != nil {
				t.Fatal(err)
			}
			if err := inst.open(""); err != nil {
				t.Fatal(err)
			}
			list, err := inst.api.Runs(ctx, domain.RunFilter{RunCause: domain.RunCause{Schedule: "daily"}, Page: domain.Page{Limit: 10}})
			if err != nil || len(list.Items) != 1 || list.Items[0].Status != domain.RunCompleted {
				t.Errorf("runs of the schedule: %+v, %v", list.Items, err)
			}
			slots, err := inst.api.ScheduleSlots(ctx, "daily", 10)
			if err != nil || len(slots) != 1 || !slots[0].At.Equal(slot) {
				t.Errorf("slots: %+v, %v; want %s", slots, err, slot)
			}
			if err := inst.end(); err != nil {
				t.Fatal(err)
			}
			if err := inst.verify(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// dueSchedule creates a schedule whose slot is due at once, and returns this slot. The next one is a
// day later.
func (inst *instance) dueSchedule(ctx context.Context, t *testing.T) time.Time {
	t.Helper()
	if err := inst.open(""); err != nil {
		t.Fatal(err)
	}
	text := "id: report\nnodes:\n  say: {type: set, input: \"${run.slot}\"}\n"
	if _, _, _, problems, err := inst.api.SavePlan(ctx, []byte(text), planner.FormatYAML, "", ""); err != nil {
		t.Fatal(err, problems)
	}
	slot := time.Now().UTC().Truncate(time.Minute)
	plan, cron := "report", fmt.Sprintf("%d %d * * *", slot.Minute(), slot.Hour())
	if _, err := inst.api.CreateSchedule(ctx, apitypes.ScheduleCreate{Key: "daily",
		ScheduleChange: apitypes.ScheduleChange{Plan: &plan, Cron: &cron}}); err != nil {
		t.Fatal(err)
	}
	if err := inst.end(); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, filepath.Join(inst.data(), "kairos.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Schedule(ctx, "daily")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MoveSchedule(ctx, x.ID, domain.SlotMove{From: x.Next, Next: slot, Due: slot}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return slot
}
