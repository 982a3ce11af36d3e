package store

import (
	"context"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

const dayLength = 24 * time.Hour

// everySpendQuery adds usage of a run with the label case=4712: now, and at times whose sums are not kept in full.
func everySpendQuery(t *testing.T, s *Store, run string, must func(string, error)) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	row, err := s.db.RowID(ctx, run)
	must("row", err)
	must("add to the spend", s.writer.perform(func(w *writer) ([]auditRow, error) {
		for _, age := range []time.Duration{0, 100 * dayLength, 500 * dayLength} {
			add := dbsqlc.SpendAddParams{Slot: core.SlotOf(now.Add(-age).UnixMicro()), Agent: "writer", Provider: "p", Model: "m",
				Calls: 1, InputTokens: 3, OutputTokens: 4, Cost: 0.5}
			if err := w.tally.spend.Add(w.ctx, w.q, row, 1, []dbsqlc.SpendAddParams{add}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}))
	sums := func(since, period time.Duration, label string, want int) {
		t.Helper()
		r := domain.SpendRead{Since: now.Add(-since), Period: period, Labels: label != "", Label: label}
		list, from, err := s.Spend(ctx, r)
		if must("spend", err); len(list) != want || from.After(r.Since) {
			t.Errorf("since %s, per %s, label %q: %+v from %s", since, period, label, list, from)
		}
		for _, e := range list {
			if e.Agent != "writer" || e.Provider != "p" || e.Usage.Cost != 0.5 || label != "" && e.Label != "case=4712" {
				t.Errorf("%+v", e)
			}
		}
	}
	seeded := func(seed domain.BudgetSeed, want float64) {
		t.Helper()
		b := domain.Budget{ID: domain.NewID(), Key: "seeded", BudgetSpec: domain.BudgetSpec{Scope: "all", Period: "day", Zone: "UTC",
			Unit: "tokens", Hard: 100}, Window: domain.BudgetWindow{Start: now.Add(-110 * dayLength), End: now.Add(dayLength)}}
		tx := func(f func(tx *Tx) error) {
			_, _, err := s.Do(s.by("budget", domain.System), func(tx *Tx) (string, error) { return "", f(tx) })
			must("budget", err)
		}
		tx(func(tx *Tx) error { return tx.Budgets().Create(b, &seed) })
		stored, err := s.Budget(ctx, b.ID)
		if must("budget", err); stored.Window.Used != want {
			t.Errorf("a budget of %+v begins with %v, want %v", seed, stored.Window.Used, want)
		}
		tx(func(tx *Tx) error { return tx.Budgets().Delete(b.ID) })
	}
	sums(time.Hour, domain.OutcomeSlot, "", 1)
	sums(time.Hour, 2*time.Hour, "case", 1)
	sums(600*dayLength, dayLength, "", 3)
	sums(600*dayLength, 2*time.Hour, "", 3)
	sums(600*dayLength, dayLength, "case", 3)
	sums(600*dayLength, dayLength, "color", 0)
	for seed, want := range map[domain.BudgetSeed]float64{
		{}: 14, {Provider: "p"}: 14, {Agent: "writer"}: 14, {Plan: "p"}: 14, {Label: "case", Value: "4712"}: 14, {Provider: "q"}: 0,
		{Agent: "other"}: 0, {Plan: "other"}: 0, {Label: "case", Value: "4711"}: 0,
	} {
		seeded(seed, want)
	}
	must("expire", s.Expire(ctx))
	sums(600*dayLength, 2*time.Hour, "", 1)
	sums(600*dayLength, dayLength, "", 3)
	sums(600*dayLength, dayLength, "case", 2)
}

// A list reads at most 50,000 sums. It leaves out the oldest periods, and reports where it begins.
func TestALongSpendIsCut(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	putVersion(t, s, "p", "h")
	now := time.Now().UTC().Truncate(dayLength)
	if err := s.writer.perform(func(w *writer) ([]auditRow, error) {
		_, err := w.conn.ExecContext(context.Background(), `WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 60000)
			INSERT INTO spend SELECT 1, ? - x / 1000, 1, '', '', x % 1000, 1, 1, 1, 1 FROM n`, now.Unix()/86400)
		return nil, err
	}); err != nil {
		t.Fatal(err)
	}
	list, from, err := s.Spend(t.Context(), domain.SpendRead{Since: now.Add(-70 * dayLength), Period: dayLength})
	if err != nil || len(list) != 50_000 || !from.Equal(now.Add(-49*dayLength)) {
		t.Errorf("%d sums from %s, %v", len(list), from, err)
	}
}
