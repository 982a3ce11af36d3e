package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/domain"
)

// slow is a body that arrives when let is closed.
type slow struct {
	begun *atomic.Int64
	let   chan struct{}
}

func (s slow) Read([]byte) (int, error) {
	s.begun.Add(1)
	<-s.let
	return 0, io.EOF
}

// At most 64 starts are processed at a time. Other requests do not wait for them, and starts wait
// at most two seconds for stalled ones.
func TestStartsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world := newFake(nil)
		h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		ask := func(method, path string, body io.Reader) int {
			w, r := httptest.NewRecorder(), httptest.NewRequest(method, api.Base+path, body)
			r.Header.Set("Authorization", "Bearer operator")
			r.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, r)
			return w.Code
		}
		const many = 500
		var begun atomic.Int64
		let := make(chan struct{})
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if status := ask(http.MethodPost, "/runs", slow{&begun, let}); status != http.StatusBadRequest &&
					status != http.StatusUnprocessableEntity {
					t.Errorf("a start without a body returned %d", status)
				}
			})
		}
		synctest.Wait()
		if n := begun.Load(); n == 0 || n > 64 {
			t.Errorf("%d starts are processed at a time", n)
		}
		if status := ask(http.MethodGet, "/me", nil); status != http.StatusOK {
			t.Errorf("meanwhile, /me returned %d", status)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := begun.Load(); n != many {
			t.Errorf("%d of %d starts are processed while the others are stalled", n, many)
		}
		close(let)
		all.Wait()
	})
}

// A request on the local socket needs no credential. A request on any other listener does.
func TestALocalListenerNeedsNoCredential(t *testing.T) {
	t.Parallel()
	s := serve(t)
	local := httptest.NewServer(s.api.LocalHandler(&domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}))
	defer local.Close()
	inside := &server{Server: local, api: s.api, world: s.world, log: s.log}
	if a := inside.ask(t, "", "GET /me", ""); a.json["name"] != "cli:root" {
		t.Errorf("on the local socket: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "", "GET /me", ""); a.status != http.StatusUnauthorized {
		t.Errorf("on another listener: %d %s", a.status, a.text)
	}
}
