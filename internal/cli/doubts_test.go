package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// One command resolves a step in all runs in which it is in doubt.
func TestDoubtsOfAStepAreResolvedTogether(t *testing.T) {
	t.Parallel()
	d, s := daemonShell(t)
	var calls atomic.Int32
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the body does not matter
		if calls.Add(1) > 2 {
			_, _ = io.WriteString(w, "ok") // a lost answer fails the test below
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close() // after the request: the outcome is unknown
	}))
	t.Cleanup(bank.Close)
	plan := "id: pay\nnodes:\n  pay: {type: http, effect: unsafe, input: {method: POST, url: \"" + bank.URL + "\", body: 1}}\n"
	runs := []string{s.detached("pay", plan), s.detached("pay", plan)}
	for _, id := range runs {
		d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitInDoubt })
	}
	out, _ := s.expect(0, "runs", "doubts", "--plan", "pay")
	for _, id := range runs {
		if !strings.Contains(out, domain.ShortID(id)) {
			t.Errorf("run %s is not in the list:\n%s", id, out)
		}
	}
	if _, stderr := s.expect(2, "runs", "doubts", "resolve", "pay", "pay"); !strings.Contains(stderr, "use exactly one of") {
		t.Error(stderr)
	}
	if stderr, code := s.typed("n\n", "runs", "doubts", "resolve", "pay", "pay", "--retry"); code != 2 ||
		!strings.Contains(stderr, "Resolve 2 steps in doubt? [y/N]") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if out, _ := s.expect(0, "__complete", "runs", "doubts", "resolve", "pay", ""); !strings.Contains(out, "pay\tpay") {
		t.Errorf("the step is completed with %q", out)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls before the answer", n)
	}
	out, _ = s.expect(0, "runs", "doubts", "resolve", "pay", "pay", "--retry", "--reason", "the bank has neither")
	if strings.Count(out, "resolved: retry") != 2 {
		t.Error(out)
	}
	for _, id := range runs {
		d.until(t, id, func(r domain.Run) bool { return r.Status == domain.RunCompleted })
	}
	_, stderr := s.expect(2, "runs", "doubts", "resolve", "pay", "pay", "--retry")
	if !strings.Contains(stderr, "not in doubt in any run") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(0, "runs", "doubts"); !strings.Contains(stderr, "no step is in doubt") {
		t.Error(stderr)
	}
}
