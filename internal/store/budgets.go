package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/budgets"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Budgets returns the budgets of the transaction.
func (tx *Tx) Budgets() budgets.Tx { return budgets.New(tx.w.ctx, tx.w.q, tx.op.At) }

// charge ends the reservations of model calls in budgets, and begins or ends the wait of the run.
func (p *prepared) charge(w *writer) (rows []auditRow, err error) {
	records, err := budgets.New(w.ctx, w.q, w.s.now()).Checkpoint(p.rowID, p.c.Charges, p.c.BudgetWait)
	for _, r := range records {
		rows = append(rows, auditRow{record: r})
	}
	return rows, err
}

// budgets performs work on budgets that belongs to no operation.
func (s schedules) budgets(name string, f func(tx budgets.Tx) ([]domain.AuditRecord, error)) error {
	_, _, err := s.store.Do(s.store.by(name, domain.System), func(tx *Tx) (string, error) {
		records, err := f(tx.Budgets())
		for _, r := range records {
			tx.records = append(tx.records, auditRow{record: r})
		}
		return "", err
	})
	return core.Translate(err, name)
}

// HoldBudgets stores what a call is about to use.
func (s schedules) HoldBudgets(_ context.Context, holds []domain.BudgetHold) error {
	return s.budgets("reserve from budgets", func(tx budgets.Tx) ([]domain.AuditRecord, error) { return nil, tx.Hold(holds) })
}

// ChargeBudgets ends the reservations of calls.
func (s schedules) ChargeBudgets(_ context.Context, charges []domain.BudgetCharge) error {
	return s.budgets("charge budgets", func(tx budgets.Tx) ([]domain.AuditRecord, error) { return tx.Charge(charges) })
}

// LoseBudgetCalls charges the calls that a crash interrupted with what they reserved.
func (s schedules) LoseBudgetCalls(context.Context) error {
	if s.store.writer == nil {
		return nil
	}
	return s.budgets("charge interrupted calls", budgets.Tx.Lose)
}
