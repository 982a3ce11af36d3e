package recovery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// installation creates a store with some history, and a backup of it.
func installation(t *testing.T) (path, backup string, run domain.Run) {
	t.Helper()
	ctx := context.Background()
	path = filepath.Join(t.TempDir(), "kairos.db")
	s, err := recovery.Open(ctx, path, recovery.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, storetest.TwoNodes)
	run = storetest.Run(t, s, v, `"`+strings.Repeat("in", 5000)+`"`)
	storetest.Commit(t, s, run.ID, 0, &domain.RunPatch{Status: domain.RunRunning}, storetest.Entry("a", `"before the backup"`))
	backup = filepath.Join(t.TempDir(), "kairos.backup")
	b, err := recovery.Backup(ctx, s, backup, "test")
	if err != nil {
		t.Fatal(err)
	}
	if b.Rows["runs"] != 1 || b.Rows["step_results"] != 1 || len(b.SHA256) != 64 || len(b.Verified) < 5 || b.AuditSeq == 0 {
		t.Errorf("manifest: %+v", b)
	}
	storetest.Commit(t, s, run.ID, 1, nil, storetest.Entry("b", `"after the backup"`))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, backup, run
}

func TestARestoredDatabaseIsHeldAndTheOldOneKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, backup, run := installation(t)
	if _, err := recovery.Restore(ctx, backup, path, recovery.RestoreOptions{}); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("a restore over a database: %v", err)
	}
	r, err := recovery.Restore(ctx, backup, path, recovery.RestoreOptions{Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Hold.Reason != domain.HoldRestored || r.Hold.Held != 1 || r.Hold.Lost != r.Hold.Last+1 || r.Hold.Backup != "kairos.backup" {
		t.Errorf("hold: %+v", r.Hold)
	}
	s := openAt(t, path)
	got, err := s.Run(ctx, run.ID)
	if err != nil || got.LastSeq != 1 || got.Status != domain.RunWaiting || got.WaitReason != domain.WaitHeld {
		t.Errorf("the run: %+v, %v", got, err)
	}
	if s.RolledBack() {
		t.Error("a restore is taken for a rollback at the next start")
	}
	if h, err := s.Hold(ctx); err != nil || h == nil {
		t.Errorf("hold after opening: %+v, %v", h, err)
	}
	checks, err := recovery.Doctor(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 && c.Name != "hold" && c.Name != "space" {
			t.Errorf("%s: %v", c.Name, c.Problems)
		}
	}
	old, err := store.Open(ctx, filepath.Join(r.Previous, "kairos.db"), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if journal, err := old.Journal(ctx, run.ID, 0); err != nil || len(journal) != 2 {
		t.Errorf("the database that was put aside: %d rows, %v", len(journal), err)
	}
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "restoring" || e.Name() == "restored" {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestARestoreIntoAnEmptyDirectoryNeedsTheKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	from, backup, _ := installation(t)
	path := filepath.Join(t.TempDir(), "new", "kairos.db")
	if _, err := recovery.Restore(ctx, backup, path, recovery.RestoreOptions{}); domain.CodeOf(err) != domain.CodeInvalid ||
		!strings.Contains(err.Error(), "key file") {
		t.Fatalf("without a key: %v", err)
	}
	lost := filepath.Join(t.TempDir(), "kairos.db")
	if _, err := recovery.Restore(ctx, backup, lost, recovery.RestoreOptions{WithoutKey: true}); err != nil {
		t.Fatalf("with a new key: %v", err)
	}
	renewed := openAt(t, lost)
	if err := renewed.Audit(ctx, domain.AuditRecord{Action: "note"}); err != nil {
		t.Fatal(err)
	}
	if report, err := renewed.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit with a new key: %+v, %v", report, err)
	}
	// A backup of the restored database is complete, and requires the new key.
	second := filepath.Join(t.TempDir(), "second")
	if _, err := recovery.Backup(ctx, renewed, second, "test"); err != nil {
		t.Error(err)
	}
	if _, err := recovery.VerifyBackupFile(ctx, second, lost, recovery.RestoreOptions{KeyFile: from + ".key"}); domain.CodeOf(
		err,
	) != domain.CodeCorrupt {
		t.Errorf("with the old key: %v", err)
	}
	r, err := recovery.Restore(ctx, backup, path, recovery.RestoreOptions{KeyFile: from + ".key"})
	if err != nil || r.Previous != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	s := openAt(t, path)
	if report, err := s.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

// O08: Nothing is moved for a file that is not a complete, unchanged backup of kairosd.
func TestARestoreRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, backup, _ := installation(t)
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(backup + recovery.ManifestSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data, manifest []byte
		beside         string
		code           domain.Code
	}{
		"no manifest":      {whole, nil, "", domain.CodeNotFound},
		"a torn manifest":  {whole, manifest[:40], "", domain.CodeInvalid},
		"cut short":        {whole[:len(whole)-4096], manifest, "", domain.CodeCorrupt},
		"one bit":          {append([]byte{^whole[0]}, whole[1:]...), manifest, "", domain.CodeCorrupt},
		"a log beside it":  {whole, manifest, "-wal", domain.CodeInvalid},
		"a newer schema":   {whole, bytes.Replace(manifest, []byte(`"schema": `), []byte(`"schema": 99`), 1), "", domain.CodeCorrupt},
		"another manifest": {whole, bytes.Replace(manifest, []byte(`"auditSeq": `), []byte(`"auditSeq": 9`), 1), "", domain.CodeCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := filepath.Join(t.TempDir(), "backup")
			for suffix, text := range map[string][]byte{"": c.data, recovery.ManifestSuffix: c.manifest} {
				if text == nil {
					continue
				}
				if err := os.WriteFile(p+suffix, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.beside != "" {
				if err := os.WriteFile(p+c.beside, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			target := filepath.Join(t.TempDir(), "kairos.db")
			_, err := recovery.Restore(ctx, p, target, recovery.RestoreOptions{KeyFile: path + ".key"})
			if domain.CodeOf(err) != c.code {
				t.Errorf("got %v, want %s", err, c.code)
			}
			if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a database appeared: %v", err)
			}
		})
	}
}

// A backup that was changed together with its manifest by a person with the key file is rejected.
// Nothing of it is ever executed.
func TestARestoreRefusesAMaliciousDatabase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, backup, _ := installation(t)
	for name, c := range map[string]struct {
		sql  string
		code domain.Code
		says string
	}{
		"nothing": {"", "", ""},
		"a trigger": {"CREATE TRIGGER gift AFTER INSERT ON runs BEGIN DELETE FROM users; END",
			domain.CodeInvalid, "trigger gift"},
		"a trigger with nearly SQLite's name": {"CREATE TRIGGER sqlitex_gift AFTER INSERT ON runs BEGIN DELETE FROM users; END",
			domain.CodeInvalid, "trigger sqlitex_gift"},
		"a trigger with SQLite's name": {"CREATE TRIGGER gift AFTER INSERT ON runs BEGIN DELETE FROM users; END; PRAGMA " +
			"writable_schema = ON; " +
			"UPDATE sqlite_schema SET name = 'sqlite_gift', sql = replace(sql, 'gift', 'sqlite_gift') WHERE name = 'gift'",
			domain.CodeInvalid, "trigger sqlite_gift"},
		"a table with nearly SQLite's name": {"CREATE TABLE sqlitex (a TEXT)", domain.CodeInvalid, "table sqlitex"},
		"a view":                            {"CREATE VIEW gift AS SELECT * FROM users", domain.CodeInvalid, "view gift"},
		"a table":                           {"CREATE TABLE gift (a TEXT)", domain.CodeInvalid, "table gift"},
		"an index":                          {"CREATE INDEX gift ON runs (actor)", domain.CodeInvalid, "index gift"},
		"a view for a table": {"DROP TABLE run_labels; CREATE VIEW run_labels AS SELECT '' AS key, '' AS " +
			"value, 0 AS run_id", "", ""},
		"a trigger less": {"DROP TRIGGER audit_events_are_kept", domain.CodeCorrupt, "lacks"},
		"an index less":  {"DROP INDEX runs_by_age", domain.CodeCorrupt, "lacks"},
		"another trigger": {"DROP TRIGGER audit_events_are_kept; CREATE TRIGGER audit_events_are_kept " +
			"BEFORE DELETE ON audit_events BEGIN SELECT 1; END", domain.CodeInvalid, "audit_events_are_kept"},
		"a journal row": {"DROP TRIGGER step_results_are_immutable; UPDATE step_results SET output = '2'",
			domain.CodeCorrupt, "checksum"},
		"an audit row": {"DROP TRIGGER audit_events_are_immutable; UPDATE audit_events SET actor = " +
			"'nobody' WHERE seq = 1", domain.CodeCorrupt, "audit"},
		"another program's": {"DROP TABLE goose_db_version; PRAGMA application_id = 7", domain.CodeInvalid,
			"not a kairosd database"},
		"a newer schema": {"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)",
			domain.CodeInvalid, "schema 99999"},
		"a lost parent": {"PRAGMA foreign_keys = OFF; DELETE FROM plans", domain.CodeCorrupt,
			"refers to a missing row"},
		"lost details": {"PRAGMA foreign_keys = OFF; DELETE FROM run_details", domain.CodeCorrupt, "has no details"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forged := filepath.Join(t.TempDir(), "forged.db")
			text, err := os.ReadFile(backup)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(forged, text, 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := recovery.ReadManifest(backup)
			if err != nil {
				t.Fatal(err)
			}
			if err := recovery.Forge(forged, c.sql, m, path+".key"); err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(t.TempDir(), "kairos.db")
			_, err = recovery.Restore(ctx, forged, target, recovery.RestoreOptions{KeyFile: path + ".key"})
			if name == "a view for a table" {
				if err == nil {
					t.Error("it is taken")
				}
			} else if domain.CodeOf(err) != c.code || c.says != "" && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %s %v, want %s with %q", domain.CodeOf(err), err, c.code, c.says)
			}
			if _, statErr := os.Stat(target); (statErr == nil) != (err == nil) {
				t.Errorf("the restore says %v, and the database is there: %v", err, statErr == nil)
			}
		})
	}
}

func TestARestoreRefusesARunningDaemon(t *testing.T) {
	t.Parallel()
	path, backup, _ := installation(t)
	s := openAt(t, path)
	if _, err := recovery.Restore(context.Background(), backup, path, recovery.RestoreOptions{Replace: true}); domain.CodeOf(
		err,
	) != domain.CodeLocked {
		t.Errorf("O09: %v", err)
	}
	if h, err := s.Hold(context.Background()); err != nil || h != nil {
		t.Errorf("hold: %+v, %v", h, err)
	}
}

// A restore that is killed after its decisive rename is finished by the next start, from every
// point at which it can be killed.
func TestARestoreIsFinishedByTheNextStart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for step := range 7 {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			path, backup, run := installation(t)
			if err := recovery.RestoreUntil(ctx, backup, path, step); err == nil && step < 6 {
				t.Fatalf("the restore did not stop at step %d", step)
			}
			s := openAt(t, path)
			got, err := s.Run(ctx, run.ID)
			if err != nil || got.LastSeq != 1 || got.WaitReason != domain.WaitHeld {
				t.Errorf("the run: %+v, %v", got, err)
			}
			if report, err := s.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
				t.Errorf("audit: %+v, %v", report, err)
			}
			previous, err := filepath.Glob(filepath.Join(filepath.Dir(path), "replaced-*", "kairos.db"))
			if err != nil || len(previous) != 1 {
				t.Errorf("the old database: %v, %v", previous, err)
			}
		})
	}
}

// A backup under load finishes, and contains exactly the data that was committed at one moment.
func TestABackupUnderLoadFinishesAndVerifies(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	v := storetest.Plan(t, s, storetest.TwoNodes)
	var stop atomic.Bool
	var busy sync.WaitGroup
	for range 16 {
		run := storetest.Run(t, s, v, "")
		busy.Go(func() {
			for seq := int64(0); !stop.Load(); seq++ {
				e := storetest.Entry("a", fmt.Sprint(seq))
				e.Visit = int(seq) + 1
				if err := s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: seq, Entries: []domain.Entry{e},
					Patch: &domain.RunPatch{AddSteps: 1}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "b")
	for range 2 {
		if _, err := recovery.Backup(ctx, s, path, "test"); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	busy.Wait()
	if b, err := recovery.ReadManifest(path); err != nil || b.Rows["runs"] != 16 {
		t.Errorf("%+v, %v", b, err)
	}
}
