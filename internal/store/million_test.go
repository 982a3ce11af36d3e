package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/planner/walk"
)

// The scale test creates a history of many runs and measures the queries of operators. `make
// million` runs it. By default it creates a small history, to keep the test working.
const (
	millionEnv = "KAIROS_MILLION" // number of runs
	millionDir = "KAIROS_MILLION_DIR"
	// millionOnly ends the test after the runs are created.
	millionOnly = "KAIROS_MILLION_ONLY"
	// limitP95 is the 95th percentile that no query may exceed with a million runs.
	limitP95 = 50 * time.Millisecond
)

// The types of its steps exist on every server, so that the daemon can show and continue these
// runs. The tests append their own.
const fiveNodes = `
id: plan-%02d
nodes:
  fetch: {type: datetime}
  check: {type: datetime}
  price: {type: datetime}
  book: {type: %s}
  tell: {type: datetime}
edges: [{from: fetch, to: check}, {from: check, to: price}, {from: price, to: book}, {from: book, to: tell}]`

// templates creates one real run of every kind for each plan. Each finished run has ten journal
// rows.
func templates(t testing.TB, s *store.Store, plans int) map[string][]store.Template {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	reg := enginetest.NewRegistry().
		Handle("datetime", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
			return engine.Result{
				Output: map[string]any{"node": c.Node.ID, "amount": 12.5, "currency": "EUR", "reference": c.IdempotencyKey},
			}, nil
		}).
		Handle("calculator", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{}, errors.New("the booking service answered 503")
		}).
		Handle("http", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
			inside <- struct{}{}
			select {
			case <-leave:
			case <-ctx.Done():
			}
			return engine.Result{}, ctx.Err()
		})
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	out := map[string][]store.Template{}
	add := func(kind string, r domain.Run) {
		events, err := s.EventsAfter(t.Context(), 0, r.ID, 1000)
		if err != nil {
			t.Fatal(err)
		}
		out[kind] = append(out[kind], store.Template{Run: r, Events: events})
	}
	for i := range plans {
		run := func(typ string) string {
			return e.Run(fmt.Sprintf(fiveNodes, i, typ), `{"order": 4711, "customer": "Ada"}`).ID
		}
		add("completed", e.Until(run("datetime"), domain.RunCompleted, ""))
		add("failed", e.Until(run("calculator, input: {expression: 1/0}"), domain.RunFailed, ""))
		add("waiting", e.Until(run("approval, input: {message: Book it?}"), domain.RunWaiting, domain.WaitApproval))
		id := run("http, effect: idempotent, input: {url: 'http://127.0.0.1:9/'}")
		<-inside
		r, err := s.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		add("running", r)
		if _, err := e.Do(id, domain.ActionCancel); err != nil {
			t.Fatal(err)
		}
		add("cancelled", e.Until(id, domain.RunCancelled, ""))
	}
	close(leave)
	e.Close()
	return out
}

func TestAMillionRuns(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv(millionEnv))
	large := n > 0
	dir := os.Getenv(millionDir)
	if !large {
		n = 600
	}
	if dir == "" {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, "kairos.db")
	_, statErr := os.Stat(path)
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if statErr != nil {
		fill(t, s, n)
	}
	if os.Getenv(millionOnly) != "" {
		return // other tests, such as the browser tests, run their own queries
	}
	measure(t, s, large)
	if large || !testing.Short() {
		upkeep(t, s, large)
	}
	if !large {
		if report, err := s.VerifyAudit(t.Context()); err != nil || len(report.Problems) > 0 {
			t.Errorf("audit: %+v, %v", report, err)
		}
		checks, err := recovery.Doctor(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if len(c.Problems) > 0 && c.Name != "space" {
				t.Errorf("%s: %v", c.Name, c.Problems[0])
			}
		}
	}
}

// fill creates the history: most runs completed, one in a hundred unfinished, spread over twenty
// plans of unequal use and ninety days.
func fill(t testing.TB, s *store.Store, n int) {
	t.Helper()
	began := time.Now()
	plans := 20
	if n < 1000 {
		plans = 3
	}
	made := templates(t, s, plans)
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 3, uint64(plans-1))
	start := time.Now().Add(-90 * 24 * time.Hour)
	err := store.Fill(s, n, func(i int) store.FillRun {
		kind := "completed"
		switch k := rng.IntN(1000); {
		case k < 5:
			kind = "waiting"
		case k < 10:
			kind = "running"
		case k < 60:
			kind = "failed"
		case k < 80:
			kind = "cancelled"
		}
		f := store.FillRun{Template: &made[kind][zipf.Uint64()], At: start.Add(time.Duration(i) * (90 * 24 * time.Hour / time.Duration(n)))}
		f.Uses = []domain.Use{
			{Kind: domain.UseAgent, Name: []string{"writer", "triage", "reader"}[i%3]},
			{Kind: domain.UseTool, Name: "http"},
		}
		if i%1000 == 7 {
			f.Uses = append(f.Uses, domain.Use{Kind: domain.UseProvider, Name: "rare"})
		}
		if i%4 == 0 {
			f.Labels = map[string]string{"customer": fmt.Sprintf("c%04d", rng.IntN(1000)), "env": []string{"prod", "test"}[rng.IntN(2)]}
		}
		return f
	})
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checks, err := s.PlanStorage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	steps := int64(0)
	for _, p := range checks {
		steps += p.Rows
	}
	t.Logf(
		"made %d runs, %d journal rows and %d audit events in %s; the database has %d MiB",
		n,
		steps,
		rows,
		time.Since(began).Round(time.Second),
		u.Database>>20,
	)
}
