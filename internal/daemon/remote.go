package daemon

import (
	"context"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/store"
)

// Remote executes runs in place of the daemon.
type Remote interface {
	engine.Remote
	// Open is called once, when the engine is open. Close is called before the engine stops.
	Open(ctx context.Context, e *engine.Engine, s *store.Store) error
	Close()
	// Address returns the address of a page about the execution of a run, or "".
	Address(run string) string
}

// workflowAddress returns the address of a page about the execution of a run, or "".
func (s *server) workflowAddress(run string) string {
	if s.remote == nil {
		return ""
	}
	return s.remote.Address(run)
}

// checkBackend returns an error if this program cannot execute runs as configured.
func checkBackend(cfg config.Config, remote bool) error {
	var err *domain.Error
	switch {
	case cfg.Engine.Backend == config.BackendTemporal && !remote:
		err = domain.Errorf(domain.CodeInvalid, "engine.backend is temporal, and kairosd serve executes runs itself").
			Suggest("start kairos-temporal serve, or remove engine.backend from the configuration")
	case cfg.Engine.Backend == config.BackendSQLite && remote:
		err = domain.Errorf(domain.CodeInvalid, "engine.backend is sqlite, and kairos-temporal serve executes runs on Temporal").
			Suggest("start kairosd serve, or set engine.backend to temporal")
	default:
		return nil
	}
	return exit.With(exit.SysConfig, err)
}

// executor returns what executes the runs, or nil if the engine does. It refuses a database with unfinished runs of
// another backend, because two programs would execute them.
func (s *server) executor(ctx context.Context) (engine.Remote, error) {
	backend := config.BackendSQLite
	if s.Remote != nil {
		backend = config.BackendTemporal
	}
	before, err := assemble.BackendOf(ctx, s.store)
	if err != nil {
		return nil, err
	}
	if before != backend {
		counts, err := s.store.RunCounts(ctx)
		if err != nil {
			return nil, err
		}
		if n := counts.ByStatus[domain.RunQueued] + counts.ByStatus[domain.RunRunning] + counts.ByStatus[domain.RunWaiting]; n > 0 {
			return nil, exit.With(exit.SysConfig, domain.Errorf(domain.CodeConflict,
				"the database has %d unfinished runs of the backend %s, which %s cannot continue", n, before, backend).
				Suggest("finish or cancel them with the backend %s first, or use another data directory", before))
		}
		if err := assemble.SetBackend(ctx, s.store, backend); err != nil {
			return nil, err
		}
	}
	if s.Remote == nil {
		return nil, nil
	}
	s.remote, err = s.Remote(s.cfg, s.log)
	return s.remote, err
}
