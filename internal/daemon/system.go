package daemon

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/domain"

	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/metric"
	"github.com/kairosd/kairosd/internal/store"
)

// system shows and maintains the server as a whole: storage, backups, retention, and holds.
type system struct {
	store   *store.Store
	engine  *engine.Engine
	metrics *metric.Recorder
	up      atomic.Pointer[upkeep]
	Logger  *slog.Logger
	started time.Time
	safe    domain.Message
	// lastFailure is the storage failure that stopped the previous daemon.
	lastFailure string

	working sync.Mutex // allows one backup or retention at a time

	// clock reports that the machine's clock is behind the newest record.
	clock   domain.Message
	access  string // another program changed a row that grants access
	unclean bool   // the previous daemon did not shut down cleanly

	maintaining sync.Mutex // allows one change of maintenance at a time

	configFile string
	now        func() *runtime
	lines      *logLines           // nil: no lines are kept
	mask       func([]byte) []byte // removes secrets from shown texts

	mu          sync.Mutex
	configFault domain.Message // the current configuration file, and why it is not applied
	jobs        []*domain.Job
	unfinished  int64
	maintenance *domain.Maintenance
	usage       storageUsage
	checks      checkResults
}

// storageUsage is the space that tables and plans use, with the times of the measurements.
type storageUsage struct {
	tables   []domain.TableStorage
	tablesAt time.Time
	plans    []domain.PlanStorage
	plansAt  time.Time
}

// checkResults holds the results of the latest integrity check and restore test.
type checkResults struct {
	checkedAt   time.Time
	finding     string // the first problem, or empty
	restoreTest *domain.RestoreTest
}

// Server returns the status of the server and its data.
func (s *system) Server(ctx context.Context) (domain.Server, error) {
	up := s.up.Load()
	i := domain.Server{
		Version:       buildinfo.Read().Version,
		Instance:      s.store.Instance(),
		Generation:    s.store.Generation(),
		OpenCount:     s.store.OpenCount(),
		Schema:        store.SchemaVersion(),
		Started:       s.started,
		Safe:          s.safe.String(),
		LastFailure:   s.lastFailure,
		ServerBackups: domain.ServerBackups{BackupDir: up.backups, Backups: []domain.Backup{}, Retention: up.words},
		ServerStorage: domain.ServerStorage{Plans: []domain.PlanStorage{}},
	}
	if err := s.store.Failure(); err != nil {
		i.Failed = err.Error()
	}
	var err error
	if i.Hold, err = s.store.Hold(ctx); err != nil {
		return i, err
	}
	counts, err := s.store.RunCounts(ctx)
	if err != nil {
		return i, err
	}
	i.Held, i.Undecided = counts.Held, counts.Waiting[domain.WaitInDoubt]
	if err = s.recentStarts(ctx, &i); err != nil {
		return i, err
	}
	w := s.now()
	i.ConfigFile, i.ConfigSum, i.ConfigAt, i.ConfigLater = s.configFile, w.cfg.Sum, w.at, w.later
	i.Workers = engine.RecordsOf(s.engine).Workers()
	i.Host = nodeName()
	i.Clock = machineClock()
	i.Clock.Behind = s.clock.String()
	if i.Events, err = s.store.LastEvent(ctx); err != nil {
		return i, err
	}
	if i.Storage, err = s.store.Usage(ctx); err != nil {
		return i, err
	}
	s.mu.Lock()
	i.Maintenance, i.RestoreTest, i.ConfigError = s.maintenance, s.checks.restoreTest, s.configFault.String()
	i.Tables, i.TablesAt, i.Jobs = slices.Clone(s.usage.tables), s.usage.tablesAt, []domain.Job{}
	for _, j := range s.jobs {
		i.Jobs = append(i.Jobs, *j)
	}
	i.Plans, i.PlansAt = append(i.Plans, s.usage.plans...), s.usage.plansAt
	i.CheckedAt, i.Finding = s.checks.checkedAt, s.checks.finding
	s.mu.Unlock()
	i.Backups, err = ListBackups(up.backups)
	return i, err
}

// HealthMetrics returns the health metrics of now and of the last day.
func (s *system) HealthMetrics(ctx context.Context) (domain.HealthMetrics, error) {
	return s.metrics.HealthMetrics(ctx)
}

// alone permits one backup or retention at a time. While one is in progress, a scheduled one waits,
// and that of a person is rejected. The returned function ends the permission.
func (s *system) alone(actor domain.Actor) (func(), error) {
	if actor == domain.System {
		s.working.Lock()
	} else if !s.working.TryLock() {
		return nil, domain.Errorf(domain.CodeConflict, "a backup or retention is in progress").Suggest("try again when it has finished")
	}
	return s.working.Unlock, nil
}

// Log returns the newest lines of the daemon's log without secrets, newest first: those of at least
// a level that contain a text.
func (s *system) Log(_ context.Context, level, text string) ([]domain.DaemonLog, error) {
	if s.lines == nil {
		return []domain.DaemonLog{}, nil
	}
	return s.lines.newest(level, text, s.mask), nil
}
