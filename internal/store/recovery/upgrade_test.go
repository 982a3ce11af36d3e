package recovery

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// with returns the real migrations and some more.
func with(t *testing.T, more map[string]string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	names, err := fs.Glob(db.Migrations(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		text, err := fs.ReadFile(db.Migrations(), n)
		if err != nil {
			t.Fatal(err)
		}
		out[n] = &fstest.MapFile{Data: text}
	}
	for n, text := range more {
		out[n] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// oldDatabase creates a run with two journal rows in schema 1.
func oldDatabase(t *testing.T) (path, run string) {
	t.Helper()
	ctx := context.Background()
	path = filepath.Join(t.TempDir(), "kairos.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	r, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, domain.Checkpoint{Run: r.ID, Entries: []domain.Entry{row("a", "1"), row("b", "2")}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, r.ID
}

// addsColumn is a migration that adds a column.
var addsColumn = map[string]string{
	"99999_add_note.sql": "-- +goose Up\nALTER TABLE run_details ADD COLUMN note TEXT NOT NULL DEFAULT 'none';\n-- +goose Down\n",
}

func TestAnOlderDatabaseIsMigratedInACopy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, run := oldDatabase(t)
	if _, err := Open(ctx, path, Options{Options: store.Options{Migrations: with(t, addsColumn)}, KeepSchema: true}); domain.CodeOf(
		err,
	) != domain.CodeInvalid {
		t.Errorf("without leave to migrate: %v", err)
	}
	s, err := Open(ctx, path, Options{Options: store.Options{Migrations: with(t, addsColumn)}})
	if err != nil {
		t.Fatal(err)
	}
	var note string
	if err := s.Core().Read.QueryRowContext(ctx, "SELECT note FROM run_details").Scan(&note); err != nil || note != "none" {
		t.Errorf("the new column: %q, %v", note, err)
	}
	if journal, err := s.Journal(ctx, run, 0); err != nil || len(journal) != 2 {
		t.Errorf("the journal: %d rows, %v", len(journal), err)
	}
	if s.RolledBack() {
		t.Error("an upgrade is taken for a rollback")
	}
	checks, err := Doctor(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 && c.Name != "space" {
			t.Errorf("%s: %v", c.Name, c.Problems)
		}
	}
	key := path + ".key"
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, path, Options{Options: store.Options{ReadOnly: true, Migrations: with(t, addsTwo)}}); domain.CodeOf(
		err,
	) != domain.CodeInvalid {
		t.Errorf("a reader of an older schema: %v", err)
	}
	// The previous binary can restore the copy.
	if _, err := Open(ctx, path, Options{}); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "99999") {
		t.Errorf("the old binary opens the new schema: %v", err)
	}
	previous, err := filepath.Glob(filepath.Join(filepath.Dir(path), "pre-schema-99999-*", "kairos.db"))
	if err != nil || len(previous) != 1 {
		t.Fatalf("the database from before: %v, %v", previous, err)
	}
	back := filepath.Join(t.TempDir(), "kairos.db")
	r, err := Restore(ctx, previous[0], back, RestoreOptions{KeyFile: key})
	if err != nil || r.Backup.Schema != 1 {
		t.Fatalf("restore the database from before: %+v, %v", r.Backup, err)
	}
}

// addsTwo is another migration.
var addsTwo = map[string]string{
	"99999_add_note.sql":  addsColumn["99999_add_note.sql"],
	"100000_add_word.sql": "-- +goose Up\nALTER TABLE run_details ADD COLUMN word TEXT;\n-- +goose Down\n",
}

// The current binary restores a backup with an older schema.
func TestAnOlderBackupIsRestoredAndMigrated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, run := oldDatabase(t)
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "b.db")
	if _, err := Backup(ctx, s, backup, "old"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{Options: store.Options{Migrations: with(t, addsColumn)}}
	r, err := Restore(ctx, backup, path, RestoreOptions{Options: o, Replace: true})
	if err != nil || r.Hold.Held != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	s, err = Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	if journal, err := s.Journal(ctx, run, 0); err != nil || len(journal) != 2 {
		t.Errorf("the journal: %d rows, %v", len(journal), err)
	}
	if report, err := s.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// O05: a migration that fails, loses rows or breaks references leaves the
// database as it was.
func TestAFailedMigrationLeavesTheDatabaseAsItWas(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, text := range map[string]string{
		"an error":       "ALTER TABLE runs ADD COLUMN x INTEGER;\nSELECT nonsense FROM nowhere;",
		"lost rows":      "DROP TRIGGER step_results_are_kept;\nDELETE FROM step_results WHERE seq = 2;",
		"lost parents":   "DELETE FROM plan_versions;",
		"a second error": "INSERT INTO settings (key, value) VALUES ('instance_key', 'x');",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, run := oldDatabase(t)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(
				ctx,
				path,
				Options{
					Options: store.Options{
						Migrations: with(t, map[string]string{"99999_break.sql": "-- +goose Up\n" + text + "\n-- +goose Down\n"}),
					},
				},
			)
			if err == nil {
				t.Fatal("the migration was accepted")
			}
			after, readErr := os.ReadFile(path)
			if readErr != nil || string(after) != string(before) {
				t.Errorf("the database was changed (%v)", readErr)
			}
			left, globErr := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
			if globErr != nil {
				t.Fatal(globErr)
			}
			for _, f := range left {
				if info, statErr := os.Stat(f); statErr == nil && info.IsDir() {
					t.Errorf("%s is left", f)
				}
			}
			s, err := Open(ctx, path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if journal, err := s.Journal(ctx, run, 0); err != nil || len(journal) != 2 {
				t.Errorf("the journal: %d rows, %v", len(journal), err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// O06: a migration that was edited after it was applied is rejected.
func TestAnEditedMigrationIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, _ := oldDatabase(t)
	edited := with(t, nil).(fstest.MapFS)
	for name := range maps.Keys(edited) {
		edited[name].Data = append(edited[name].Data, "\n-- a word more\n"...)
	}
	if _, err := Open(ctx, path, Options{Options: store.Options{Migrations: edited}}); domain.CodeOf(err) != domain.CodeInvalid ||
		!strings.Contains(err.Error(), "differs from the one in this kairosd") {
		t.Errorf("got %v", err)
	}
}

// A migration runs in one transaction, or a failure would leave half of it.
func TestMigrationsAreTransactions(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(db.Migrations(), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, n := range names {
		text, err := fs.ReadFile(db.Migrations(), n)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToUpper(string(text)), "NO TRANSACTION") {
			t.Errorf("%s asks for no transaction", n)
		}
	}
}

// A migration that deletes rows names their tables. Any other loss of rows ends the upgrade.
func TestAMigrationNamesTheTablesThatLoseRows(t *testing.T) {
	t.Parallel()
	const deletes = "-- +goose Up\nDELETE FROM run_labels;\n-- +goose Down\n"
	for name, c := range map[string]struct {
		migration string
		refused   bool
	}{
		"unnamed":       {deletes, true},
		"another table": {"-- deletes rows of: memory\n" + deletes, true},
		"named":         {"-- deletes rows of: memory, run_labels\n" + deletes, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "kairos.db")
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			v := putVersion(t, s, "p", strings.Repeat("a", 64))
			if _, _, err := s.CreateRun(t.Context(),
				domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api", Labels: map[string]string{"a": "b"}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err = Open(
				t.Context(),
				path,
				Options{Options: store.Options{Migrations: with(t, map[string]string{"99999_forget.sql": c.migration})}},
			)
			if c.refused != (err != nil) || c.refused && !strings.Contains(err.Error(), "run_labels") {
				t.Fatalf("the upgrade: %v", err)
			}
			if err == nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
