package app

import (
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Budgets are the operations on budgets, which limit the usage of model calls of all runs.
type Budgets struct{ *kernel }

type budgetStore interface {
	Budget(ctx context.Context, idOrKey string) (domain.Budget, error)
	Budgets(ctx context.Context) ([]domain.Budget, error)
	BudgetWindows(ctx context.Context, idOrKey string, limit int) ([]domain.BudgetWindow, error)
	BudgetWaiters(ctx context.Context, budget string, limit int) ([]domain.BudgetWait, error)
}

// state returns a budget in its current window.
func (s *Budgets) state(b domain.Budget, m budget.Models) domain.BudgetState {
	now := s.engine.Timed().Now()
	out := domain.BudgetState{Budget: b, Reserved: s.engine.Timed().ReservedFromBudget(b.ID), Predicted: budget.Predicted(b, now)}
	out.Exhausted, _ = budget.Exhausted(b, now)
	out.Window, out.Unpriced = budget.Current(b, now), budget.Unpriced(b.BudgetSpec, m)
	return out
}

// List returns all budgets, by key.
//
// Errors: forbidden.
func (s *Budgets) List(ctx context.Context, by domain.Actor) ([]domain.BudgetState, error) {
	if err := s.allow(ctx, ListBudgets, by, ""); err != nil {
		return nil, err
	}
	list, err := s.store.Budgets(ctx)
	if err != nil {
		return nil, err
	}
	m, err := s.models(ctx)
	out := make([]domain.BudgetState, len(list))
	for i, b := range list {
		out[i] = s.state(b, m)
	}
	return out, err
}

// Get finds a budget by key or ID.
//
// Errors: not_found, forbidden.
func (s *Budgets) Get(ctx context.Context, by domain.Actor, idOrKey string) (domain.BudgetState, error) {
	if err := s.allow(ctx, GetBudget, by, ""); err != nil {
		return domain.BudgetState{}, err
	}
	return s.find(ctx, idOrKey)
}

func (s *Budgets) find(ctx context.Context, idOrKey string) (domain.BudgetState, error) {
	b, err := s.store.Budget(ctx, idOrKey)
	if err != nil {
		return domain.BudgetState{}, err
	}
	m, err := s.models(ctx)
	return s.state(b, m), err
}

// shownWindows and shownWaiters limit the windows and the runs that are listed.
const (
	shownWindows = 60
	shownWaiters = 100
)

// Windows lists the windows of a budget, newest first, at most 60.
//
// Errors: not_found, forbidden.
func (s *Budgets) Windows(ctx context.Context, by domain.Actor, idOrKey string) ([]domain.BudgetWindow, error) {
	if err := s.allow(ctx, GetBudget, by, ""); err != nil {
		return nil, err
	}
	return s.store.BudgetWindows(ctx, idOrKey, shownWindows)
}

// Waiters lists the runs that wait for a budget, oldest first, at most 100.
//
// Errors: not_found, forbidden.
func (s *Budgets) Waiters(ctx context.Context, by domain.Actor, idOrKey string) ([]domain.BudgetWait, error) {
	b, err := s.Get(ctx, by, idOrKey)
	if err != nil {
		return nil, err
	}
	return s.store.BudgetWaiters(ctx, b.ID, shownWaiters)
}

func (s *Budgets) object() object[domain.BudgetState] {
	return object[domain.BudgetState]{id: func(b domain.BudgetState) string { return b.ID }, find: s.find}
}

// NewBudget is a budget to create. An empty scope is all, an empty period a day, and an empty unit cost.
type NewBudget struct {
	Meta `json:"-"`
	Key  string
	domain.BudgetSpec
}

// Create creates a budget. It begins with the recorded usage of its scope in the current window, and with the calls in
// flight.
//
// Errors: invalid (a setting, or a model without a price), conflict (the key is used), forbidden.
func (s *Budgets) Create(ctx context.Context, req NewBudget) (domain.BudgetState, error) {
	if known, done, err := before(ctx, s.kernel, CreateBudget, req.Meta, req, s.object()); done || err != nil {
		return known, err
	}
	b := domain.Budget{ID: domain.NewID(), Key: strings.TrimSpace(req.Key), BudgetSpec: withDefaults(req.BudgetSpec), Actor: req.By.Name}
	if !validKey(b.Key) {
		return domain.BudgetState{}, domain.Errorf(domain.CodeInvalid, "%q is not a valid name of a budget", clip(b.Key, 50)).
			Suggest("use 1 to %d letters, digits, and the characters . _ -", maxKey)
	}
	if err := s.check(ctx, b.BudgetSpec); err != nil {
		return domain.BudgetState{}, err
	}
	b.Window = budget.Current(b, s.engine.Timed().Now())
	_, err := perform(ctx, s.kernel, CreateBudget, req.Meta, req, s.object(), func(tx *store.Tx) (domain.BudgetState, error) {
		tx.Audit("budget:"+b.Key, "", domain.ChangeDetail(nil, b.Detail()))
		return domain.BudgetState{Budget: b}, tx.Budgets().Create(b, seedOf(b.Scope))
	})
	if err != nil {
		return domain.BudgetState{}, err
	}
	s.engine.Timed().BudgetChanged(ctx, b.ID, nil)
	return s.find(ctx, b.ID)
}

func withDefaults(b domain.BudgetSpec) domain.BudgetSpec {
	for _, f := range []struct {
		into *string
		def  string
	}{{&b.Scope, budget.All}, {&b.Period, domain.BudgetPeriods[0]}, {&b.Unit, domain.BudgetUnits[0]}, {&b.Zone, "UTC"}} {
		if *f.into == "" {
			*f.into = f.def
		}
	}
	return b
}

// seedOf selects the recorded usage of a scope.
func seedOf(scope string) *domain.BudgetSeed {
	switch s, _ := budget.ParseScope(scope); s.Kind {
	case budget.Plan:
		return &domain.BudgetSeed{Plan: s.Name}
	case budget.Agent:
		return &domain.BudgetSeed{Agent: s.Name}
	case budget.Provider:
		return &domain.BudgetSeed{Provider: s.Name}
	case budget.Label:
		return &domain.BudgetSeed{Label: s.Name, Value: s.Value}
	}
	return &domain.BudgetSeed{}
}

// check checks the settings of a budget against the configured models.
func (s *Budgets) check(ctx context.Context, b domain.BudgetSpec) error {
	if err := budget.Check(b); err != nil {
		return err
	}
	m, err := s.models(ctx)
	if err != nil {
		return err
	}
	return budget.CheckModels(b, m)
}

// models returns the configured agents and providers.
func (s *Budgets) models(ctx context.Context) (m budget.Models, err error) {
	if m.Agents, err = s.tools().Agents(ctx); err != nil {
		return m, err
	}
	m.Providers, err = s.tools().Providers(ctx)
	return m, err
}

// BudgetEdit changes the lines of a budget. Nil leaves a setting as it is.
type BudgetEdit struct {
	Meta                `json:"-"`
	Budget              string // key or ID
	Rev                 int64  // of the budget that the caller saw; 0: any
	Soft, Degrade, Hard *float64
	DegradeTo           *string
}

// Update changes the lines of a budget, also for the current window. Runs that have room now continue.
//
// Errors: invalid, not_found, stale (another revision), forbidden.
func (s *Budgets) Update(ctx context.Context, req BudgetEdit) (domain.BudgetState, error) {
	if known, done, err := before(ctx, s.kernel, UpdateBudget, req.Meta, req, s.object()); done || err != nil {
		return known, err
	}
	b, err := s.store.Budget(ctx, req.Budget)
	if err != nil {
		return domain.BudgetState{}, err
	}
	old := b
	set(req.Soft, &b.Soft)
	set(req.Degrade, &b.Degrade)
	set(req.Hard, &b.Hard)
	set(req.DegradeTo, &b.DegradeTo)
	if err := s.check(ctx, b.BudgetSpec); err != nil {
		return domain.BudgetState{}, err
	}
	b.Actor = req.By.Name
	_, err = perform(ctx, s.kernel, UpdateBudget, req.Meta, req, s.object(), func(tx *store.Tx) (domain.BudgetState, error) {
		if err := unchanged(tx, b, req.Rev); err != nil {
			return domain.BudgetState{}, err
		}
		tx.Audit("budget:"+b.Key, "", domain.ChangeDetail(old.Detail(), b.Detail()))
		return domain.BudgetState{Budget: b}, tx.Budgets().Change(b)
	})
	if err != nil {
		return domain.BudgetState{}, err
	}
	s.engine.Timed().BudgetChanged(ctx, b.ID, nil)
	return s.find(ctx, b.ID)
}

// unchanged returns an error if a budget has changed since it was read, or since the caller saw revision rev.
func unchanged(tx *store.Tx, b domain.Budget, rev int64) error {
	now, err := tx.Budgets().Get(b.ID)
	if err != nil {
		return err
	}
	if now.Rev != b.Rev || rev != 0 && rev != b.Rev {
		return domain.Errorf(domain.CodeStale, "budget %s has changed", b.Key).Suggest("read it again, then decide")
	}
	return nil
}

// BudgetRaise adds to the hard line of the current window.
type BudgetRaise struct {
	Meta   `json:"-"`
	Budget string // key or ID
	Amount float64
	Reason string
}

// Raise adds an amount to the hard line of the current window. Runs that have room now continue. The next window
// begins with the hard line of the budget.
//
// Errors: invalid (the amount), not_found, conflict (the budget has no hard line), forbidden.
func (s *Budgets) Raise(ctx context.Context, req BudgetRaise) (domain.BudgetState, error) {
	if known, done, err := before(ctx, s.kernel, RaiseBudget, req.Meta, req, s.object()); done || err != nil {
		return known, err
	}
	b, err := s.store.Budget(ctx, req.Budget)
	switch {
	case err != nil:
		return domain.BudgetState{}, err
	case b.Hard == 0:
		return domain.BudgetState{}, domain.Errorf(domain.CodeConflict, "budget %s has no hard line to raise",
			b.Key).Suggest("set a hard line")
	case req.Amount <= 0:
		return domain.BudgetState{}, domain.Errorf(domain.CodeInvalid, "the amount must be more than 0").Suggest("write +5")
	}
	if err := budget.CheckAmount("the amount", b.Unit, req.Amount); err != nil {
		return domain.BudgetState{}, err
	}
	_, err = perform(ctx, s.kernel, RaiseBudget, req.Meta, req, s.object(), func(tx *store.Tx) (domain.BudgetState, error) {
		now, err := tx.Budgets().Get(b.ID)
		if err != nil {
			return domain.BudgetState{}, err
		}
		w := budget.Current(now, s.engine.Timed().Now())
		tx.Audit("budget:"+b.Key, req.Reason, domain.ChangeDetail(map[string]float64{"hard": now.Hard + w.Extra},
			map[string]float64{"hard": now.Hard + w.Extra + req.Amount}))
		return domain.BudgetState{Budget: b}, tx.Budgets().Raise(b.ID, w.Start, w.End, req.Amount)
	})
	if err != nil {
		return domain.BudgetState{}, err
	}
	s.engine.Timed().BudgetChanged(ctx, b.ID, nil)
	return s.find(ctx, b.ID)
}

// BudgetDelete names a budget to delete.
type BudgetDelete struct {
	Meta   `json:"-"`
	Budget string // key or ID
	Rev    int64  // of the budget that the caller saw; 0: any
}

// Delete removes a budget with its usage, and returns it as it was. Runs that wait for it continue.
//
// Errors: not_found, stale, forbidden.
func (s *Budgets) Delete(ctx context.Context, req BudgetDelete) (domain.BudgetState, error) {
	gone := object[domain.BudgetState]{id: func(b domain.BudgetState) string { return b.ID }, find: func(_ context.Context,
		id string) (domain.BudgetState, error) {
		return domain.BudgetState{Budget: domain.Budget{ID: id, Key: req.Budget}}, nil
	}}
	if known, done, err := before(ctx, s.kernel, DeleteBudget, req.Meta, req, gone); done || err != nil {
		return known, err
	}
	b, err := s.store.Budget(ctx, req.Budget)
	if err != nil {
		return domain.BudgetState{}, err
	}
	was := s.state(b, budget.Models{})
	var waiting []domain.BudgetWait
	_, err = perform(ctx, s.kernel, DeleteBudget, req.Meta, req, gone, func(tx *store.Tx) (domain.BudgetState, error) {
		if err := unchanged(tx, b, req.Rev); err != nil {
			return domain.BudgetState{}, err
		}
		var err error
		if waiting, err = tx.Budgets().Waiters(b.ID); err != nil {
			return domain.BudgetState{}, err
		}
		tx.Audit("budget:"+b.Key, "", domain.ChangeDetail(b.Detail(), nil))
		return was, tx.Budgets().Delete(b.ID)
	})
	if err != nil {
		return domain.BudgetState{}, err
	}
	s.engine.Timed().BudgetChanged(ctx, b.ID, waiting)
	return was, nil
}
