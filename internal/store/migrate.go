package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// MigrationStatus is a migration and whether it is applied.
type MigrationStatus struct {
	Version int64
	Name    string
	Applied bool
}

// SchemaVersion is the schema version of this binary.
func SchemaVersion() int64 { return core.SchemaOf(db.Migrations()) }

// create creates the schema of a new database. An existing database must be upgraded first (see
// package recovery).
func (s *Store) create(ctx context.Context) error {
	fresh, err := s.db.CheckSchema(ctx, s.write)
	if err != nil {
		return err
	}
	if fresh {
		p, err := core.Provider(s.write, s.migrations)
		if err != nil {
			return fmt.Errorf("read migrations: %w", err)
		}
		if _, err := p.Up(ctx); err != nil {
			return core.Translate(err, "create the schema")
		}
		failpoint.Hit("create.schema")
		if _, err := s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", core.ApplicationID)); err != nil {
			return core.Translate(err, "mark the database")
		}
	} else if err := s.checkCurrent(ctx); err != nil {
		return err
	}
	return s.db.NoteMigrations(ctx, s.write)
}

// checkCurrent rejects a schema that is older than this binary's.
func (s *Store) checkCurrent(ctx context.Context) error {
	fresh, err := s.db.CheckSchema(ctx, s.read)
	if err != nil {
		return err
	}
	has, err := int64(0), error(nil)
	if !fresh {
		has, err = s.db.Schema(ctx)
	}
	if want := core.SchemaOf(s.migrations); err == nil && has < want {
		err = domain.Errorf(domain.CodeInvalid, "the database has schema %d; this kairosd requires %d", has, want).
			Suggest("start the daemon, or run kairosd migrate up")
	}
	return err
}

// Migrations lists all migrations of this binary and whether the database has
// them.
func (s *Store) Migrations(ctx context.Context) ([]MigrationStatus, error) {
	p, err := core.Provider(s.read, s.migrations)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	version, err := s.db.Schema(ctx)
	if err != nil {
		return nil, err
	}
	var out []MigrationStatus
	for _, m := range p.ListSources() {
		out = append(out, MigrationStatus{Version: m.Version, Name: m.Path, Applied: m.Version <= version})
	}
	return out, nil
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
