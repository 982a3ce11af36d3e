package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/failpoint"
)

// MigrationStatus says of one migration whether it is applied.
type MigrationStatus struct {
	Version int64
	Name    string
	Applied bool
}

func provider(pool *sql.DB, files fs.FS) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, pool, files, goose.WithVerbose(false))
}

// SchemaVersion is the schema this binary works with.
func SchemaVersion() int64 { return schemaOf(db.Migrations()) }

// create makes the schema of a new database. An existing one has been brought up
// to date before (see upgrade).
func (s *Store) create(ctx context.Context) error {
	fresh, err := s.checkSchema(ctx, s.write)
	if err != nil {
		return err
	}
	if fresh {
		p, err := provider(s.write, s.migrations)
		if err != nil {
			return fmt.Errorf("read migrations: %w", err)
		}
		if _, err := p.Up(ctx); err != nil {
			return translate(err, "create the schema")
		}
		failpoint.Hit("create.schema")
		if _, err := s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return translate(err, "mark the database")
		}
	}
	return s.noteMigrations(ctx, s.write)
}

// checkSchema refuses a database of another program or of a newer kairosd
// (O04), and reports whether there is nothing in it yet.
func (s *Store) checkSchema(ctx context.Context, pool *sql.DB) (fresh bool, err error) {
	var app, tables int64
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return false, translate(err, "open "+s.path)
	}
	if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return false, translate(err, "open "+s.path)
	}
	if app != applicationID && tables > 0 {
		var ours int64
		err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'").Scan(&ours)
		if err != nil || ours == 0 {
			return false, domain.Errorf(domain.CodeInvalid, "%s is not a database of kairosd", s.path)
		}
	}
	if tables == 0 {
		return true, nil
	}
	var version int64
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	if err != nil {
		return false, translate(err, "read the schema version")
	}
	if known := schemaOf(s.migrations); version > known {
		return false, domain.Errorf(domain.CodeInvalid, "the database has schema %d; this kairosd knows up to %d", version, known).
			Suggest("run the newer kairosd, or restore a backup of before its upgrade")
	}
	return version == 0, nil
}

// checkCurrent refuses, for a reader, every schema but this binary's.
func (s *Store) checkCurrent(ctx context.Context) error {
	fresh, err := s.checkSchema(ctx, s.read)
	if err != nil {
		return err
	}
	has, err := int64(0), error(nil)
	if !fresh {
		has, err = s.schema(ctx)
	}
	if want := schemaOf(s.migrations); err == nil && has < want {
		err = domain.Errorf(domain.CodeInvalid, "the database has schema %d; this kairosd works with %d", has, want).
			Suggest("start the daemon, or run kairosd migrate up")
	}
	return err
}

// Migrations lists all migrations of this binary and whether the database has
// them.
func (s *Store) Migrations(ctx context.Context) ([]MigrationStatus, error) {
	p, err := provider(s.read, s.migrations)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	version, err := s.schema(ctx)
	if err != nil {
		return nil, err
	}
	var out []MigrationStatus
	for _, m := range p.ListSources() {
		out = append(out, MigrationStatus{Version: m.Version, Name: m.Path, Applied: m.Version <= version})
	}
	return out, nil
}

// schema is the schema version that the database has.
func (s *Store) schema(ctx context.Context) (int64, error) {
	var version int64
	err := s.read.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	return version, translate(err, "read the schema version")
}

// SQLiteVersion is the version of the SQLite library in this binary.
func SQLiteVersion() string {
	pool, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return "unknown"
	}
	defer pool.Close()
	var v string
	if err := pool.QueryRow("SELECT sqlite_version()").Scan(&v); err != nil {
		return "unknown"
	}
	return v
}
