package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// alter runs SQL without the store, as a person with a shell could.
func alter(t *testing.T, path, text string) error {
	t.Helper()
	pool, err := core.OpenPlain(path, "&_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	_, err = pool.Exec(text)
	return err
}

func row(node, output string) domain.Entry {
	return domain.Entry{Kind: domain.EntryResult, Node: node, Visit: 1, Item: -1, Attempt: 1, Status: domain.NodeCompleted, Final: true,
		Output: domain.RawJSON(output), At: time.Now()}
}

func TestTheDatabaseEnforcesItsRules(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ctx := context.Background()
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	r, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, domain.Checkpoint{Run: r.ID, Entries: []domain.Entry{row("a", "1")}}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"UPDATE step_results SET output = '2'",
		"DELETE FROM step_results",
		"UPDATE audit_events SET actor = 'nobody'",
		"DELETE FROM audit_events",
		"UPDATE plan_versions SET source = x'00'",
		"DELETE FROM plan_versions",
		"UPDATE runs SET status = 'sleeping'",
		"UPDATE runs SET status = 'completed'",
		"UPDATE runs SET ended_at = 5",
		"UPDATE runs SET status = 'waiting'",
		"UPDATE runs SET plan_id = 99",
		"UPDATE run_details SET labels = 'no json'",
		"UPDATE runs SET steps = 'many'",
		"INSERT INTO payload_refs (run_id, hash) VALUES (1, x'00')",
	} {
		if err := alter(t, s.path, text); err == nil {
			t.Errorf("the database accepts: %s", text)
		}
	}
	if report, err := s.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct{ damage, journal, audit string }{
		"a row":     {"DROP TRIGGER step_results_are_immutable; UPDATE step_results SET output = '2' WHERE seq = 2", "row 2 of run", ""},
		"a gap":     {"DROP TRIGGER step_results_are_kept; DELETE FROM step_results WHERE seq = 2", "row 2 of run", "does not match"},
		"an event":  {"DROP TRIGGER audit_events_are_immutable; UPDATE audit_events SET actor = 'x' WHERE seq = 2", "", "chain breaks"},
		"a missing": {"DROP TRIGGER audit_events_are_kept; DELETE FROM audit_events WHERE seq = 2", "", "missing"},
		"a link": {"DROP TRIGGER step_results_are_immutable; UPDATE step_results SET audit_seq = audit_seq + 1 WHERE seq = 2", "",
			"refer to an event other than"},
		"the tail": {"DROP TRIGGER audit_events_are_kept; DELETE FROM audit_events WHERE seq = (SELECT max(seq) FROM " +
			"audit_events)", "", "anchor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "kairos.db")
			s, err := Open(ctx, path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			v := putVersion(t, s, "p", strings.Repeat("a", 64))
			r, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if err := s.Commit(ctx, domain.Checkpoint{Run: r.ID, Fence: int64(i), Entries: []domain.Entry{row("a", "1")}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := alter(t, path, c.damage); err != nil {
				t.Fatal(err)
			}
			s, err = Open(ctx, path, Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Journal(ctx, r.ID, 0)
			if c.journal == "" && err != nil ||
				c.journal != "" && (domain.CodeOf(err) != domain.CodeCorrupt || !strings.Contains(err.Error(), c.journal)) {
				t.Errorf("journal: %v", err)
			}
			report, err := s.VerifyAudit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(report.Problems, "; "); (c.audit == "") != (got == "") || !strings.Contains(got, c.audit) {
				t.Errorf("audit: %q, want %q", got, c.audit)
			}
			proof.Figure(t, "audit attacks", 1)
		})
	}
}

// O12: a full disk rejects work and recovers.
func TestAFullDiskRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ctx := context.Background()
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	r, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
	if err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		err := s.writer.perform(func(w *writer) ([]auditRow, error) {
			var n int
			return nil, w.conn.QueryRowContext(w.ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite then uses the current size
	fence := int64(0)
	for ; fence < 500; fence++ {
		if err = s.Commit(ctx, domain.Checkpoint{Run: r.ID, Fence: fence,
			Entries: []domain.Entry{row("a", `"`+strings.Repeat("x", 2000)+`"`)}}); err != nil {
			break
		}
	}
	if domain.CodeOf(err) != domain.CodeNoSpace {
		t.Fatalf("a full disk: %v", err)
	}
	if rows, err := s.Journal(ctx, r.ID, 0); err != nil || int64(len(rows)) != fence {
		t.Errorf("%d rows of %d acknowledged, %v", len(rows), fence, err)
	}
	limit(1 << 30)
	if err := s.Commit(ctx, domain.Checkpoint{Run: r.ID, Fence: fence, Entries: []domain.Entry{row("a", "1")}}); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if report, err := s.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

// After the reserve file is deleted, new work is rejected. Writes that operators need for access
// succeed: idempotency keys, users, tokens, and settings, including used codes of second factors.
func TestAFullDiskLetsPeopleMakeSpace(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ctx := t.Context()
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	s.Started()
	if err := s.writer.perform(func(w *writer) ([]auditRow, error) {
		w.reserve.path, w.reserve.size, w.reserve.low = s.path+reserveSuffix, -1<<60, true
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	start := func() error {
		_, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
		return err
	}
	if err := start(); domain.CodeOf(err) != domain.CodeNoSpace {
		t.Errorf("a run: %v", err)
	}
	now := time.Now()
	if err := s.CreateUser(ctx, domain.User{ID: "u", Name: "ana", Role: domain.RoleAdmin, CreatedAt: now}); err != nil {
		t.Errorf("a user: %v", err)
	}
	if err := s.ChangeSecondFactor(ctx, "u", func(string) (string, error) { return "{}", nil }); err != nil {
		t.Errorf("a code is used up: %v", err)
	}
	if err := s.CreateSession(ctx, domain.Session{IDHash: "s", UserID: "u", CreatedAt: now, SeenAt: now,
		ExpiresAt: now.Add(time.Hour)}); err != nil {
		t.Errorf("a login: %v", err)
	}
	if err := s.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		w.reserve = reserve{}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("a run, with space again: %v", err)
	}
}

func TestMigrationsGoUpDownUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pool, err := core.OpenPlain(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	p, err := core.Provider(pool, db.Migrations())
	if err != nil {
		t.Fatal(err)
	}
	first := schema(t, pool)
	if _, err := p.DownTo(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if left := schema(t, pool); strings.Contains(left, "runs") {
		t.Errorf("left behind: %s", left)
	}
	if _, err := p.Up(ctx); err != nil {
		t.Fatal(err)
	}
	if again := schema(t, pool); again != first {
		t.Errorf("the schema differs after down and up:\n%s\n%s", first, again)
	}
}

func schema(t *testing.T, pool *sql.DB) (all string) {
	t.Helper()
	rows, err := pool.Query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all += text + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// O04: a newer schema is rejected.
func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := alter(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, path, Options{}); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "99999") {
		t.Errorf("got %v", err)
	}
}

func TestAnotherGenerationStopsTheWriter(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	// After its own commit, the writer reads the open count only if another process has written.
	if err := s.Audit(context.Background(), domain.AuditRecord{Action: "w"}); err != nil {
		t.Fatal(err)
	}
	if err := alter(t, s.path, "UPDATE settings SET value = '77' WHERE key = 'epoch'"); err != nil {
		t.Fatal(err)
	}
	err := s.Audit(context.Background(), domain.AuditRecord{Action: "x"})
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
	<-s.Failed()
}

func TestEveryConnectionHasItsPragmas(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ctx := context.Background()
	want := map[string]string{"foreign_keys": "1", "synchronous": "2", "journal_mode": "wal", "trusted_schema": "0", "busy_timeout": "5000"}
	check := func(c *sql.Conn, name, value string) {
		t.Helper()
		var got string
		if err := c.QueryRowContext(ctx, "PRAGMA "+name).Scan(&got); err != nil || got != value {
			t.Errorf("%s = %s, want %s (%v)", name, got, value, err)
		}
	}
	for name, value := range want {
		check(s.writer.conn, name, value)
	}
	check(s.writer.conn, "wal_autocheckpoint", "0")
	for range 4 {
		c, err := s.read.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() // all connections stay open until the end, so that they are different ones
		for name, value := range want {
			check(c, name, value)
		}
		check(c, "query_only", "1")
		if _, err := c.ExecContext(ctx, "DELETE FROM settings"); err == nil {
			t.Error("a reader wrote")
		}
	}
}
