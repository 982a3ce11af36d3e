package assemble

import (
	"cmp"
	"context"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/tail"
)

// settingBackend is the backend that executes the runs of a database.
const settingBackend = "engine.backend"

// BackendOf returns the backend that executes the runs of a database.
func BackendOf(ctx context.Context, s *store.Store) (string, error) {
	backend, err := s.Setting(ctx, settingBackend)
	return cmp.Or(backend, config.BackendSQLite), err
}

// SetBackend stores the backend that executes the runs of a database.
func SetBackend(ctx context.Context, s *store.Store, backend string) error {
	return s.SetSetting(ctx, settingBackend, backend)
}

// elsewhere refuses to execute runs, because workers of Temporal execute those of the database.
type elsewhere struct{}

func errElsewhere() error {
	return domain.Errorf(domain.CodeUnavailable, "workers of Temporal execute the runs of this database").
		Suggest("start kairos-temporal serve, and try again")
}

func (elsewhere) Accept(context.Context, *runstate.Compiled, domain.NewRun) error {
	return errElsewhere()
}

func (elsewhere) Launch(string) {}

func (elsewhere) Act(context.Context, domain.Run, *runstate.OperatorAction) (int64, error) {
	return 0, errElsewhere()
}

func (elsewhere) Resolve(context.Context, domain.Run, *runstate.StepResolved) (int64, error) {
	return 0, errElsewhere()
}

func (elsewhere) Decide(context.Context, domain.Run, *runstate.ApprovalDecided) (int64, error) {
	return 0, errElsewhere()
}

func (elsewhere) Signal(context.Context, string, *runstate.SignalArrived) error {
	return errElsewhere()
}

func (elsewhere) Maintain(bool) {}

// Active and Workers return nothing, because the daemon shows them.
func (elsewhere) Active(context.Context, string) (tail.Active, error) { return tail.Active{}, nil }

func (elsewhere) Workers() domain.Workers { return domain.Workers{} }

func (elsewhere) BudgetFreed(context.Context, string, *runstate.BudgetFreed) error {
	return errElsewhere()
}

func (elsewhere) Executes(context.Context, string) (bool, error) { return false, errElsewhere() }

func (elsewhere) Reconcile(context.Context) error { return errElsewhere() }

// executorOf returns what executes the runs of a database beside a daemon, or nil if the engine does.
func executorOf(ctx context.Context, s *store.Store) (engine.Remote, error) {
	backend, err := BackendOf(ctx, s)
	if err != nil || backend != config.BackendTemporal {
		return nil, err
	}
	return elsewhere{}, nil
}
