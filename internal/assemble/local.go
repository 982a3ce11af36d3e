package assemble

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/mcpserver"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/tool"
)

// LocalOptions configures [OpenLocal].
type LocalOptions struct {
	Config config.Config
	// Path is the database file. If it is empty, the database is in memory.
	Path string
	// Open opens the database file. If it is nil, recovery.Open is used.
	Open Opening
	// Mocks, if not nil, contains the results of all nodes with side effects by node ID. Tools and
	// models are then not called.
	Mocks map[string]Mock
}

// Opening opens a database.
type Opening func(context.Context, string, recovery.Options) (*store.Store, error)

// Local is the API of a database in this process. It executes only the runs that are started or
// resumed through it.
type Local struct {
	// Handler serves the API. Every request acts as LocalActor, whatever it contains.
	Handler http.Handler
	// ReadOnly is the reason why the database is open for reading only, or nil.
	ReadOnly error

	api    *api.API
	store  *store.Store
	engine *engine.Engine
	tools  *tool.Box
	bulk   *bulk.Service
	drafts *draft.Service

	stop       context.CancelFunc // ends the background loops
	background sync.WaitGroup
}

// OpenLocal opens a database and builds its API. On a full disk, it opens the database for reading.
// If another process has the database open, the error is CodeLocked.
func OpenLocal(ctx context.Context, o LocalOptions) (*Local, error) {
	log := slog.New(slog.DiscardHandler)
	l := &Local{}
	if o.Open == nil {
		o.Open = recovery.Open
	}
	var err error
	if o.Path == "" {
		l.store, err = store.OpenMemory(ctx, store.Options{Logger: log})
	} else {
		l.store, err = o.Open(ctx, o.Path, recovery.Options{Options: store.Options{Logger: log}, Recipients: o.Config.Backup.Recipients})
		if domain.CodeOf(err) == domain.CodeNoSpace { // stored data can still be read
			l.ReadOnly = err
			l.store, err = o.Open(ctx, o.Path, recovery.Options{Options: store.Options{Logger: log, ReadOnly: true}})
		}
	}
	if err != nil {
		return nil, err
	}
	var asker *planning.Service
	if o.Mocks != nil {
		asker, err = l.mocked(ctx, o, log)
	} else {
		options := engine.Options{OwnRunsOnly: true, People: PeopleOf(l.store)}
		if options.Remote, err = executorOf(ctx, l.store); err == nil {
			l.engine, asker, l.tools, err = NewEngine(ctx, l.store, o.Config, log, options, nil)
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.store.Close())
	}
	if err := l.engine.Open(ctx); err != nil {
		l.tools.Close()
		return nil, errors.Join(err, l.store.Close())
	}
	operations := bulk.Config{Store: l.store, Engine: l.engine, Log: log, Tools: l.tools.Tools, Host: l.tools.Host}
	if l.tools.Models != nil { // nil: runs with mocks call none
		operations.Providers = l.tools.Models.ProviderInfos
	}
	l.bulk = bulk.New(operations)
	// No other process uses this database.
	l.drafts = draft.New(draft.Config{Store: l.store, Planner: asker, Engine: l.engine, OnRead: true, Log: log})
	checker := store.NewAuditChecker(l.store, log)
	checking, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.background.Go(func() { checker.Run(checking) })
	l.stop = stop
	none := app.NoServer{Refusal: noDaemon(o.Path)}
	people, err := auth.New(auth.Config{Store: l.store, Audit: l.store, Log: log, Issuer: o.Config.Login.Issuer()})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	a := app.New(
		app.Config{Store: l.store, Engine: l.engine, Auth: people, Bulk: l.bulk, Drafts: l.drafts, Planner: asker, Checker: checker,
			Tools: func() *tool.Box { return l.tools }, Server: none, Settings: none,
			WatchedDirectories: func() []string { return o.Config.Hooks.Directories }, Log: log},
	)
	actor, v := LocalActor(), buildinfo.Read()
	l.api, err = api.New(api.Config{App: a, Reader: l.store, Engine: l.engine, Local: &actor,
		Audit: l.store, CursorKey: CursorKey(l.store), ShowInternal: true, Lazy: true, Log: log,
		MCP:     mcpserver.New(mcpserver.Config{App: a, Version: v.Version, Log: log}),
		Version: apitypes.Version{Version: v.Version, Commit: v.Commit, Schema: v.Schema, SQLite: v.SQLite, Go: v.Go}})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.Handler = l.api
	return l, nil
}

// localGrace is the time that Close waits for running steps.
const localGrace = 20 * time.Second

// Close stops running steps, so that their runs can be resumed later, and closes the database. No
// request may be active.
func (l *Local) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), localGrace)
	defer cancel()
	if l.api != nil {
		l.api.Close()
	}
	l.stop()
	l.background.Wait()
	l.bulk.Close()
	l.drafts.Close()
	err := l.engine.Stop(ctx)
	l.tools.Close()
	return errors.Join(err, l.store.Close())
}

// CursorKey returns the key that authenticates the cursors of lists. It belongs to the database, so
// that a cursor is valid in every process that serves it.
func CursorKey(s *store.Store) []byte {
	m := hmac.New(sha256.New, s.InstanceKey())
	m.Write([]byte("api cursors"))
	return m.Sum(nil)
}

// CallbackKey returns the key that callback addresses are derived from. It belongs to the database.
func CallbackKey(s *store.Store) []byte {
	m := hmac.New(sha256.New, s.InstanceKey())
	m.Write([]byte("callbacks"))
	return m.Sum(nil)
}

// Callback returns the callback addresses of runs. It is nil if the configuration has no address for them.
func Callback(s *store.Store, cfg config.Config) engine.Callback {
	base := strings.TrimRight(cfg.Hooks.URL, "/")
	if base == "" {
		return nil
	}
	key := CallbackKey(s)
	return func(run string) string { return base + "/callbacks/" + domain.CallbackToken(key, run) }
}

// noDaemon returns the error of an operation that requires a daemon. path is the database.
func noDaemon(path string) error {
	return domain.Errorf(domain.CodeUnavailable, "no daemon is running for %s", path).
		Suggest("start it with kairosd serve, or pass --server URL; kairosd doctor and kairosd backup work without a daemon")
}
