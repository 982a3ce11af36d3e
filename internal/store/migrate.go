package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/kairos"
)

// MigrationStatus says of one migration whether it is applied.
type MigrationStatus struct {
	Version int64
	Name    string
	Applied bool
}

func provider(pool *sql.DB) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, pool, db.Migrations(), goose.WithVerbose(false))
}

// SchemaVersion is the schema this binary works with.
func SchemaVersion() int64 {
	p, err := provider(&sql.DB{})
	if err != nil {
		return 0
	}
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

// migrate brings the schema up to date, after refusing files that are not ours
// or are newer than this binary.
func (s *Store) migrate(ctx context.Context, allowed bool) error {
	if err := s.checkSchema(ctx, s.write); err != nil {
		return err
	}
	p, err := provider(s.write)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	pending, err := p.HasPending(ctx)
	if err != nil {
		return translate(err, "read the schema version")
	}
	if pending && !allowed {
		return kairos.Errorf(kairos.CodeInvalid, "the database has an older schema").Suggest("run kairosd migrate up")
	}
	if !pending {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return translate(err, "migrate the database")
	}
	if _, err := s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return translate(err, "mark the database")
	}
	return nil
}

// checkSchema refuses a database of another program or of a newer kairosd (O04).
func (s *Store) checkSchema(ctx context.Context, pool *sql.DB) error {
	var app, tables int64
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return translate(err, "open "+s.path)
	}
	if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return translate(err, "open "+s.path)
	}
	if app != applicationID && tables > 0 {
		var ours int64
		err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'").Scan(&ours)
		if err != nil || ours == 0 {
			return kairos.Errorf(kairos.CodeInvalid, "%s is not a database of kairosd", s.path)
		}
	}
	if tables == 0 {
		return nil
	}
	var version int64
	err := pool.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	if err != nil {
		return translate(err, "read the schema version")
	}
	if known := SchemaVersion(); version > known {
		return kairos.Errorf(kairos.CodeInvalid, "the database has schema %d; this kairosd knows up to %d", version, known).
			Suggest("run the newer kairosd, or restore a backup of before its upgrade")
	}
	return nil
}

// Migrations lists all migrations of this binary and whether the database has
// them.
func (s *Store) Migrations(ctx context.Context) ([]MigrationStatus, error) {
	p, err := provider(s.read)
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
