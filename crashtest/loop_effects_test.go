package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// keysOf is the number of iterations and items of each kind. A call may be repeated with its key,
// but no other key may occur.
var keysOf = map[string]int{
	"/idempotent/put":   1,
	"/idempotent/many":  3,
	"/idempotent/flaky": 1,
	"/idempotent/again": 2,
	"/idempotent/child": 1,
	"/unsafe/pay":       1,
}

// effects records the calls to other systems: how often each path was called with each key.
type effects struct {
	mu    sync.Mutex
	calls map[string]map[string]int
	open  map[net.Conn]bool
	quiet chan struct{} // receives a value when a connection ends
}

func newEffects(t *testing.T) (*effects, *httptest.Server) {
	t.Helper()
	e := &effects{calls: map[string]map[string]int{}, open: map[net.Conn]bool{}, quiet: make(chan struct{}, 1)}
	s := httptest.NewUnstartedServer(e)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		e.mu.Lock()
		defer e.mu.Unlock()
		switch state {
		case http.StateNew:
			e.open[c] = true
		case http.StateClosed, http.StateHijacked:
			delete(e.open, c)
			select {
			case e.quiet <- struct{}{}:
			default:
			}
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return e, s
}

func (e *effects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the caller was killed during the request, so nothing happened
	}
	key := r.Header.Get("Idempotency-Key")
	e.mu.Lock()
	if e.calls[r.URL.Path] == nil {
		e.calls[r.URL.Path] = map[string]int{}
	}
	e.calls[r.URL.Path][key]++
	first := e.calls[r.URL.Path][key] == 1
	round := len(e.calls[r.URL.Path])
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/flaky") && first:
		http.Error(w, "not yet", http.StatusServiceUnavailable)
	case strings.HasSuffix(r.URL.Path, "/again"):
		fmt.Fprintf(w, `{"round": %d}`, round)
	case strings.HasSuffix(r.URL.Path, "/big"):
		r := rand.New(rand.NewPCG(1, 1))
		b := make([]byte, 400<<10)
		for i := range b {
			b[i] = 'A' + byte(r.IntN(58))
			if b[i] == '\\' {
				b[i] = '_'
			}
		}
		fmt.Fprintf(w, `{"text": %q}`, b)
	default:
		fmt.Fprintf(w, `{"of": %q}`, r.URL.Path)
	}
}

// settle waits until every call of a killed daemon has been counted.
func (e *effects) settle(ctx context.Context) error {
	for {
		e.mu.Lock()
		n := len(e.open)
		e.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-e.quiet:
		case <-ctx.Done():
			return errors.New("calls of a dead daemon do not end")
		}
	}
}

func (e *effects) called(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, c := range e.calls[path] {
		n += c
	}
	return n
}

// check compares the calls with the rules of their side-effect classes (G5, G6).
func (e *effects) check() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for path, want := range keysOf {
		calls := e.calls[path]
		if len(calls) != want {
			return fmt.Errorf("%s was called with %d keys, want %d: %v", path, len(calls), want, calls)
		}
		for key, n := range calls {
			if key == "" || strings.HasPrefix(path, "/unsafe") && n != 1 {
				return fmt.Errorf("%s was called %d times with key %q", path, n, key)
			}
		}
	}
	for _, path := range []string{"/read/look", "/read/big"} {
		if len(e.calls[path]) == 0 {
			return fmt.Errorf("%s was never called", path)
		}
	}
	return nil
}
