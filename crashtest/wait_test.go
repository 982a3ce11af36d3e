package crashtest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// A daemon that is killed in the transaction in which a signal ends a wait has not lost the signal. After
// the restart, it ends exactly one wait: that of the run which waited first.
func TestKillAtTheEndOfAWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	inst := newInstance(t, build(t), filepath.Join(proof.Dir(t), "wait"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(inst.open(""))
	text := "id: ship\nnodes:\n  paid: {wait: {event: paid}}\n  done: {type: set, needs: [paid], input: \"${output.paid.data}\"}\n"
	_, _, _, _, err := inst.api.SavePlan(ctx, []byte(text), planner.FormatYAML, "", "")
	must(err)
	var runs []domain.Run
	for range 2 {
		run, err := inst.api.Start(ctx, domain.StartRequest{Plan: "ship"})
		must(err)
		must(inst.until(ctx, run.ID, domain.RunWaiting))
		runs = append(runs, run)
	}
	must(inst.end())

	must(inst.open("kill=signal.consumed:1"))
	if _, err := inst.api.SendSignal(ctx, apitypes.SignalCreate{Name: "paid", Data: domain.RawJSON("12")}); err == nil {
		t.Fatal("the daemon did not die while the signal ended a wait")
	}
	must(inst.end())

	must(inst.open(""))
	must(inst.until(ctx, runs[0].ID, domain.RunCompleted))
	signals, _, err := inst.api.Signals(ctx, domain.SignalFilter{Page: domain.Page{Limit: 10}})
	must(err)
	if len(signals) != 1 || signals[0].Status != domain.SignalMatched || len(signals[0].Matches) != 1 ||
		signals[0].Matches[0].Run != runs[0].ID {
		t.Errorf("signals: %+v", signals)
	}
	if r, err := inst.api.FindRun(ctx, runs[1].ID); err != nil || r.Status != domain.RunWaiting {
		t.Errorf("the run that waited second is %s, %v", r.Status, err)
	}
	must(inst.end())
	must(inst.verify(ctx))
}
