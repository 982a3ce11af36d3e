package store_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A change of a run's input, or of another setting from its creation, is detected, because the
// record of its creation has a digest of them.
func TestAChangedInputIsFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, twoNodes)
	create := func(r domain.NewRun) {
		t.Helper()
		r.PlanID, r.Hash, r.Actor, r.Origin = v.PlanID, v.Hash, "marta", "api"
		r.Audit = []domain.AuditRecord{{Action: "run.created", Actor: "marta", Detail: domain.RawJSON(`{"version":1}`)}}
		if _, _, err := s.CreateRun(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	create(domain.NewRun{Input: domain.RawJSON(`{"n":1}`), Session: "s", Priority: 3, Key: "k", Labels: map[string]string{"a": "b"},
		Concurrency: &domain.Concurrency{Key: "c", Limit: 2}})
	create(domain.NewRun{Input: domain.RawJSON(`"` + strings.Repeat("x", 6000) + `"`)})
	create(domain.NewRun{})
	purged, _, err := s.CreateRun(
		ctx,
		domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "marta", Origin: "api", Input: domain.RawJSON(`{"n":2}`),
			Audit: []domain.AuditRecord{{Action: "run.created"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, purged.ID, 0, &domain.RunPatch{Status: domain.RunRunning}, entry("a", "1"))
	commit(t, s, purged.ID, 1, &domain.RunPatch{Status: domain.RunCompleted}, entry("b", "1"))
	if err := s.PurgeRun(ctx, purged.ID, domain.System, "test"); err != nil {
		t.Fatal(err)
	}
	create(domain.NewRun{Concurrency: &domain.Concurrency{Key: "c", Limit: 1, OnConflict: "cancel_oldest"}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	problems := func() []string {
		t.Helper()
		s, err := store.Open(ctx, path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := s.VerifyAudit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return r.Problems
	}
	if found := problems(); len(found) > 0 {
		t.Fatalf("before any change: %v", found)
	}
	pool, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	for _, change := range [][2]string{
		{`UPDATE run_details SET input = '{"n":9}' WHERE run_id = 1`, `UPDATE run_details SET input = '{"n":1}' WHERE run_id = 1`},
		{`UPDATE run_details SET input = NULL WHERE run_id = 1`, `UPDATE run_details SET input = '{"n":1}' WHERE run_id = 1`},
		{`UPDATE run_details SET input = '1' WHERE run_id = 3`, `UPDATE run_details SET input = NULL WHERE run_id = 3`},
		{`UPDATE run_details SET session = 't' WHERE run_id = 1`, `UPDATE run_details SET session = 's' WHERE run_id = 1`},
		{`UPDATE run_details SET labels = '{}' WHERE run_id = 1`, `UPDATE run_details SET labels = '{"a":"b"}' WHERE run_id = 1`},
		{`UPDATE runs SET actor = 'eve' WHERE id = 1`, `UPDATE runs SET actor = 'marta' WHERE id = 1`},
		{`UPDATE runs SET priority = 4 WHERE id = 1`, `UPDATE runs SET priority = 3 WHERE id = 1`},
		{`UPDATE runs SET run_key = 'x' WHERE id = 1`, `UPDATE runs SET run_key = 'k' WHERE id = 1`},
		{`UPDATE runs SET concurrency_key = 'x' WHERE id = 1`, `UPDATE runs SET concurrency_key = 'c' WHERE id = 1`},
		{`UPDATE runs SET forked_from = 'x' WHERE id = 2`, `UPDATE runs SET forked_from = '' WHERE id = 2`},
	} {
		if _, err := pool.Exec(change[0]); err != nil {
			t.Fatal(change[0], err)
		}
		if found := problems(); len(found) != 1 || !strings.Contains(found[0], "was changed after event") {
			t.Errorf("%s: found %v", change[0], found)
		}
		if _, err := pool.Exec(change[1]); err != nil {
			t.Fatal(change[1], err)
		}
	}
	if found := problems(); len(found) > 0 {
		t.Errorf("after all was put right: %v", found)
	}
}
