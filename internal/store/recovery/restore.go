package recovery

import (
	"context"
	"crypto/hmac"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// RestoreOptions are the options of Restore.
type RestoreOptions struct {
	Options
	// Replace moves an existing database away. Without it, an existing database is CodeConflict.
	Replace bool
	// KeyFile is the key file of the server that made the backup; empty: the one next to the
	// database.
	KeyFile string
	// WithoutKey restores a backup whose key file is lost, with a new key file. The backup cannot
	// be authenticated, so all access is revoked and execution is held.
	WithoutKey bool
	// IdentityFile contains the private key of a recipient of an encrypted backup.
	IdentityFile string
}

// Restored is the result of a restore.
type Restored struct {
	Backup domain.Backup `json:"backup"`
	Hold   domain.Hold   `json:"hold"`
	// Previous is the directory that now contains the previous files; empty: there were none.
	Previous string `json:"aside"`
}

const (
	// restoringDir is where a restored database is built.
	restoringDir = "restoring"
	// previousManifest in it, if present, is the manifest that turns the previous database into a
	// backup.
	previousManifest = "aside.json"
	// decryptingDir is the suffix of the directory in which an encrypted backup is decrypted.
	decryptingDir = ".decrypting"
)

// Restore puts a backup in the place of the database at path. Everything is
// verified before anything is moved; nothing is deleted; killed at any point,
// either the old or the new database is in place. All unfinished runs of the
// restored database are held (G15). It needs the lock: a running daemon is
// CodeLocked.
//
// The database is swapped inside its directory, not with it: a data directory
// is often a mount point or made by the service manager, and cannot be renamed.
func Restore(ctx context.Context, backup, path string, o RestoreOptions) (Restored, error) {
	r, err := restore(ctx, backup, path, o, os.Rename)
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	return r, nil
}

func restore(ctx context.Context, backup, path string, o RestoreOptions, rename renamer) (r Restored, err error) {
	if err := core.DriverSetup(); err != nil {
		return r, err
	}
	if r.Backup, err = ReadManifest(backup); err != nil {
		return r, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, domain.Errorf(domain.CodeUnavailable, "cannot create the data directory: %w", err)
	}
	lock, err := core.TakeLock(path + ".lock")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, core.ReleaseLock(lock)) }()
	if err := finishRestore(path, os.Rename); err != nil { // an earlier one
		return r, err
	}
	for _, p := range []string{path, path + "-wal"} {
		if _, err := os.Stat(p); err == nil && !o.Replace {
			return r, domain.Errorf(domain.CodeConflict, "%s already exists", p).
				Suggest("pass --force to replace it; the old files are kept in a directory next to it")
		}
	}
	key := core.RandomBytes(core.KeySize)
	if o.WithoutKey && o.KeyFile != "" {
		return r, domain.Errorf(domain.CodeInvalid, "use either a key file or --without-key, not both")
	}
	if !o.WithoutKey {
		if key, err = keyFor(r.Backup, path, o.KeyFile); err != nil {
			return r, err
		}
	}
	o.Keyless = o.WithoutKey
	decrypting := path + decryptingDir
	defer func() { err = errors.Join(err, os.RemoveAll(decrypting)) }()
	plain, err := opened(r.Backup, o.IdentityFile, func() (string, error) { return decrypting, freshDir(decrypting) })
	if err != nil {
		return r, err
	}
	if err := verifyBackup(ctx, plain, key, o.Options); err != nil {
		return r, err
	}
	work := filepath.Join(dir, restoringDir)
	if err := os.RemoveAll(work); err != nil { // left by an interrupted restore
		return r, domain.Errorf(domain.CodeUnavailable, "remove %s: %w", work, err)
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return r, domain.Errorf(domain.CodeUnavailable, "create %s: %w", work, err)
	}
	if r.Hold, err = build(ctx, plain, path, work, key, o.Options); err != nil {
		return r, errors.Join(err, os.RemoveAll(work))
	}
	failpoint.Hit("restore.built")
	previous := "replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	if err := core.WriteWhole(filepath.Join(work, core.PreviousFile), []byte(previous)); err != nil {
		return r, errors.Join(err, os.RemoveAll(work))
	}
	ready := filepath.Join(dir, core.RestoredDir)
	if err := os.RemoveAll(ready); err != nil { // left by an earlier restore that was finished
		return r, errors.Join(err, os.RemoveAll(work))
	}
	if err := store.KeepOwner(dir, work, path+".lock"); err != nil {
		return r, errors.Join(err, os.RemoveAll(work))
	}
	failpoint.Hit("restore.complete")
	if err := os.Rename(work, ready); err != nil {
		return r, errors.Join(err, os.RemoveAll(work))
	}
	failpoint.Hit("restore.ready")
	if err := core.SyncDir(dir); err != nil {
		return r, err
	}
	if err := finishRestore(path, rename); err != nil {
		return r, err
	}
	if _, err := os.Stat(filepath.Join(dir, previous)); err == nil {
		r.Previous = filepath.Join(dir, previous)
	}
	return r, store.KeepOwner(dir, filepath.Join(dir, previous))
}

// keyFor reads the key file of the server that made a backup, and checks that the manifest was
// written with it.
func keyFor(b domain.Backup, path, file string) ([]byte, error) {
	if file == "" {
		file = path + ".key"
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, domain.Errorf(domain.CodeInvalid, "the key file %s is missing; without it, the backup cannot be authenticated", file).
			Suggest("pass the key file of the server that made the backup (kairos.db.key): --key FILE. If every copy is " +
				"lost, --without-key restores the data and revokes all access")
	}
	key, err := core.LoadKey(file)
	if err != nil {
		return nil, err
	}
	return key, checkManifest(b, key, file)
}

// checkManifest checks that a manifest was written with a key.
func checkManifest(b domain.Backup, key []byte, file string) error {
	var k core.Secrets
	k.SetKey(key)
	if b.Key != k.Derived.Print {
		return domain.Errorf(domain.CodeCorrupt,
			"%s was not made with this key file: %s has the fingerprint %s, the backup's is %q", b.Path, file, k.Derived.Print, b.Key).
			Suggest("pass the key file of the server that made the backup: --key FILE")
	}
	if want := manifestMAC(b, k.Derived); !hmac.Equal([]byte(want), []byte(b.MAC)) {
		return domain.Errorf(domain.CodeCorrupt, "the manifest of %s was changed after the backup was made", b.Path).
			Suggest("do not use this backup; use another one")
	}
	return nil
}

// VerifyBackupFile does everything that a restore at path does before it moves files, and changes
// nothing. It uses only the key file options.
func VerifyBackupFile(ctx context.Context, backup, path string, o RestoreOptions) (b domain.Backup, err error) {
	if err := core.DriverSetup(); err != nil {
		return b, err
	}
	if b, err = ReadManifest(backup); err != nil {
		return b, err
	}
	key, err := keyFor(b, path, o.KeyFile)
	if err != nil {
		return b, err
	}
	dir := ""
	defer func() {
		if dir != "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	plain, err := opened(b, o.IdentityFile, func() (_ string, err error) {
		beside := filepath.Dir(path) // there is space where the old database was
		if _, err := os.Stat(beside); err != nil {
			beside = ""
		}
		dir, err = os.MkdirTemp(beside, filepath.Base(path)+decryptingDir+"-")
		return dir, err
	})
	if err != nil {
		return b, err
	}
	return b, verifyBackup(ctx, plain, key, Options{})
}

// verifyBackup verifies a backup completely: the file matches its manifest, the database is one of
// kairosd without additions, and every row is as it was written. A backup of an older schema gets
// SQLite's own check; its hash proves that it is the verified file.
func verifyBackup(ctx context.Context, b domain.Backup, key []byte, o Options) error {
	files := o.Files()
	sum, size, err := fileSum(b.Path)
	if err != nil {
		return err
	}
	if sum != b.SHA256 || size != b.Bytes {
		return notTheFile(b.Path)
	}
	known := core.SchemaOf(files)
	if b.Schema > known {
		return domain.Errorf(domain.CodeInvalid, "the backup has schema %d; this kairosd supports up to %d", b.Schema, known).
			Suggest("restore it with the kairosd that made it")
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Stat(b.Path + suffix); err == nil {
			return domain.Errorf(domain.CodeInvalid, "%s%s is next to the backup and would be read as a part of it", b.Path, suffix).
				Suggest("move it away")
		}
	}
	var found domain.Backup
	if b.Schema < known {
		found, err = examineOlder(ctx, b)
	} else {
		found, err = examine(ctx, b.Path, store.Options{AuditKey: key, Migrations: files, Keyless: o.Keyless})
	}
	if err != nil {
		return err
	}
	for _, c := range found.Verified {
		if len(c.Problems) > 0 {
			e := domain.Errorf(domain.CodeCorrupt, "the check of the backup failed: %s: %s", c.Name, c.Problems[0]).
				Suggest("use another backup")
			if c.Name == checkAuditName {
				e.Suggestion = "if another server made it, pass its key file: --key FILE. Otherwise use another backup"
			}
			return e
		}
	}
	if found.Generation != b.Generation || found.AuditSeq != b.AuditSeq || found.AuditMac != b.AuditMac || found.Instance != b.Instance {
		return domain.Errorf(domain.CodeCorrupt, "the backup and its manifest belong to different databases")
	}
	return nothingAdded(ctx, b.Path, b.Schema, files)
}

// examineOlder checks a backup with an older schema that this binary can migrate.
func examineOlder(ctx context.Context, b domain.Backup) (domain.Backup, error) {
	pool, err := core.OpenPlain(b.Path, "&mode=ro&_query_only=1")
	if err != nil {
		return b, err
	}
	rows, err := soundness(ctx, pool, func(int64, int64) {})
	if err != nil {
		return b, errors.Join(err, pool.Close())
	}
	found, err := describeAny(ctx, pool, b.Schema, rows)
	return found, errors.Join(err, pool.Close())
}

// nothingAdded compares the tables, indexes, and triggers of a database with those that its
// migrations create: an added trigger would run here.
func nothingAdded(ctx context.Context, path string, schema int64, files fs.FS) error {
	dir, err := os.MkdirTemp("", "kairos-schema-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // a temporary directory; nothing depends on it
	fresh, err := core.OpenPlain(filepath.Join(dir, "fresh.db"), "")
	if err != nil {
		return err
	}
	defer fresh.Close()
	p, err := core.Provider(fresh, files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := p.UpTo(ctx, schema); err != nil {
		return core.Translate(err, "make the schema")
	}
	copied, err := core.OpenPlain(path, "&mode=ro&_query_only=1")
	if err != nil {
		return err
	}
	defer copied.Close()
	want, err := objects(ctx, fresh)
	if err != nil {
		return err
	}
	got, err := objects(ctx, copied)
	if err != nil {
		return err
	}
	for _, o := range got {
		if !slices.Contains(want, o) {
			name, _, _ := strings.Cut(o, "\n")
			return domain.Errorf(domain.CodeInvalid, "the backup contains a %s that kairosd did not create", name).
				Suggest("do not use this backup; it was changed")
		}
	}
	if len(got) != len(want) {
		return domain.Errorf(domain.CodeCorrupt, "the backup lacks a part of its schema")
	}
	return nil
}

// notInternal excludes what SQLite itself adds to a schema: tables of statistics and indexes
// without a statement. A name that begins with sqlite_ is not sufficient, because a forged file
// can give it to a trigger.
const notInternal = "NOT (type = 'table' AND name IN ('sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4') OR type = 'index' " +
	"AND sql IS NULL AND name GLOB 'sqlite_autoindex_*')"

func objects(ctx context.Context, pool *sql.DB) ([]string, error) {
	rows, err := pool.QueryContext(ctx, "SELECT type || ' ' || name || char(10) || coalesce(sql, '') FROM sqlite_schema WHERE "+notInternal)
	if err != nil {
		return nil, core.Translate(err, "read the schema")
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var o string
		if err := rows.Scan(&o); err != nil {
			return nil, core.Translate(err, "read the schema")
		}
		out = append(out, o)
	}
	return out, core.Translate(rows.Err(), "read the schema")
}

// build creates the restored database in a directory of its own, held and closed, so that the
// write-ahead log of another database cannot be used with it.
func build(ctx context.Context, b domain.Backup, path, work string, key []byte, o Options) (h domain.Hold, err error) {
	target := filepath.Join(work, filepath.Base(path))
	if err := copyFile(b.Path, target); err != nil {
		return h, err
	}
	if err := core.WriteWhole(target+".key", []byte(fmt.Sprintf("%x\n", key))); err != nil {
		return h, err
	}
	// The anchor records the last event of the database that is replaced.
	if err := copyFile(path+".anchor", target+".anchor"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	o.ReadOnly, o.Restored = false, filepath.Base(b.Path)
	o.Recipients = []string{} // files that an upgrade keeps are removed with the directory
	s, err := Open(ctx, target, o)
	if err != nil {
		return h, err
	}
	held, err := s.Hold(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return h, err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(target + suffix); err == nil {
			return h, domain.Errorf(domain.CodeInternal, "cannot close the restored database")
		}
	}
	if err := os.Remove(target + ".lock"); err != nil {
		return h, err
	}
	if err := core.SyncFile(target); err != nil {
		return h, err
	}
	return *held, core.SyncDir(work)
}
