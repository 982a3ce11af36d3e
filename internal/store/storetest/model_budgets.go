package storetest

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// noBudgets is a store without budgets.
type noBudgets struct{}

func (noBudgets) Budgets(context.Context) ([]domain.Budget, error) { return nil, nil }

func (noBudgets) HoldBudgets(context.Context, []domain.BudgetHold) error { return nil }

func (noBudgets) ChargeBudgets(context.Context, []domain.BudgetCharge) error { return nil }

func (noBudgets) LoseBudgetCalls(context.Context) error { return nil }

func (noBudgets) BudgetHolds(context.Context) ([]domain.BudgetHold, error) { return nil, nil }

func (noBudgets) BudgetWaiters(context.Context, string, int) ([]domain.BudgetWait, error) {
	return nil, nil
}
