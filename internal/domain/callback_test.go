package domain_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A token names its run, and only the key that made it verifies it.
func TestACallbackToken(t *testing.T) {
	t.Parallel()
	key, run := []byte("key"), domain.NewID()
	token := domain.CallbackToken(key, run)
	if token != domain.CallbackToken(key, run) || token == domain.CallbackToken(key, domain.NewID()) {
		t.Errorf("token %s is not that of the run", token)
	}
	if got := domain.CallbackRun(key, token); got != run {
		t.Errorf("run %q, want %q", got, run)
	}
	_, mac, _ := strings.Cut(token, "-")
	for _, bad := range []string{"", "-", run, run + "-", run + "-" + mac[1:], token + "A", strings.ToUpper(token),
		domain.NewID() + "-" + mac, "-" + mac, run + "-" + strings.Repeat("A", 1000), domain.CallbackToken([]byte("other"), run)} {
		if got := domain.CallbackRun(key, bad); got != "" {
			t.Errorf("%q is the token of %q", bad, got)
		}
	}
}
