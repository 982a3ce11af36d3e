package core

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"io/fs"
	"slices"

	"github.com/pressly/goose/v3"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Provider returns the migrator of a database.
func Provider(pool *sql.DB, files fs.FS) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, pool, files, goose.WithVerbose(false))
}

// CheckSchema rejects a database of another program or of a newer kairosd (O04), and reports
// whether the database is empty.
func (d *DB) CheckSchema(ctx context.Context, pool *sql.DB) (fresh bool, err error) {
	var app, tables int64
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return false, Translate(err, "open "+d.Path)
	}
	if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return false, Translate(err, "open "+d.Path)
	}
	if app != ApplicationID && tables > 0 {
		var ours int64
		err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'").Scan(&ours)
		if err != nil || ours == 0 {
			return false, domain.Errorf(domain.CodeInvalid, "%s is not a kairosd database", d.Path)
		}
	}
	if tables == 0 {
		return true, nil
	}
	var version int64
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	if err != nil {
		return false, Translate(err, "read the schema version")
	}
	if known := SchemaOf(d.Migrations); version > known {
		return false, domain.Errorf(domain.CodeInvalid, "the database has schema %d; this kairosd supports up to %d", version, known).
			Suggest("run the newer kairosd, or restore a backup from before its upgrade")
	}
	return version == 0, nil
}

// ApplicationID marks a file as a database of kairosd ("krs1" in ASCII).
const ApplicationID = 0x6b727331

// SettingMigration is the prefix of the keys that store the hashes of applied migrations.
const SettingMigration = "migration:"

// NoteMigrations stores the hashes of all migrations. All of them must be applied.
func (d *DB) NoteMigrations(ctx context.Context, pool *sql.DB) error {
	files, err := MigrationSums(d.Migrations)
	if err != nil {
		return err
	}
	q := dbsqlc.New(pool)
	for name, sum := range files {
		if err := q.SettingKeep(ctx, SettingMigration+name, sum); err != nil {
			return Translate(err, "record the migrations")
		}
	}
	return nil
}

// MigrationSums returns the SHA-256 hashes of migrations by file name.
func MigrationSums(files fs.FS) (map[string]string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		out[name] = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// SchemaOf returns the newest schema version of the migrations.
func SchemaOf(files fs.FS) int64 {
	p, err := goose.NewProvider(goose.DialectSQLite3, &sql.DB{}, files, goose.WithVerbose(false))
	if err != nil {
		return 0
	}
	sources := p.ListSources()
	return slices.MaxFunc(sources, func(a, b *goose.Source) int { return int(a.Version - b.Version) }).Version
}

// Schema returns the schema version of the database.
func (d *DB) Schema(ctx context.Context) (int64, error) {
	var version int64
	err := d.Read.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	return version, Translate(err, "read the schema version")
}
