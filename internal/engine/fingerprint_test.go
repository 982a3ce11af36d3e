package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// The fingerprint of a failure does not depend on its English message. This also holds for a
// failure inside another one, and after a restart.
func TestFingerprintsDoNotDependOnEnglish(t *testing.T) {
	t.Parallel()
	const plan = `{id: p, nodes: {a: {type: fails, retry: {max_attempts: 1}}}}`
	inner := func(format, reason string) error {
		return (&walk.Failure{Code: "bank"}).WithMessage(format, reason, 17)
	}
	fingerprint := func(f *walk.Failure) string {
		s := storetest.Open(t)
		fails := func(context.Context, *engine.Call) (engine.Result, error) { return engine.Result{}, f }
		e := enginetest.OpenOn(t, s, enginetest.NewRegistry().Handle("fails", walk.EffectPure, fails), engine.Options{})
		run := e.Settle(e.Run(plan, `"go"`).ID)
		if run.Status != domain.RunFailed || run.Error == nil || run.Error.Message != f.Message {
			t.Fatalf("run is %s, error %v", run.Status, run.Error)
		}
		stored, err := s.Run(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := stored.Error.Fingerprint(), run.Error.Fingerprint(); got != want {
			t.Errorf("stored with fingerprint %s, want %s", got, want)
		}
		return stored.Error.Fingerprint()
	}
	fail := func(format string, args ...any) string {
		return fingerprint((&walk.Failure{Code: "bank", Permanent: true, NoEffect: true}).WithMessage(format, args...))
	}
	before := fail("the bank refused: %s", inner("%s, account %d", "no funds"))
	if after := fail("refused by the bank: %s", inner("no transfer: %s (account %d)", "no funds")); after != before {
		t.Errorf("fingerprints %s and %s of one failure in other words", before, after)
	}
	if other := fail("the bank refused: %s", inner("%s, account %d", "account closed")); other == before {
		t.Error("failures with different arguments have one fingerprint")
	}
	// The message of a tool is part of the fingerprint.
	if a, b := fingerprint(&walk.Failure{Code: "bank", Message: "no funds"}), fingerprint(&walk.Failure{Code: "bank",
		Message: strings.ToUpper("no funds")}); a == b {
		t.Error("different texts of a tool have one fingerprint")
	}
}
