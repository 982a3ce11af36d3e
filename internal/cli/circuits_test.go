package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A disabled tool stays disabled for later commands. Failures in a row are counted across commands,
// and enabling a host closes its circuit.
func TestCircuitsOfTools(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	var calls atomic.Int32
	up.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if !up.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	s := newShell(t)
	config := s.file("kairos.yaml", "tools: {http: {allow_private: [\"127.0.0.1\"]}, breakers: {http: {failures: 2, rest: 1h}}}\n")
	plan := s.file("plan.yaml", fmt.Sprintf("id: push\nnodes: {send: {type: http, effect: read, input: {url: %q}}}\n", server.URL))
	check := func(code int, want string, args ...string) {
		t.Helper()
		out, stderr := s.expect(code, append(args, "--config", config)...)
		if !strings.Contains(out+stderr, want) {
			t.Errorf("%q does not print %q:\n%s%s", args, want, out, stderr)
		}
	}
	check(0, "opens after 2 failures in a row, first for 1h0m0s, each host separately", "tools", "show", "http")
	check(2, "reason", "tools", "disable", "http")
	check(0, "", "tools", "disable", "http", "--reason", "they migrate")
	check(0, "disabled since ", "tools", "show", "http")
	check(0, "they migrate", "tools")
	check(1, "they migrate", "run", "--plan", plan)
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls were made while it is disabled", n)
	}
	check(0, "", "tools", "disable", "http", "--reason", "they migrate")
	check(0, "", "tools", "enable", "http")
	check(0, "", "tools", "enable", "http")
	check(0, "", "run", "--plan", plan)
	up.Store(false)
	check(1, "502", "run", "--plan", plan)
	check(1, "502", "run", "--plan", plan)
	check(0, "the last 2 calls failed", "tools", "show", "http")
	up.Store(true)
	made := calls.Load()
	check(0, "", "tools", "enable", "http", host)
	check(0, "", "tools", "enable", "http", host)
	check(0, "", "run", "--plan", plan)
	if n := calls.Load(); n != made+1 {
		t.Errorf("%d calls were made after it was enabled, want 1", n-made)
	}
	check(0, "tool.disable", "audit")
	for _, wrong := range [][]string{{"calculator", host}, {"nothing"}} {
		check(2, "", append([]string{"tools", "enable"}, wrong...)...)
	}
	check(0, "", "providers", "enable", "offline")
	check(0, "", "providers", "disable", "offline", "--reason", "out of quota")
	check(0, "out of quota", "providers", "show", "offline")
	check(0, "", "providers", "enable", "offline")
}
