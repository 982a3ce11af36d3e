package servertest

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// The payload key changes while a run waits for a person. First all programs accept the new key, then they use it, then they
// lose the old one. At each time, another program may still have the settings before.
func TestThePayloadKeyIsChanged(t *testing.T) {
	const renewed = "another secret of thirty-two characters"
	s, b := startServer(t), openBank(t)
	k := s.kairosd()
	first := s.worker(s.config())
	v := k.save(paymentOf(b, true))
	old, other := k.begin(v), k.begin(v)
	k.until(old.ID, domain.RunWaiting, domain.WaitApproval)
	k.until(other.ID, domain.RunWaiting, domain.WaitApproval)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	second := s.worker(s.configWith(secret, renewed))
	k.stop()
	k.keys = []string{renewed, secret}
	k.up()
	k.approve(old.ID)
	k.until(old.ID, domain.RunCompleted, "")
	young := k.begin(v)
	k.until(young.ID, domain.RunWaiting, domain.WaitApproval)
	if err := second.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	third := s.worker(s.configWith(renewed, secret))
	k.approve(other.ID)
	k.until(other.ID, domain.RunCompleted, "")
	if err := third.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	k.stop()
	k.keys = []string{renewed}
	k.up()
	s.worker(s.configWith(renewed))
	last := k.begin(v)
	k.until(last.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(last.ID)
	k.until(last.ID, domain.RunCompleted, "")
	if n := b.payments.Load(); n != 6 {
		t.Errorf("%d payments", n)
	}
}
