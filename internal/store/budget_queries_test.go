package store

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// everyBudgetQuery creates a budget, uses it for a run of a version, and deletes it.
func everyBudgetQuery(t *testing.T, s *Store, v domain.Version, must func(string, error)) {
	t.Helper()
	ctx := t.Context()
	start := time.Date(2030, 1, 31, 0, 0, 0, 0, time.UTC)
	b := domain.Budget{ID: domain.NewID(), Key: "team", BudgetSpec: domain.BudgetSpec{Scope: "all", Period: "day", Zone: "UTC",
		Unit: "tokens", Soft: 5, Degrade: 6, Hard: 10, DegradeTo: "p/m"}, Actor: "t",
		Window: domain.BudgetWindow{Start: start, End: start.AddDate(0, 0, 1)}}
	do := func(name string, f func(tx *Tx) error) {
		t.Helper()
		_, _, err := s.Do(s.by(name, domain.System), func(tx *Tx) (string, error) { return "", f(tx) })
		must(name, err)
	}
	do("create", func(tx *Tx) error { return tx.Budgets().Create(b, &domain.BudgetSeed{Plan: "none"}) })
	if _, _, err := s.Do(s.by("create", domain.System), func(tx *Tx) (string, error) {
		return "", tx.Budgets().Create(b, nil)
	}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a second budget with its key: %v", err)
	}
	do("raise", func(tx *Tx) error { return tx.Budgets().Raise(b.ID, b.Window.Start, b.Window.End, 3) })
	b.Hard = 12
	do("change", func(tx *Tx) error { return tx.Budgets().Change(b) })
	hold := domain.BudgetHold{Call: "one", Budget: b.ID, Start: b.Window.Start, End: b.Window.End, Amount: 8}
	for range 2 { // a repeated reservation counts once
		must("hold", s.HoldBudgets(ctx, []domain.BudgetHold{hold}))
	}
	held, err := s.BudgetHolds(ctx)
	if must("holds", err); len(held) != 1 || held[0] != hold {
		t.Errorf("%+v", held)
	}
	must("lose", s.LoseBudgetCalls(ctx))
	must("hold", s.HoldBudgets(ctx, []domain.BudgetHold{hold, {Call: "one", Budget: "deleted"}}))
	run, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t"})
	must("start", err)
	must("charge", s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: run.LastSeq,
		Charges:    []domain.BudgetCharge{{Call: "one", Usage: domain.Usage{InputTokens: 2, OutputTokens: 1}}},
		BudgetWait: &domain.BudgetWait{Budget: b.ID, Since: start, Start: b.Window.Start, Until: b.Window.End, Least: 4}}))
	must("charge again", s.ChargeBudgets(ctx, []domain.BudgetCharge{{Call: "one", Usage: domain.Usage{InputTokens: 2}}}))
	again := hold
	again.Call = "restored"
	must("charge without the hold", s.ChargeBudgets(ctx, []domain.BudgetCharge{{Call: again.Call, Unused: true,
		Holds: []domain.BudgetHold{again}}, {Call: again.Call, Usage: domain.Usage{InputTokens: 1},
		Holds: []domain.BudgetHold{again, {Budget: "deleted"}}}}))
	list, err := s.Budgets(ctx)
	if must("list", err); len(list) != 1 || list[0].Waiting != 1 || list[0].Hard != 12 || list[0].Rev != 3 {
		t.Fatalf("%+v", list)
	}
	if w := list[0].Window; w.Used != 12 || w.Estimated != 8 || w.Calls != 3 || w.Extra != 3 || w.SoftAt.IsZero() ||
		w.DegradeAt.IsZero() ||
		w.HardAt.IsZero() || !w.Start.Equal(start) {
		t.Errorf("%+v", w)
	}
	waiters, err := s.BudgetWaiters(ctx, b.ID, 10)
	if must("waiters", err); len(waiters) != 1 || waiters[0].Run != run.ID || waiters[0].Least != 4 ||
		!waiters[0].Until.Equal(b.Window.End) {
		t.Errorf("%+v", waiters)
	}
	must("end the wait", s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: run.LastSeq, BudgetWait: &domain.BudgetWait{}}))
	windows, err := s.BudgetWindows(ctx, "team", 10)
	if must("windows", err); len(windows) != 1 {
		t.Errorf("%+v", windows)
	}
	do("delete", func(tx *Tx) error { return tx.Budgets().Delete(b.ID) })
	if _, err := s.Budget(ctx, "team"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a deleted budget: %v", err)
	}
}
