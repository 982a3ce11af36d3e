// Package store keeps the data of kairosd in one SQLite file: plans, runs, journals, payloads, the
// audit log, and users. It is the only package that uses SQL. One goroutine writes and commits all
// waiting work together. Readers use their own pool and never block it.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/filelayer"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/query"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// Store is an open database. It is safe for concurrent use.
type Store struct {
	*query.Lists
	query.Readers
	subjects
	path       string
	log        *slog.Logger
	now        func() time.Time
	lock       *os.File
	dir        string // temporary directory to remove at Close
	write      *sql.DB
	read       *sql.DB
	q          *dbsqlc.Queries // on the read pool
	reads      lazy
	writer     *writer
	anchor     *anchor
	generation int64
	// db is what the packages below this one read through. q, read, now, and path are the same.
	db *core.DB

	migrations fs.FS
	vfs        string
	walPages   int
	normal     bool // synchronous=NORMAL
	keyless    bool
	rolledBack bool
	watched    []watchedFile
	watchEvery time.Duration
	held       map[string]*os.File // SQLite's files that the writer also opened; only the writer uses them until it has ended
	watching   chan struct{}       // closed when watch has ended
	unwatch    chan struct{}
	failures   failureRows
	started    atomic.Bool
	fullDisk   atomic.Bool  // work is rejected, once the store is started
	moved      atomic.Int64 // when the write-ahead log was last moved, µs
	closeOnce  sync.Once
	closeErr   error
}

// Open opens the database at path. It creates the database and its directory if they do not exist.
// It returns CodeLocked with the process ID of the holder if another process has it open. It
// returns CodeInvalid for a database of a newer kairosd or of another program.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := core.DriverSetup(); err != nil {
		return nil, err
	}
	s := newStore(path, o)
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	return s, nil
}

// newStore is a store that is not open yet.
func newStore(path string, o Options) *Store {
	s := &Store{
		db:         &core.DB{Path: path, Migrations: o.Files()},
		path:       path,
		log:        o.Logger,
		now:        o.Now,
		migrations: o.Files(),
		vfs:        o.vfs,
		walPages:   cmp.Or(o.walPages, walPages),
		normal:     o.normal,
		keyless:    o.Keyless,
		watchEvery: cmp.Or(o.watchEvery, watchEvery),
		held:       map[string]*os.File{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.db.Now = s.now
	s.Lists = query.New(s.db, cmp.Or(o.rows, query.Rows))
	s.Readers = query.ReadersOf(s.db)
	s.subjects = subjectsOf(s)
	return s
}

// Core returns the database for the packages below this one.
func (s *Store) Core() *core.DB { return s.db }

// OpenMemory opens a store in a private temporary directory that Close removes.
func OpenMemory(ctx context.Context, o Options) (*Store, error) {
	dir, err := os.MkdirTemp("", "kairos-")
	if err != nil {
		return nil, err
	}
	s, err := Open(ctx, filepath.Join(dir, "kairos.db"), o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.dir = dir
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) error {
	if !o.ReadOnly {
		if s.lock = o.lock; s.lock == nil {
			if err := s.takeLock(); err != nil {
				return err
			}
		}
		if err := s.prepareFiles(); err != nil {
			return err
		}
	}
	readers, err := newReadConnector(s.dsn(true), s.stopIfWriting)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, err)
	}
	s.read = sql.OpenDB(readers)
	s.read.SetMaxOpenConns(8)
	s.read.SetMaxIdleConns(8)
	s.db.Read = s.read
	if !o.ReadOnly {
		if s.write, err = sql.Open("sqlite", s.dsn(false)); err != nil {
			return fmt.Errorf("open %s: %w", s.path, err)
		}
		s.write.SetMaxOpenConns(1)
		if err := s.create(ctx); err != nil {
			return err
		}
	} else if err := s.checkCurrent(ctx); err != nil {
		return err
	}
	s.reads.on = s.read
	s.q = dbsqlc.New(&s.reads)
	s.db.Q = s.q
	if o.ReadOnly {
		return s.loadSecrets(ctx, o.AuditKey)
	}
	if err := s.startWriter(ctx, o); err != nil {
		return err
	}
	return nil
}

// dsn is the connection string. It contains every pragma, because an Exec would set it for one
// pooled connection only.
func (s *Store) dsn(reader bool) string {
	q := "_defensive=1&_dqs=0&_error_rc=1&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)" +
		"&_pragma=cell_size_check(1)&_pragma=temp_store(2)"
	if reader {
		q += "&mode=ro&_query_only=1&_pragma=cache_size(-1000)" // what it lacks is in the system's cache
	} else {
		q += "&mode=rw&_pragma=cache_size(-4000)&_pragma=wal_autocheckpoint(0)&_txlock=immediate&_pragma=auto_vacuum(2)&" +
			"_pragma=journal_mode(WAL)&_pragma=journal_size_limit(67108864)"
		if s.normal {
			q += "&_pragma=synchronous(NORMAL)"
		} else {
			q += "&_pragma=synchronous(FULL)"
		}
	}
	if vfs := cmp.Or(s.vfs, filelayer.Name); vfs != "" && !reader {
		q += "&vfs=" + vfs
	}
	return core.FileURL(s.path) + "?" + q
}

// takeLock makes the directory and takes the lock.
func (s *Store) takeLock() error {
	if info, err := os.Stat(s.path); err == nil && info.IsDir() {
		return domain.Errorf(domain.CodeInvalid, "%s is a directory, not a database file", s.path).
			Suggest("write %s", filepath.Join(s.path, "kairos.db"))
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "cannot create the data directory: %w", err)
	}
	if err := core.KeepPrivate(dir, 0o700); err != nil {
		return err
	}
	if err := s.checkFileSystem(dir); err != nil {
		return err
	}
	lock, err := core.TakeLock(s.path + ".lock")
	if err != nil {
		return err
	}
	s.lock = lock
	return nil
}

// prepareFiles makes the files private, and rejects a database that is partly removed or partly
// restored.
func (s *Store) prepareFiles() error {
	if core.RestorePending(s.path) {
		return domain.Errorf(domain.CodeUnavailable, "a restore or an upgrade of %s was interrupted", s.path).
			Suggest("start kairosd to finish it")
	}
	for _, f := range s.Files() {
		if err := core.KeepPrivate(f, 0o600); err != nil {
			return err
		}
	}
	_, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(s.path + "-wal"); err == nil {
			return domain.Errorf(domain.CodeCorrupt, "%s is missing, but its write-ahead log is there", s.path).
				Suggest("put the database back, or move %s-wal away", s.path)
		}
		// SQLite creates its other files with the mode of this one.
		f, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return domain.Errorf(domain.CodeUnavailable, "cannot create the database: %w", err)
		}
		if err := f.Close(); err != nil {
			return err
		}
		failpoint.Hit("create.file")
		return core.SyncDir(filepath.Dir(s.path)) // makes its name survive a power failure
	}
	return err
}

func (s *Store) startWriter(ctx context.Context, o Options) error {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return core.Translate(err, "open the writer's connection")
	}
	q := dbsqlc.New(conn)
	lost, err := s.checkKey(ctx, q, o.NewKey)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	lost = lost || o.Keyless
	if err := s.begin(ctx, conn, q, lost); err != nil {
		return errors.Join(err, conn.Close())
	}
	last, err := q.AuditLast(ctx)
	if err != nil {
		return errors.Join(core.Translate(err, "read the audit log"), conn.Close())
	}
	mac, err := q.AuditLinkBefore(ctx, last+1)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return errors.Join(core.Translate(err, "read the audit chain"), conn.Close())
	}
	s.anchor, err = openAnchor(filepath.Join(filepath.Dir(s.path), filepath.Base(s.path)+".anchor"))
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	if s.rolledBack, err = s.db.OlderThan(ctx, q, s.anchor.head()); err != nil {
		return errors.Join(err, conn.Close())
	}
	s.writer, err = newWriter(s, conn, last, mac.Mac)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	if s.writer.wal.short = o.Stay; o.Stay {
		if s.writer.reserve, err = openReserve(s.path); err != nil {
			s.log.Warn("cannot reserve disk space", "err", err)
		}
	}
	go s.writer.run()
	if lost {
		if err := s.Audit(ctx, domain.AuditRecord{Action: actionNewKey, Actor: domain.System.Name, Source: domain.System.Source,
			Reason: "the previous key was lost", Detail: domain.RawJSON(core.EncodeJSON(auditCut{Seq: last,
				Mac: hex.EncodeToString(mac.Mac)}))}); err != nil {
			return err
		}
	}
	if s.rolledBack || o.Restored != "" || lost {
		h := domain.Hold{Reason: domain.HoldRolledBack, Since: s.now().UTC().Truncate(time.Microsecond), Backup: o.Restored, Last: last}
		if o.Restored != "" {
			h.Reason = domain.HoldRestored
		}
		if lost {
			h.Reason = domain.HoldKeyLost
		}
		if at := s.anchor.head(); at.Seq > last {
			h.Lost = at.Seq
		}
		if err := s.hold(h); err != nil {
			return err
		}
	}
	if lost {
		if err := s.resetAccess(); err != nil {
			return fmt.Errorf("revoke all access: %w", err)
		}
	}
	s.watched, err = watchFiles(s.path, s.path+"-wal")
	if err != nil {
		return err
	}
	s.watching, s.unwatch = make(chan struct{}), make(chan struct{})
	go s.watch()
	return nil
}

// checkKey rejects a database without its key file, also one whose audit log is still empty. A new
// key would silently continue a chain that cannot be verified. lost reports that the caller
// requested a new key.
func (s *Store) checkKey(ctx context.Context, q *dbsqlc.Queries, newKey bool) (lost bool, err error) {
	if _, err := os.Stat(s.path + ".key"); !errors.Is(err, fs.ErrNotExist) {
		return false, nil // reading it reports other problems
	}
	switch _, err := q.SettingGet(ctx, settingKeyPrint); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil // a new database
	case err != nil:
		return false, core.Translate(err, "read the fingerprint of the key")
	case newKey:
		return true, nil
	}
	return false, domain.Errorf(domain.CodeCorrupt, "the key file %s.key is missing", s.path).
		Suggest("restore it from your copy; if every copy is lost, run kairosd audit new-key and read its help first: it ends all access")
}

// begin raises the open count and creates the server's secrets if they are missing, in one
// transaction. renew reports that the key file is new.
func (s *Store) begin(ctx context.Context, conn *sql.Conn, q *dbsqlc.Queries, renew bool) error {
	fileKey, err := core.LoadKey(s.path + ".key")
	if err != nil {
		return err
	}
	s.db.Secrets.SetKey(fileKey)
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return core.Translate(err, "begin")
	}
	err = func() error {
		setting := func(key, initial string) (string, error) {
			v, err := q.SettingGet(ctx, key)
			if errors.Is(err, sql.ErrNoRows) {
				v, err = initial, q.SettingPut(ctx, key, initial)
			}
			return v, err
		}
		print, err := setting(settingKeyPrint, s.db.Secrets.Derived.Print)
		if err != nil {
			return err
		}
		if print != s.db.Secrets.Derived.Print && !renew {
			return s.wrongKey(print)
		}
		if s.db.Secrets.Generation, err = setting("incarnation", domain.NewID()); err != nil {
			return err
		}
		key, err := setting("instance_key", hex.EncodeToString(core.RandomBytes(32)))
		if err != nil {
			return err
		}
		if s.db.Secrets.InstanceKey, err = hex.DecodeString(key); err != nil {
			return fmt.Errorf("instance key: %w", err)
		}
		openCount, err := setting("epoch", "0")
		if err != nil {
			return err
		}
		if s.generation, err = strconv.ParseInt(openCount, 10, 64); err != nil {
			return fmt.Errorf("generate an open count: %w", err)
		}
		s.generation++
		return q.SettingPut(ctx, "epoch", strconv.FormatInt(s.generation, 10))
	}()
	if err != nil {
		_, rollback := conn.ExecContext(ctx, "ROLLBACK")
		if domain.CodeOf(err) == domain.CodeCorrupt && rollback == nil {
			return err
		}
		return errors.Join(core.Translate(err, "raise the open count"), rollback)
	}
	failpoint.Hit("epoch.before")
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return core.Translate(err, "raise the open count")
	}
	failpoint.Hit("epoch.after")
	return nil
}

func (s *Store) loadSecrets(ctx context.Context, auditKey []byte) error {
	var err error
	if s.db.Secrets.Generation, err = s.q.SettingGet(ctx, "incarnation"); err != nil {
		return core.Translate(err, "read the generation")
	}
	key, err := s.q.SettingGet(ctx, "instance_key")
	if err != nil {
		return core.Translate(err, "read the instance key")
	}
	if s.db.Secrets.InstanceKey, err = hex.DecodeString(key); err != nil {
		return domain.Errorf(domain.CodeCorrupt, "cannot decrypt the instance key: %w", err)
	}
	if s.db.Secrets.SetKey(auditKey); auditKey != nil {
		return nil
	}
	s.db.ReadKey()
	return nil
}

// wrongKey reports that the key file next to the database belongs to another one.
func (s *Store) wrongKey(wants string) error {
	return domain.Errorf(domain.CodeCorrupt, "%s.key belongs to another database: its fingerprint is %s, not %s", s.path,
		s.db.Secrets.Derived.Print, wants).
		Suggest("restore the key file from your copy; if every copy is lost, move this one away, then run kairosd audit " +
			"new-key and read its help first")
}

// Generation identifies this generation of the database. A restore starts a new one.
func (s *Store) Generation() string { return s.db.Secrets.Generation }

// InstanceKey is the secret from which idempotency keys are derived.
func (s *Store) InstanceKey() []byte { return s.db.Secrets.InstanceKey }

// Path is the database file.
func (s *Store) Path() string { return s.path }

// RolledBack reports that the audit anchor is ahead of the database, so that durable events are
// missing.
func (s *Store) RolledBack() bool { return s.rolledBack }

// OnCommit sets the function that receives every committed audit event with its journal rows, in
// order of sequence, in the writer's goroutine. It must not block. A read-only store never calls
// it.
func (s *Store) OnCommit(f func([]domain.AuditEvent)) {
	if s.writer != nil {
		s.writer.onCommit.Store(&f)
	}
}

// OnBatch sets the function that receives the number of writes and the duration of every
// transaction. The rules of OnCommit apply.
func (s *Store) OnBatch(f func(writes int, took time.Duration)) {
	if s.writer != nil {
		s.writer.onBatch.Store(&f)
	}
}

// OpenCount counts how often the database was opened for writing, including this time.
func (s *Store) OpenCount() int64 { return s.generation }

// Instance is a fingerprint of the server. It is the same in all of its backups.
func (s *Store) Instance() string {
	return core.Fingerprint(hex.EncodeToString(s.db.Secrets.InstanceKey))
}

// Files lists all files of the store, which no tool may use.
func (s *Store) Files() []string {
	return []string{s.path, s.path + "-wal", s.path + "-shm", s.path + ".lock", s.path + ".key", s.path + ".anchor", s.path + reserveSuffix}
}
