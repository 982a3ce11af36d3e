package servertest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// command runs a command of kairosd on the data directory.
func (k *kairosd) command(args ...string) {
	k.s.t.Helper()
	args = append(args, "--data", string(k.dir), "--config", k.s.config())
	if out, err := exec.Command(filepath.Join(k.s.bin, "kairosd"), args...).CombinedOutput(); err != nil {
		k.s.t.Fatalf("kairosd %v: %v\n%s", args, err, out)
	}
}

// kairosd is killed and restored from a backup that was made while runs were active. Meanwhile, runs continue, end, and begin
// that the backup lacks. After the restore, kairosd fills the record from the histories. After the release, all runs
// complete, and no effect is repeated.
func TestKairosdIsRestoredFromABackup(t *testing.T) {
	s, l := startServer(t), openLedger(t)
	k := s.kairosd()
	s.worker(s.config())
	s.worker(s.config())
	o := k.orders(l)
	v := k.save(paymentOf(&bank{Server: l.Server}, true))
	waiting, approved := k.begin(v), k.begin(v)
	k.until(waiting.ID, domain.RunWaiting, domain.WaitApproval)
	k.until(approved.ID, domain.RunWaiting, domain.WaitApproval)
	for i := range 4 {
		o.begin(fmt.Sprintf("old-%d", i))
	}
	for range 8 {
		<-l.called // the runs are in the middle of their calls
	}
	backup := filepath.Join(s.dir, "backup.db")
	k.command("backup", backup)
	k.approve(approved.ID)
	k.until(approved.ID, domain.RunCompleted, "")
	for i := range 4 {
		o.begin(fmt.Sprintf("new-%d", i))
	}
	for i := range 4 {
		for len(l.of(fmt.Sprintf("/idempotent/reserve/new-%d", i))) == 0 {
			<-l.called // a run that has not reached Temporal is lost with the database
		}
	}
	rows := k.rows(approved.ID)
	k.kill()
	k.command("restore", "--force", backup)
	k.up()
	if n, err := k.ReleaseHeld(t.Context(), "", "the ledger was compared"); err != nil {
		t.Fatal(err)
	} else if n != 0 {
		t.Errorf("%d runs were released, although their workflows continue", n)
	}
	if now := k.until(approved.ID, domain.RunCompleted, ""); k.rows(now.ID) != rows {
		t.Errorf("the rows are\n%s\nand not\n%s", k.rows(now.ID), rows)
	}
	k.until(waiting.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(waiting.ID)
	k.until(waiting.ID, domain.RunCompleted, "")
	o.finish()
	o.check()
	for key, n := range l.of("/payments") {
		if n != 1 {
			t.Errorf("%d payments with the key %q", n, key)
		}
	}
	if n := len(l.of("/payments")); n != 4 {
		t.Errorf("%d payments of two runs", n)
	}
}
