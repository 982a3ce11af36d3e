package crashtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// A file starts exactly one run if the daemon is killed in the transaction that stores the run with the
// file. A file that arrives while the daemon is down starts a run after the next start.
func TestKillWhileAFileIsDelivered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	inst := newInstance(t, build(t), proof.Dir(t))
	in := filepath.Join(inst.dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(inst.dir, "kairos.yaml"), "hooks: {directories: [in]}\n")
	if err := inst.open("kill=hook.accepted:1"); err != nil {
		t.Fatal(err)
	}
	plan := "id: read\nnodes:\n  say: {type: set, input: \"${input.name}\"}\n"
	if _, _, _, problems, err := inst.api.SavePlan(ctx, []byte(plan), planner.FormatYAML, "", ""); err != nil {
		t.Fatal(err, problems)
	}
	key, pattern, settle := "read", filepath.Join(in, "*.csv"), int64(1000)
	if _, err := inst.api.CreateHook(ctx, apitypes.HookCreate{Key: "in", HookEdit: apitypes.HookEdit{Plan: &key, Files: &pattern,
		SettleMs: &settle}}); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(in, "1.csv"), "1")
	_ = inst.cmd.Wait() // the failpoint kills it
	if err := inst.api.Close(); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(in, "2.csv"), "2")
	for range 2 { // a second start delivers nothing again
		if err := inst.open(""); err != nil {
			t.Fatal(err)
		}
		var list domain.List[domain.Run]
		for _, err := range inst.api.Events(ctx, "", "0") {
			if err == nil {
				list, err = inst.api.Runs(ctx, domain.RunFilter{Labels: map[string]string{"hook": "in"}, Page: domain.Page{Limit: 10}})
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Items) == 2 {
				break
			}
		}
		completed := func(r domain.Run) bool { return r.Status == domain.RunCompleted }
		for _, r := range list.Items {
			if err := follow(ctx, inst.api, r.ID, completed); err != nil {
				t.Error(err)
			}
		}
		deliveries, _, err := inst.api.HookDeliveries(ctx, domain.DeliveryFilter{Hook: "in", Page: domain.Page{Limit: 10}})
		if err != nil || len(list.Items) != 2 || len(deliveries) != 2 {
			t.Fatalf("%d runs, %+v, %v", len(list.Items), deliveries, err)
		}
		if err := inst.end(); err != nil {
			t.Fatal(err)
		}
	}
	if err := inst.verify(ctx); err != nil {
		t.Error(err)
	}
}
