package servertest

import (
	"path/filepath"
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

// child returns the only child run of a run, when it has one.
func (k *kairosd) child(parent domain.Run) domain.Run {
	k.s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		list, err := k.Runs(k.s.t.Context(), domain.RunFilter{Parent: parent.ID})
		if err == nil && len(list.Items) == 1 {
			return list.Items[0]
		}
	}
	k.s.t.Fatalf("run %s has no child run", parent.ID)
	return domain.Run{}
}

// Child runs of several parents share a concurrency key. They run one after the other while kairosd is killed and started. One that
// waits can be paused and cancelled, and so can its parent. One that is resumed waits again. Others are skipped.
func TestChildRunsWaitForTheirConcurrencyKey(t *testing.T) {
	s := startServer(t)
	k := s.kairosd()
	s.worker(s.config())
	till := `
id: till
concurrency: {key: till, on_conflict: queue}
nodes: {ask: {type: approval, input: {message: "Go on?"}}}
`
	k.save(till)
	v := k.save("id: shop\nnodes: {pay: {type: plan, plan: till}}\n")
	begin := func() (parent, child domain.Run) {
		parent = k.begin(v)
		return parent, k.child(parent)
	}
	firstParent, first := begin()
	k.until(first.ID, domain.RunWaiting, domain.WaitApproval)
	secondParent, second := begin()
	_, third := begin()
	fourthParent, fourth := begin()
	fifthParent := k.begin(v)
	k.kill()
	k.up()
	fifth := k.child(fifthParent)
	k.act(second.ID, domain.ActionPause)
	k.act(third.ID, domain.ActionCancel)
	k.until(third.ID, domain.RunCancelled, "")
	k.act(fourthParent.ID, domain.ActionCancel)
	k.until(fourth.ID, domain.RunCancelled, "")
	k.approve(first.ID)
	k.until(first.ID, domain.RunCompleted, "")
	k.until(firstParent.ID, domain.RunCompleted, "")
	k.until(fifth.ID, domain.RunWaiting, domain.WaitApproval) // the second one is paused
	k.act(second.ID, domain.ActionUnpause)
	k.kill()
	k.up()
	k.until(second.ID, domain.RunQueued, "")
	k.act(fifth.ID, domain.ActionCancel)
	k.until(second.ID, domain.RunWaiting, domain.WaitApproval)
	k.until(fifthParent.ID, domain.RunFailed, "")
	k.act(fifthParent.ID, domain.ActionResume)
	k.until(fifth.ID, domain.RunQueued, "")
	k.save(strings.Replace(till, "queue", "skip", 1))
	skipped := k.begin(v)
	if end := k.until(skipped.ID, domain.RunFailed, ""); !strings.Contains(end.Error.Message, "concurrency key till is still active") {
		t.Errorf("skip: %+v", end.Error)
	}
	k.approve(second.ID)
	k.until(secondParent.ID, domain.RunCompleted, "")
	k.until(fifth.ID, domain.RunWaiting, domain.WaitApproval)
	k.save(strings.Replace(till, "queue", "cancel_oldest", 1))
	_, newest := begin()
	k.until(fifth.ID, domain.RunCancelled, "")
	k.until(newest.ID, domain.RunWaiting, domain.WaitApproval)
}

// A backup without any run is restored while one child run has a concurrency key, and another one waits for it. The key is still held.
func TestARestoredRecordKeepsConcurrencyKeys(t *testing.T) {
	s := startServer(t)
	k := s.kairosd()
	s.worker(s.config())
	k.save("id: till\nconcurrency: {key: till}\nnodes: {ask: {type: approval, input: {message: \"Go on?\"}}}\n")
	v := k.save("id: shop\nnodes: {pay: {type: plan, plan: till}}\n")
	k.stop()
	backup := filepath.Join(s.dir, "backup")
	copyDatabase(t, k.dir.Database(), backup)
	k.up()
	first := k.child(k.begin(v))
	k.until(first.ID, domain.RunWaiting, domain.WaitApproval)
	parent := k.begin(v)
	second := k.child(parent)
	third := k.child(k.begin(v))
	k.stop()
	copyDatabase(t, backup, k.dir.Database())
	k.up()
	k.until(first.ID, domain.RunWaiting, domain.WaitApproval)
	k.until(second.ID, domain.RunQueued, "")
	if _, err := k.ReleaseHeld(t.Context(), "", "checked"); err != nil {
		t.Fatal(err)
	}
	k.approve(first.ID)
	k.until(first.ID, domain.RunCompleted, "")
	k.until(second.ID, domain.RunWaiting, domain.WaitApproval)
	k.until(third.ID, domain.RunQueued, "")
	k.approve(second.ID)
	k.until(parent.ID, domain.RunCompleted, "")
	k.until(third.ID, domain.RunWaiting, domain.WaitApproval)
}
