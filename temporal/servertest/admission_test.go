package servertest

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Runs with one concurrency key run one after the other, also after kairosd was killed. A cancelled run that is resumed waits,
// too, and a newer run can cancel the oldest one.
func TestRunsWaitForTheirConcurrencyKey(t *testing.T) {
	s := startServer(t)
	k := s.kairosd()
	s.worker(s.config())
	const plan = `
id: till
concurrency: {key: till, on_conflict: queue}
nodes: {ask: {type: approval, input: {message: "Go on?"}}}
`
	v := k.save(plan)
	first := k.begin(v)
	k.until(first.ID, domain.RunWaiting, domain.WaitApproval)
	second, third := k.begin(v), k.begin(v)
	k.kill()
	k.up()
	k.act(second.ID, domain.ActionCancel)
	k.approve(first.ID)
	k.until(first.ID, domain.RunCompleted, "")
	k.until(third.ID, domain.RunWaiting, domain.WaitApproval)
	k.act(second.ID, domain.ActionResume)
	k.until(second.ID, domain.RunQueued, "")
	k.kill()
	k.up()
	k.until(second.ID, domain.RunQueued, "")
	k.approve(third.ID)
	k.until(third.ID, domain.RunCompleted, "")
	k.until(second.ID, domain.RunWaiting, domain.WaitApproval)
	newest := k.begin(k.save(strings.ReplaceAll(plan, "queue", "cancel_oldest")))
	k.until(second.ID, domain.RunCancelled, "")
	k.until(newest.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(newest.ID)
	k.until(newest.ID, domain.RunCompleted, "")
}

// During maintenance, no step of an active run starts, also after kairosd was killed. The step starts when the maintenance ends.
func TestMaintenanceHoldsActiveRuns(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := openBank(t)
	k := s.kairosd()
	s.worker(s.config())
	run := k.begin(k.save(paymentOf(b, true)))
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	if _, err := k.Maintain(t.Context(), true, "the bank is down"); err != nil {
		t.Fatal(err)
	}
	k.approve(run.ID)
	k.kill()
	k.up()
	if n := b.payments.Load(); n != 0 {
		t.Errorf("%d payments during the maintenance", n)
	}
	end := time.Now()
	if _, err := k.Maintain(t.Context(), false, ""); err != nil {
		t.Fatal(err)
	}
	k.until(run.ID, domain.RunCompleted, "")
	rows, err := k.Journal(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Kind == domain.EntryIntent && r.At.Before(end) {
			t.Errorf("step %s began at %s, during the maintenance, which ended at %s", r.Node, r.At, end)
		}
	}
}
