package servertest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A worker executes no more steps at the same time than engine.max_nodes permits.
func TestAWorkerLimitsItsActiveSteps(t *testing.T) {
	const limit = 2
	var mu sync.Mutex
	active, most, arrived := 0, 0, make(chan struct{}, 100)
	b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		active++
		most = max(most, active)
		mu.Unlock()
		arrived <- struct{}{}
		for range 10 { // a request waits for others, but not for long: the last one has none
			mu.Lock()
			full := active > limit
			mu.Unlock()
			if full {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		mu.Lock()
		active--
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}")) // the test counts requests
	}))
	t.Cleanup(b.Close)
	s := startServer(t)
	s.engine = "max_nodes: 2, "
	k := s.kairosd()
	s.worker(s.config())
	run := k.begin(k.save(`
id: many
nodes:
  all: {type: tool, tool: http, foreach: [1, 2, 3, 4, 5, 6], max_parallel: 6, input: {method: GET, url: "` + b.URL + `/"}}
`))
	k.until(run.ID, domain.RunCompleted, "")
	if most > limit || len(arrived) != 6 {
		t.Errorf("%d steps at the same time, %d requests", most, len(arrived))
	}
}
