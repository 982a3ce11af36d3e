package recovery

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// An older database is never changed in place. All pending migrations run in a copy, which is
// verified and then replaces the database like a restored one. After a failed migration or a crash
// of the machine, the old file is unchanged (O05). The old file stays next to the new one as a
// backup with a manifest. The previous version of kairosd can restore it. If backups are encrypted,
// so is this one (see keepEncrypted).

// upgrade migrates an existing database to the schema of this binary. The caller holds the lock
// and has no connection open.
type upgrade struct {
	db         *core.DB // without its connections
	log        *slog.Logger
	vfs        string // SQLite's file layer, for fault injection
	recipients []string
	progress   func(domain.Startup)
}

func newUpgrade(path string, o Options) *upgrade {
	s := &upgrade{&core.DB{Path: path, Now: o.Now, Migrations: o.Files()}, o.Logger, o.VFS(), o.Recipients, o.Progress}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.db.Now == nil {
		s.db.Now = time.Now
	}
	return s
}

// run upgrades the database if required; CodeInvalid if that is not allowed.
func (s *upgrade) run(ctx context.Context, allowed bool) error {
	info, err := os.Stat(s.db.Path)
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "look at the database: %w", err)
	}
	layer := ""
	if s.vfs != "" {
		layer = "&vfs=" + s.vfs // closing this connection may empty the write-ahead log
	}
	old, err := core.OpenPlain(s.db.Path, layer)
	if err != nil {
		return err
	}
	defer old.Close()
	fresh, err := s.db.CheckSchema(ctx, old)
	if err != nil || fresh {
		return err
	}
	p, err := core.Provider(old, s.db.Migrations)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	from, to, err := p.GetVersions(ctx)
	if err != nil {
		return core.Translate(err, "read the schema version")
	}
	if err := s.checkMigrations(ctx, old, from); err != nil || from >= to {
		return err
	}
	if !allowed {
		return domain.Errorf(domain.CodeInvalid, "the database has schema %d; this kairosd requires %d", from, to).
			Suggest("run kairosd migrate up")
	}
	recipients, err := s.recipientsOf(ctx, old)
	if err != nil {
		return err
	}
	s.log.Info("upgrade the database", "from", from, "to", to, "bytes", info.Size(), "encrypted", len(recipients) > 0)
	copies := 1
	if len(recipients) > 0 {
		copies = 2
	}
	if err := roomFor(s.db.Path, filepath.Dir(s.db.Path), copies); err != nil {
		return err
	}
	if err := s.upgradeCopy(ctx, old, from, recipients); err != nil {
		return fmt.Errorf("upgrade from schema %d to %d: %w", from, to, err)
	}
	return nil
}

func (s *upgrade) upgradeCopy(ctx context.Context, old *sql.DB, from int64, recipients []string) error {
	before, err := soundness(ctx, old, s.counting(domain.StartChecking))
	if err != nil {
		return err
	}
	s.db.ReadKey()
	manifest, err := describeAny(ctx, old, from, before)
	if err != nil {
		return err
	}
	// Move everything into one file, so that a copy of the file is a copy of the database.
	var busy, log, moved int
	if err := old.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved); err != nil || busy != 0 {
		return errors.Join(core.Translate(err, "empty the write-ahead log"), fmt.Errorf("the write-ahead log is in use: %d", busy))
	}
	if err := old.Close(); err != nil {
		return core.Translate(err, "close the database")
	}
	dir, name := filepath.Dir(s.db.Path), filepath.Base(s.db.Path)
	work, ready := filepath.Join(dir, restoringDir), filepath.Join(dir, core.RestoredDir)
	for _, d := range []string{work, ready} { // left by an interrupted restore
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	err = func() error {
		// First, because an operator can fix this error, and then no work was wasted.
		if err := s.keepEncrypted(&manifest, work, recipients); err != nil {
			return err
		}
		target := filepath.Join(work, name)
		if err := copyWith(s.db.Path, target, s.counting(domain.StartCopying)); err != nil {
			return err
		}
		failpoint.Hit("upgrade.copied")
		if err := s.applyTo(ctx, target, before); err != nil {
			return err
		}
		failpoint.Hit("upgrade.applied")
		manifest.Created = s.db.Now().UTC()
		text, err := encodeManifest(&manifest, s.db.Secrets.Derived)
		if err != nil {
			return err
		}
		if err := core.WriteWhole(filepath.Join(work, previousManifest), text); err != nil {
			return err
		}
		previous := fmt.Sprintf("pre-schema-%d-%s", core.SchemaOf(s.db.Migrations), time.Now().UTC().Format("20060102T150405.000Z"))
		if err := core.WriteWhole(filepath.Join(work, core.PreviousFile), []byte(previous)); err != nil {
			return err
		}
		if err := os.Rename(work, ready); err != nil {
			return err
		}
		failpoint.Hit("upgrade.ready")
		return core.SyncDir(dir)
	}()
	if err != nil {
		return errors.Join(err, os.RemoveAll(work))
	}
	return finishRestore(s.db.Path, os.Rename)
}

// applyTo migrates a copy and checks that nothing was lost: no table has fewer rows than before
// unless a migration names it, and all of it is sound.
func (s *upgrade) applyTo(ctx context.Context, path string, before map[string]int64) error {
	// Without foreign keys: rebuilding a table would delete its children, and they cannot be
	// switched off inside a transaction.
	pool, err := core.OpenPlain(path, "&_pragma=foreign_keys(0)&_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer pool.Close()
	p, err := core.Provider(pool, s.db.Migrations)
	if err != nil {
		return err
	}
	shrinking, err := s.shrinkingTables(ctx, p)
	if err != nil {
		return err
	}
	if err := s.applyEach(ctx, p); err != nil {
		return err
	}
	after, err := soundness(ctx, pool, s.counting(domain.StartVerifying))
	if err != nil {
		return err
	}
	for table, n := range before {
		if m, ok := after[table]; ok && m < n && !slices.Contains(shrinking, table) {
			return domain.Errorf(domain.CodeCorrupt, "table %s had %d rows and has %d after the migrations", table, n, m).
				Suggest("run the previous kairosd, and report this")
		}
	}
	if err := s.db.NoteMigrations(ctx, pool); err != nil {
		return err
	}
	if err := pool.Close(); err != nil {
		return core.Translate(err, "close the migrated copy")
	}
	return core.SyncFile(path)
}

// deletesRows matches the comment in which a migration names the tables from which it deletes
// rows.
var deletesRows = regexp.MustCompile(`(?m)^-- deletes rows of: (.+)$`)

// shrinkingTables are the tables from which pending migrations delete rows.
func (s *upgrade) shrinkingTables(ctx context.Context, p *goose.Provider) ([]string, error) {
	applied, err := p.GetDBVersion(ctx)
	if err != nil {
		return nil, core.Translate(err, "read the schema version")
	}
	var tables []string
	for _, m := range p.ListSources() {
		if m.Version <= applied {
			continue
		}
		text, err := fs.ReadFile(s.db.Migrations, m.Path)
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		for _, found := range deletesRows.FindAllStringSubmatch(string(text), -1) {
			for table := range strings.SplitSeq(found[1], ",") {
				tables = append(tables, strings.TrimSpace(table))
			}
		}
	}
	return tables, nil
}

// applyEach applies the pending migrations, each in its own transaction, and reports which one is
// running.
func (s *upgrade) applyEach(ctx context.Context, p *goose.Provider) error {
	from, to, err := p.GetVersions(ctx)
	if err != nil {
		return core.Translate(err, "read the schema version")
	}
	pending := 0
	for _, m := range p.ListSources() {
		if m.Version > from && m.Version <= to {
			pending++
		}
	}
	for i := range pending {
		s.report(domain.Startup{Stage: domain.StartMigrating, Step: i + 1, Of: pending, Percent: 100 * i / pending})
		if _, err := p.UpByOne(ctx); err != nil {
			return core.Translate(err, "apply the migrations")
		}
	}
	return nil
}

func (s *upgrade) report(p domain.Startup) {
	if s.progress != nil {
		s.progress(p)
	}
}

// counting reports the progress of a stage.
func (s *upgrade) counting(stage domain.StartStage) func(done, of int64) {
	last := int64(-1)
	return func(done, of int64) {
		if percent := 100 * done / max(of, 1); percent != last {
			last = percent
			s.report(domain.Startup{Stage: stage, Percent: int(percent)})
		}
	}
}

// soundness runs SQLite's checks and counts the rows of each table. It reports progress after the
// check of all pages, after the check of all references, and after each table.
func soundness(ctx context.Context, pool *sql.DB, report func(done, of int64)) (map[string]int64, error) {
	report(0, 1)
	var result string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return nil, core.Translate(err, "check the database")
	}
	if result != "ok" {
		return nil, domain.Errorf(domain.CodeCorrupt, "the database is damaged: %s", result).
			Suggest("restore a backup with the kairosd that made it")
	}
	var broken int64
	if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM pragma_foreign_key_check").Scan(&broken); err != nil {
		return nil, core.Translate(err, "check foreign keys")
	}
	if broken > 0 {
		return nil, domain.Errorf(domain.CodeCorrupt, "%d rows refer to missing rows", broken)
	}
	rows, err := pool.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name")
	if err != nil {
		return nil, core.Translate(err, "list tables")
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, core.Translate(err, "list tables")
		}
		names = append(names, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, core.Translate(err, "list tables")
	}
	counts := map[string]int64{}
	for i, name := range names {
		report(int64(i+2), int64(len(names)+2))
		var n int64
		if err := pool.QueryRowContext(ctx, `SELECT count(*) FROM "`+strings.ReplaceAll(name, `"`, `""`)+`"`).Scan(&n); err != nil {
			return nil, core.Translate(err, "count rows")
		}
		counts[name] = n
	}
	return counts, nil
}

// describeAny is describe for a database of any schema: settings and audit_events exist in all of
// them.
func describeAny(ctx context.Context, pool *sql.DB, schema int64, rows map[string]int64) (domain.Backup, error) {
	b := domain.Backup{Format: manifestFormat, Schema: schema, Verified: []domain.Check{}, Rows: rows}
	q := dbsqlc.New(pool)
	setting := func(name string) (string, error) {
		text, err := q.SettingGet(ctx, name)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		}
		return text, err
	}
	key, err1 := setting("instance_key")
	generation, err2 := setting("incarnation")
	last, err3 := q.AuditLast(ctx)
	if err := errors.Join(err1, err2, err3); err != nil {
		return b, core.Translate(err, "describe the database")
	}
	mac, err := q.AuditMac(ctx, last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return b, core.Translate(err, "describe the database")
	}
	b.Generation, b.AuditSeq = generation, last
	b.Instance, b.AuditMac = core.Fingerprint(key), hex.EncodeToString(mac)
	return b, nil
}

// checkMigrations returns an error if the applied migrations differ from those of this binary.
func (s *upgrade) checkMigrations(ctx context.Context, pool *sql.DB, applied int64) error {
	files, err := core.MigrationSums(s.db.Migrations)
	if err != nil {
		return err
	}
	for name, sum := range files {
		var number int64
		if _, err := fmt.Sscanf(name, "%d_", &number); err != nil || number > applied {
			continue
		}
		recorded, err := dbsqlc.New(pool).SettingGet(ctx, core.SettingMigration+name)
		if errors.Is(err, sql.ErrNoRows) {
			continue // from before checksums were recorded
		} else if err != nil {
			return core.Translate(err, "read the applied migrations")
		}
		if recorded != sum {
			return domain.
				Errorf(domain.CodeInvalid, "migration %s of the database %s differs from the one in this kairosd", name, s.db.Path).
				Suggest("run the kairosd that created the database, or name another database or data directory")
		}
	}
	return nil
}
