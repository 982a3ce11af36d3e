package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// The circuit of a host is opened for a time and closed by hand, which the next
// command knows of; what fails in a row is counted over commands, and what is no
// circuit is refused.
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
	says := func(code int, want string, args ...string) {
		t.Helper()
		out, stderr := s.expect(code, append(args, "--config", config)...)
		if !strings.Contains(out+stderr, want) {
			t.Errorf("%q says not %q:\n%s%s", args, want, out, stderr)
		}
	}
	says(0, "opens after 2 failures in a row, for 1h0m0s at first, each host by itself", "tools", "show", "http")
	says(0, "", "tools", "open", "http", host, "--for", "2h", "--reason", "they migrate")
	says(0, host+": not called until ", "tools", "show", "http")
	says(0, "(they migrate)", "tools")
	says(1, "has opened its circuit: they migrate", "run", "--plan", plan)
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls were made while it is open", n)
	}
	says(0, "", "tools", "close", "http", host)
	says(2, "is closed already", "tools", "close", "http", host)
	says(0, "", "run", "--plan", plan)
	up.Store(false)
	says(1, "502", "run", "--plan", plan)
	says(1, "502", "run", "--plan", plan)
	says(0, "2 calls in a row have failed", "tools", "show", "http")
	says(0, "circuit.open", "audit")
	for _, wrong := range [][]string{{"http"}, {"http", "a b"}, {"http", host, "--for", "48h"}, {"calculator"}, {"nothing"}} {
		says(2, "", append([]string{"tools", "open"}, wrong...)...)
	}
	says(2, "", "providers", "close", "offline")
	says(0, "", "providers", "open", "offline", "--for", "1m")
	says(0, "not called until", "providers", "show", "offline")
}
