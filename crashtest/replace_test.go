package crashtest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// A run that replaces another one exists before that one is cancelled. A daemon that is killed before it
// stores the new run has changed nothing. Killed after that, it cancels the old run at its next start.
func TestKillAroundAReplacement(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	for point, replaced := range map[string]bool{"accept.before": false, "replace.before": true} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			inst := newInstance(t, bin, filepath.Join(in, point))
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(inst.open(""))
			text := "id: till\nconcurrency: {key: till, on_conflict: cancel_oldest}\n" +
				"nodes:\n  a: {type: approval, input: {message: go on?}}\n"
			_, _, _, _, err := inst.api.SavePlan(ctx, []byte(text), planner.FormatYAML, "", "")
			must(err)
			old, err := inst.api.Start(ctx, domain.StartRequest{Plan: "till"})
			must(err)
			must(inst.until(ctx, old.ID, domain.RunWaiting))
			must(inst.end())

			must(inst.open("kill=" + point + ":1"))
			if _, err := inst.api.Start(ctx, domain.StartRequest{Plan: "till", Key: "next"}); err == nil {
				t.Fatalf("the daemon did not die at %s", point)
			}
			must(inst.end())

			must(inst.open(""))
			if !replaced {
				run, err := inst.api.FindRun(ctx, old.ID)
				if err != nil || run.Status != domain.RunWaiting {
					t.Errorf("the old run is %s, %v", run.Status, err)
				}
			}
			next, err := inst.api.Start(ctx, domain.StartRequest{Plan: "till", Key: "next"}) // the same run, if it exists
			must(err)
			must(inst.until(ctx, old.ID, domain.RunCancelled))
			must(inst.until(ctx, next.ID, domain.RunWaiting))
			list, err := inst.api.Runs(ctx, domain.RunFilter{PlanKey: "till", Page: domain.Page{Limit: 10}})
			if err != nil || len(list.Items) != 2 {
				t.Errorf("runs: %+v, %v", list.Items, err)
			}
			must(inst.end())
			must(inst.verify(ctx))
		})
	}
}

// until waits until a run has a status.
func (inst *instance) until(ctx context.Context, run string, status domain.RunStatus) error {
	for _, err := range inst.api.Events(ctx, "", "0") {
		if err != nil {
			return err
		}
		if r, err := inst.api.FindRun(ctx, run); err != nil || r.Status == status {
			return err
		}
	}
	return ctx.Err()
}
