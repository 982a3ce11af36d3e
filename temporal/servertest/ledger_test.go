package servertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger is another system. It records the calls of each path by their idempotency key, and answers slowly, so that a kill
// can happen during a call. A path that ends with /flaky refuses the first call of each key.
type ledger struct {
	*httptest.Server
	called chan struct{} // one value per call

	mu    sync.Mutex
	calls map[string]map[string]int // by path and key
}

// slowness is the time of an answer.
const slowness = 100 * time.Millisecond

func openLedger(t *testing.T) *ledger {
	l := &ledger{called: make(chan struct{}, 100_000), calls: map[string]map[string]int{}}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the caller was killed during the request, so nothing happened
	}
	key := r.Header.Get("Idempotency-Key")
	l.mu.Lock()
	if l.calls[r.URL.Path] == nil {
		l.calls[r.URL.Path] = map[string]int{}
	}
	l.calls[r.URL.Path][key]++
	first := l.calls[r.URL.Path][key] == 1
	l.mu.Unlock()
	l.called <- struct{}{}
	select {
	case <-time.After(slowness):
	case <-r.Context().Done():
		return
	}
	if strings.HasSuffix(r.URL.Path, "/flaky") && first {
		http.Error(w, "not yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"of": %q}`, r.URL.Path)
}

// of returns the calls of a path by their key.
func (l *ledger) of(path string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := map[string]int{}
	for key, n := range l.calls[path] {
		calls[key] = n
	}
	return calls
}

// check compares the calls of a path with its side-effect class: an idempotent effect has one key, and a non-idempotent one
// exactly one call.
func (l *ledger) check(path string) error {
	calls := l.of(path)
	if len(calls) != 1 {
		return fmt.Errorf("%s was called with %d keys: %v", path, len(calls), calls)
	}
	for key, n := range calls {
		if key == "" || strings.HasPrefix(path, "/unsafe/") && n != 1 {
			return fmt.Errorf("%s was called %d times with the key %q", path, n, key)
		}
	}
	return nil
}
