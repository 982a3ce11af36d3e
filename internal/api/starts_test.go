package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/domain"
)

// slow is a world whose starts wait until they are let go.
type slow struct {
	*fake
	begun atomic.Int64
	let   chan struct{}
}

func (s *slow) Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error) {
	s.begun.Add(1)
	<-s.let
	return s.fake.Start(ctx, actor, r)
}

// Of many runs that are started at once only some are worked on at a time, and
// nothing else waits for them; nor do starts, for long, for others that do not
// get on.
func TestStartsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world := &slow{fake: newFake(nil), let: make(chan struct{})}
		h, err := api.New(api.Config{App: world.App, Reader: world, Engine: world, Principals: world})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		ask := func(method, path, body string) int {
			w, r := httptest.NewRecorder(), httptest.NewRequest(method, api.Base+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer operator")
			r.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, r)
			return w.Code
		}
		const many = 500
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if status := ask(http.MethodPost, "/runs", `{"plan":"p"}`); status != http.StatusCreated {
					t.Errorf("a start is answered %d", status)
				}
			})
		}
		synctest.Wait()
		if n := world.begun.Load(); n == 0 || n > 64 {
			t.Errorf("%d starts are worked on at a time", n)
		}
		if status := ask(http.MethodGet, "/me", ""); status != http.StatusOK {
			t.Errorf("meanwhile /me is answered %d", status)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := world.begun.Load(); n != many {
			t.Errorf("%d of %d starts are worked on though the others do not get on", n, many)
		}
		close(world.let)
		all.Wait()
	})
}

// Who comes in by the door of the local socket needs no credential; by the other
// one everybody still does.
func TestADoorNeedsNoCredential(t *testing.T) {
	t.Parallel()
	s := serve(t)
	local := httptest.NewServer(s.api.Door(&domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Surface: "cli"}))
	defer local.Close()
	inside := &server{Server: local, api: s.api, world: s.world, log: s.log}
	if a := inside.ask(t, "", "GET /me", ""); a.json["name"] != "cli:root" {
		t.Errorf("at the door: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "", "GET /me", ""); a.status != http.StatusUnauthorized {
		t.Errorf("elsewhere: %d %s", a.status, a.text)
	}
}
