package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Lists of a period contain exactly the items in it, at every boundary.
func TestListsByTime(t *testing.T) {
	t.Parallel()
	s, start := daily(t, 0)
	for day := -1; day <= 31; day++ {
		at := start.Add(time.Duration(day) * 24 * time.Hour)
		until, since := max(0, min(30, day+1)), min(30, max(0, 30-day))
		if runs, events := between(t, s, time.Time{}, at); runs != until || events != until {
			t.Errorf("until day %d: %d runs and %d events, want %d", day, runs, events, until)
		}
		if runs, events := between(t, s, at, time.Time{}); runs != since || events != since {
			t.Errorf("since day %d: %d runs and %d events, want %d", day, runs, events, since)
		}
	}
}

// A clock that was wrong long ago does not affect current lists.
func TestListsByTimeAfterAWrongClock(t *testing.T) {
	t.Parallel()
	s, start := daily(t, 3)
	for day := 15; day < 30; day++ {
		at := start.Add(time.Duration(day) * 24 * time.Hour)
		if runs, events := between(t, s, time.Time{}, at); runs != day-2 || events != day-2 {
			t.Errorf("until day %d: %d runs and %d events, want %d", day, runs, events, day-2)
		}
	}
}

// daily returns a store with one run and one login per day for thirty days. A clock that was five
// years ahead recorded the first days.
func daily(t *testing.T, wrong int) (*Store, time.Time) {
	t.Helper()
	s := openStore(t)
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := start
	s.now = func() time.Time { return at }
	for i := range 30 {
		if at = start.AddDate(0, 0, i); i < wrong {
			at = at.AddDate(5, 0, 0)
		}
		if _, _, err := s.CreateRun(context.Background(), domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Audit(context.Background(), domain.AuditRecord{Action: "login", Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	return s, start
}

func between(t *testing.T, s *Store, since, until time.Time) (runs, events int) {
	t.Helper()
	for page := (domain.Page{Limit: 100}); ; { // a loaded machine returns short pages
		r, err := s.Runs(context.Background(), domain.RunFilter{Since: since, Until: until, Page: page})
		if err != nil {
			t.Fatal(err)
		}
		runs += len(r.Items)
		if page.After = r.Next; page.After == "" {
			break
		}
	}
	for page := (domain.Page{Limit: 100}); ; {
		e, err := s.AuditEvents(context.Background(), domain.AuditFilter{Action: "login", Since: since, Until: until, Page: page})
		if err != nil {
			t.Fatal(err)
		}
		events += len(e.Items)
		if page.After = e.Next; page.After == "" {
			return runs, events
		}
	}
}
