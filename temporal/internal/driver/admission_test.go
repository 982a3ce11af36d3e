package driver_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Child runs with one concurrency key run one after the other. One with the key of its parent does not wait. A parent whose child run
// kairosd refuses gets its reason, and the next attempt may succeed.
func TestChildRunsWaitForTheirKey(t *testing.T) {
	t.Parallel()
	const child = `{"id": "till", "concurrency": {"key": "till", "on_conflict": "CONFLICT"},
		"nodes": {"x": {"type": "wait", "input": {"for": "1h"}}, "y": {"type": "set", "needs": ["x"], "input": "${input}"}}}`
	for name, tt := range map[string]struct {
		src, conflict, output, failure string
		status                         domain.RunStatus
		hours                          float64
	}{
		"one after the other": {`{"nodes": {"all": {"type": "plan", "plan": "till", "foreach": [1, 2, 3], "max_parallel": 3,
			"input": "${item}"}}}`, "queue", "[1,2,3]", "", domain.RunCompleted, 3},
		"the key of the parent": {`{"concurrency": {"key": "till"}, "nodes": {"a": {"type": "plan", "plan": "till", "input": 1}}}`, "queue",
			"1", "", domain.RunCompleted, 1},
		"skip": {`{"nodes": {"a": {"type": "plan", "plan": "till", "input": 1},
			"w": {"type": "wait", "input": {"for": "10m"}}, "b": {"type": "plan", "plan": "till", "input": 2, "needs": ["w"]}}}`, "skip",
			"", "concurrency key till", domain.RunFailed, 0},
		"skip and retry": {`{"nodes": {"a": {"type": "plan", "plan": "till", "input": 1},
			"w": {"type": "wait", "input": {"for": "10m"}}, "b": {"type": "plan", "plan": "till", "input": 2, "needs": ["w"],
				"on_error": "continue"}, "c": {"type": "set", "needs": ["a", "b"], "when": "always", "input": "${status.b}"}}}`, "skip",
			`"failed"`, "", domain.RunCompleted, 1},
		"a timeout": {`{"nodes": {"a": {"type": "plan", "plan": "till", "input": 1},
			"w": {"type": "wait", "input": {"for": "10m"}}, "b": {"type": "plan", "plan": "till", "input": 2, "needs": ["w"],
				"timeout": "5m", "on_error": "continue"}, "c": {"type": "set", "needs": ["a", "b"], "when": "always", "input": "${status.b}"}}}`,
			"queue", `"failed"`, "", domain.RunCompleted, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := drivertest.New(t, registry())
			w.Save(strings.Replace(child, "CONFLICT", tt.conflict, 1))
			if strings.Contains(tt.src, "concurrency") {
				w.Key = "till"
			}
			run := w.Run(tt.src, "")
			want(t, w, run, tt.status, tt.output)
			if run.Error != nil && !strings.Contains(run.Error.Message, tt.failure) {
				t.Errorf("%s", run.Error.Message)
			}
			if h := run.EndedAt.Sub(run.StartedAt).Hours(); h < tt.hours || h > tt.hours+0.5 {
				t.Errorf("%f hours\n%s", h, w.Reports.Text(run.ID))
			}
		})
	}
}

// A child run that waits for its key begins only with kairosd's signature.
func TestAnAdmissionIsSigned(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := drivertest.New(t, registry()).Env.Now()
	for name, c := range map[string]struct {
		run  string
		with ed25519.PrivateKey
		ok   bool
	}{"signed": {"r", key, true}, "another key": {"r", other, false}, "another run": {"s", key, false}} {
		s, err := wire.Sign(c.with, c.run, wire.AdmitSignal, struct{}{}, now)
		if err != nil || s.Admits(public, "r") != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := (&wire.Signed{}); s.Admits(public, "r") || !s.Admits(nil, "r") {
		t.Error("without a signature")
	}
}
