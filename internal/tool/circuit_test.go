package tool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/walk"
)

// service is a server on loopback with scripted answers. It counts its requests.
type service struct {
	*httptest.Server
	status atomic.Int32 // 0: closes the connection
	calls  atomic.Int32
}

func newService(t *testing.T, status int) *service {
	t.Helper()
	s := &service{}
	s.status.Store(int32(status))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		status := int(s.status.Load())
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) host() string { return strings.TrimPrefix(s.URL, "http://") }

// guarded returns the built-in tools with circuits.
func guarded(t *testing.T, c tool.Config) (*tool.Set, *circuit.Board) {
	t.Helper()
	c.HTTP.AllowPrivate = []string{"127.0.0.1"}
	set, err := tool.Builtin(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	board := circuit.NewBoard(nil)
	set.Watch(activity.New(nil), board)
	return set, board
}

func get(t *testing.T, set *tool.Set, url string, more ...any) *walk.Failure {
	t.Helper()
	args := map[string]any{"url": url}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	_, err := set.Call(t.Context(), "http", llm.ToolCall{Args: args})
	if err == nil {
		return nil
	}
	return walk.AsFailure(err)
}

// The circuit of a host that fails repeatedly opens, for every side-effect class. Other hosts are
// not affected. A person or a successful answer closes it (L07).
func TestTheCircuitOfAFailingHostOpens(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"server error": 503, "too many": 429, "hangs up": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, well := newService(t, status), newService(t, 200)
			set, board := guarded(t, tool.Config{})
			for range 5 {
				if f := get(t, set, broken.URL, "method", "POST"); f == nil || f.Code == tool.CodeCircuitOpen {
					t.Fatalf("%+v", f)
				}
			}
			f := get(t, set, broken.URL, "method", "POST")
			if f == nil || f.Code != tool.CodeCircuitOpen || !f.NoEffect || f.Permanent || f.RetryAfter <= 0 ||
				f.RetryAfter > 30*time.Second ||
				broken.calls.Load() != 5 ||
				!strings.HasPrefix(f.Message, "circuit of "+broken.host()+" (http) is open") {
				t.Fatalf("after %d calls: %+v", broken.calls.Load(), f)
			}
			if f := get(t, set, well.URL); f != nil {
				t.Errorf("another host: %+v", f)
			}
			if c := board.Of("tool:http"); len(c) != 1 || c[0].Part != broken.host() || c[0].State != domain.CircuitOpen ||
				c[0].LastError == "" {
				t.Errorf("%+v", c)
			}
			broken.status.Store(200)
			board.Forget(circuit.ID{Subject: "tool:http", Part: broken.host()})
			if f := get(t, set, broken.URL); f != nil {
				t.Errorf("once it works: %+v", f)
			}
		})
	}
}

// Nothing listens at the address. Refused connections open a circuit too.
func TestTheCircuitOfAMissingHostOpens(t *testing.T) {
	t.Parallel()
	s := newService(t, 200)
	s.Close()
	set, _ := guarded(t, tool.Config{Breakers: map[string]circuit.Settings{"http": {Failures: 2, Cooldown: time.Hour}}})
	for _, want := range []string{tool.CodeUnreachable, tool.CodeUnreachable, tool.CodeCircuitOpen} {
		if f := get(t, set, s.URL); f == nil || f.Code != want {
			t.Fatalf("%+v, want %s", f, want)
		}
	}
}

// Mistakes of the caller do not count against the host: other 4xx, invalid arguments, and a timeout
// that is too short. With failures set to -1, a circuit never opens.
func TestErrorsOfTheCallerDoNotOpenACircuit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		args   []any
		config map[string]circuit.Settings
	}{
		"not found":     {status: 404},
		"bad request":   {status: 400},
		"conflict":      {status: 409},
		"redirect":      {status: 302},
		"bad arguments": {status: 500, args: []any{"method", 7}},
		"bad header":    {status: 500, args: []any{"headers", map[string]any{"Host": "x"}}},
		"no time":       {status: 500, args: []any{"timeout", "1ns"}},
		"expected":      {status: 503, args: []any{"expect", []any{503}}},
		"switched off":  {status: 500, config: map[string]circuit.Settings{"*": {Failures: -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, c.status)
			set, board := guarded(t, tool.Config{Breakers: c.config})
			for range 12 {
				if f := get(t, set, s.URL, c.args...); f != nil && f.Code == tool.CodeCircuitOpen {
					t.Fatalf("%+v", f)
				}
			}
			if c := board.Of("tool:http"); len(c) != 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// A success ends a series of failures. The tool's own timeout counts if the host took too long.
func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	s := newService(t, 500)
	set, board := guarded(t, tool.Config{})
	for range 3 {
		s.status.Store(500)
		for range 4 {
			get(t, set, s.URL)
		}
		s.status.Store(404)
		get(t, set, s.URL)
	}
	if c := board.Of("tool:http"); len(c) != 0 {
		t.Errorf("%+v", c)
	}
	hang := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(hang) })
	set, _ = guarded(
		t,
		tool.Config{HTTP: tool.HTTPConfig{Timeout: 50 * time.Millisecond}, Breakers: map[string]circuit.Settings{"http": {Failures: 2}}},
	)
	for _, want := range []string{walk.CodeTimeout, walk.CodeTimeout, tool.CodeCircuitOpen} {
		if f := get(t, set, slow.URL); f == nil || f.Code != want {
			t.Errorf("%+v, want %s", f, want)
		}
	}
}

// program is a tool that a program registers. It fails as scripted.
type program struct {
	name   string
	effect walk.Effect
	err    error
	took   time.Duration
	calls  int
}

func (p *program) Spec() llm.ToolSpec { return llm.ToolSpec{Name: p.name, Effect: p.effect} }

func (p *program) Call(ctx context.Context, _ llm.ToolCall) (any, error) {
	p.calls++
	select {
	case <-time.After(p.took):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return "done", p.err
}

// A tool of a program or an MCP server has one circuit. After the cooldown, it permits one trial
// call, and closes if that succeeds.
func TestTheCircuitOfAFailingToolOpens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &program{
			name:   "crm.find",
			effect: walk.EffectUnsafe,
			err:    &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")},
		}
		set, board := guarded(
			t,
			tool.Config{Breakers: map[string]circuit.Settings{"crm.*": {Failures: 3, Cooldown: 2 * time.Minute}, "*": {Failures: -1}}},
		)
		if err := set.Register(p); err != nil {
			t.Fatal(err)
		}
		call := func() string {
			_, err := set.Call(t.Context(), p.name, llm.ToolCall{})
			if err == nil {
				return ""
			}
			return walk.AsFailure(err).Code
		}
		for range 3 {
			if code := call(); code != "failed" {
				t.Fatal(code)
			}
		}
		if code := call(); code != tool.CodeCircuitOpen || p.calls != 3 {
			t.Fatalf("%s after %d calls", code, p.calls)
		}
		time.Sleep(2 * time.Minute)
		if c := board.Of("tool:crm.find"); len(c) != 1 || c[0].State != domain.CircuitHalfOpen || c[0].Part != "" {
			t.Errorf("%+v", c)
		}
		p.err, p.took = nil, 3*time.Second
		done := make(chan string)
		go func() { done <- call() }()
		synctest.Wait()
		if code := call(); code != tool.CodeCircuitOpen {
			t.Errorf("while one is tried: %s", code)
		}
		if code := <-done; code != "" || len(board.Of("tool:crm.find")) != 0 {
			t.Errorf("the trial: %s, %+v", code, board.Of("tool:crm.find"))
		}
		if p.took = 0; call() != "" {
			t.Error("afterwards it is refused")
		}
	})
}

// The code of a failure decides what the caller may assume about the other system.
func TestMessagesOfFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			err   error
			took  time.Duration // of the call
			limit time.Duration // of the node; 0 means none
			opens bool
		}{
			{err: &walk.Failure{Code: mcp.CodeExit}, opens: true},
			{err: &walk.Failure{Code: mcp.CodeServer}, opens: true},
			{err: &walk.Failure{Code: mcp.CodeServer, Permanent: true}},
			{err: &walk.Failure{Code: mcp.CodeTool}},
			{err: &walk.Failure{Code: mcp.CodeUnavailable}},
			{err: &walk.Failure{Code: walk.CodeTimeout}, took: time.Minute, opens: true},
			{err: &walk.Failure{Code: walk.CodeTimeout}, took: time.Second},
			{err: &walk.Failure{Code: "unavailable"}, opens: true},
			{err: &walk.Failure{Code: "unavailable", Permanent: true}},
			{err: &walk.Failure{Code: walk.CodeInvalidInput, Permanent: true}},
			{err: &walk.Failure{Code: walk.CodePolicy}},
			{err: errors.New("whatever")},
			{err: fmt.Errorf("read: %w", context.Canceled)},
			{took: time.Hour, limit: time.Minute, opens: true},
			{took: time.Hour, limit: time.Second},
		} {
			p := &program{name: "crm.find", effect: walk.EffectRead, err: c.err, took: c.took}
			set, board := guarded(t, tool.Config{})
			if err := set.Register(p); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				ctx, cancel := context.WithCancel(t.Context())
				if c.limit > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.limit)
				}
				set.Call(ctx, p.name, llm.ToolCall{})
				cancel()
			}
			list := board.Of("tool:crm.find")
			if open := len(list) == 1 && list[0].State == domain.CircuitOpen; open != c.opens {
				t.Errorf("%v after %s of %s: open %t, want %t", c.err, c.took, c.limit, open, c.opens)
			}
		}
	})
}

// Tools that use no other system have no circuit, because a failed command is not a reason to
// reject another one.
func TestToolsWithACircuit(t *testing.T) {
	t.Parallel()
	set, _ := guarded(t, tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{script(t, "exit 1")}}})
	if err := set.Register(&program{name: "crm.find", effect: walk.EffectRead}); err != nil {
		t.Fatal(err)
	}
	if err := set.Register(&program{name: "hash", effect: walk.EffectPure}); err != nil {
		t.Fatal(err)
	}
	want := map[string]tool.Reach{"http": tool.ReachesHosts, "crm.find": tool.ReachesOne}
	for _, s := range set.Specs() {
		if got := set.Reach(s.Name); got != want[s.Name] {
			t.Errorf("%s: %d, want %d", s.Name, got, want[s.Name])
		}
	}
}

// All spellings of an address share the circuit of its host.
func TestHostsOfAddresses(t *testing.T) {
	t.Parallel()
	set, _ := guarded(t, tool.Config{})
	var of func(any) string
	for _, s := range set.Specs() {
		if s.Name == "http" {
			of = s.HostOf
		}
	}
	for address, want := range map[string]string{
		"https://API.example/a?b=1":     "api.example",
		"https://api.example:443":       "api.example",
		" https://api.example./x":       "api.example",
		"http://api.example/":           "api.example:80",
		"http://api.example:8080":       "api.example:8080",
		"https://[2001:DB8::1]/":        "[2001:db8::1]",
		"http://[::1]:9/":               "[::1]:9",
		"ftp://api.example":             "",
		"not an address":                "",
		"https:///nowhere":              "",
		"http://%zz":                    "",
		"https://user:secret@api.other": "api.other",
	} {
		if got := of(map[string]any{"url": address}); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
	if of(nil) != "" || of(map[string]any{"url": 7}) != "" {
		t.Error("arguments that are none have a host")
	}
}
