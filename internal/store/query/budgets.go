package query

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/budgets"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// BudgetReader reads budgets, their windows, and the runs that wait for them.
type BudgetReader struct{ db *core.DB }

// Budget finds a budget by key or ID. It returns CodeNotFound.
func (s *BudgetReader) Budget(ctx context.Context, idOrKey string) (domain.Budget, error) {
	return budgets.Named(ctx, s.db.Q, idOrKey)
}

// Budgets lists all budgets, by key, each with its newest window.
func (s *BudgetReader) Budgets(ctx context.Context) ([]domain.Budget, error) {
	return budgets.List(ctx, s.db.Q)
}

// BudgetWindows lists the windows of a budget, newest first.
func (s *BudgetReader) BudgetWindows(ctx context.Context, idOrKey string, limit int) ([]domain.BudgetWindow, error) {
	return budgets.WindowsOf(ctx, s.db.Q, idOrKey, limit)
}

// BudgetHolds lists what calls in flight have reserved.
func (s *BudgetReader) BudgetHolds(ctx context.Context) ([]domain.BudgetHold, error) {
	return budgets.Holds(ctx, s.db.Q)
}

// BudgetWaiters lists runs that wait for a budget, oldest first.
func (s *BudgetReader) BudgetWaiters(ctx context.Context, budget string, limit int) ([]domain.BudgetWait, error) {
	return budgets.Waiters(ctx, s.db.Q, budget, limit)
}
