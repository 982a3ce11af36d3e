package runledger

import (
	"testing"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

func model(input, output int64) Need {
	return Need{Need: budget.Need{Input: input, Output: output}, Provider: "p"}
}

// Calls in flight share the limits of their run. A call that does not fit next to the others waits.
// A call that does not fit alone is refused.
func TestLedgerReserves(t *testing.T) {
	t.Parallel()
	limits := domain.Limits{MaxTokens: 100}
	one, two := new(runstate.Attempt), new(runstate.Attempt)
	var l Ledger
	output, wait, refused := l.Reserve(one, 1, model(10, 50), limits, runstate.Spent{})
	if output != 50 || wait || refused != nil {
		t.Fatalf("the first call: %d, %v, %v", output, wait, refused)
	}
	if _, wait, refused = l.Reserve(two, 1, model(10, 50), limits, runstate.Spent{}); !wait || refused != nil {
		t.Fatalf("beside it: %v, %v", wait, refused)
	}
	if _, _, refused = l.Reserve(two, 1, model(100, 50), limits, runstate.Spent{}); refused == nil || refused.Message.IsZero() {
		t.Fatalf("more input than the limit: %v", refused)
	}
	if _, wait, refused = l.Reserve(two, 2, Need{}, limits, runstate.Spent{}); wait || refused != nil || len(l.held) != 1 {
		t.Fatalf("a tool uses no tokens: %v, %v", wait, refused)
	}
	row := domain.Entry{Usage: domain.Usage{InputTokens: 10, OutputTokens: 5}}
	if _, _, over := l.Close(one, 1, limits, false, &row); over || row.Usage.OutputTokens != 5 || row.Reason != "" || row.Provider != "p" {
		t.Errorf("a reported usage stays: %+v", row)
	}
	// The answer may use the rest of the limit.
	if output, _, refused = l.Reserve(two, 1, model(10, 500), limits, runstate.Spent{Usage: row.Usage}); output != 75 || refused != nil {
		t.Errorf("output %d, %v", output, refused)
	}
	// A call that asks again has one reservation.
	if output, _, refused = l.Reserve(two, 1, model(10, 20), domain.Limits{}, runstate.Spent{}); output != 0 || len(l.held) != 1 {
		t.Errorf("output %d, %v, %d reservations", output, refused, len(l.held))
	}
}

// A call that did not report its usage counts with its reservation.
func TestLedgerCountsUnreportedCalls(t *testing.T) {
	t.Parallel()
	limits := domain.Limits{MaxTokens: 100}
	at := new(runstate.Attempt)
	var l Ledger
	reserve := func(n int) {
		t.Helper()
		if _, wait, refused := l.Reserve(at, n, model(10, 20), limits, runstate.Spent{}); wait || refused != nil {
			t.Fatal(wait, refused)
		}
	}
	reserve(1)
	var row domain.Entry
	if l.Close(at, 1, limits, true, &row); row.Usage.InputTokens != 10 || row.Usage.OutputTokens != 20 || row.Reason == "" {
		t.Errorf("unreported: %+v", row)
	}
	reserve(2)
	row = domain.Entry{Usage: domain.Usage{InputTokens: 10, OutputTokens: 30}}
	if _, reserved, over := l.Close(at, 2, limits, false, &row); reserved != 30 || !over || row.Usage.OutputTokens != 30 {
		t.Errorf("more than reserved: %d, %v, %+v", reserved, over, row)
	}
	reserve(3)
	reserve(4)
	for n, want := range map[int]bool{3: true, 4: true, 5: false} {
		if _, ok := l.Lose(at, n, n != 4); ok != want {
			t.Errorf("call %d was lost: %t", n, ok)
		}
	}
	if live, lost := l.sums(); live.Tokens != 0 || lost.Tokens != 30 {
		t.Errorf("live %d, lost %d", live.Tokens, lost.Tokens)
	}
	if u, _, _, ok := l.Settle(at, limits); !ok || u.InputTokens != 10 || u.OutputTokens != 20 || len(l.held) != 0 {
		t.Errorf("settled with %+v", u)
	}
}

// A call of shared budgets ends with one charge: with its row, as unused, or with its attempt.
func TestLedgerChargesSharedBudgets(t *testing.T) {
	t.Parallel()
	at := new(runstate.Attempt)
	var l Ledger
	for n := 1; n <= 3; n++ {
		l.Reserve(at, n, model(10, 20), domain.Limits{}, runstate.Spent{})
		l.Share(at, n, Share{Call: string(rune('a' + n)), Covered: true, Note: "cheaper",
			Holds: []domain.BudgetHold{{Amount: 30}}}, 15, model(10, 20))
	}
	row := domain.Entry{Usage: domain.Usage{InputTokens: 9, OutputTokens: 8}}
	charge, reserved, _ := l.Close(at, 1, domain.Limits{}, false, &row)
	if charge.Call != "b" || charge.Usage != row.Usage || charge.Estimated || len(charge.Holds) != 1 || reserved != 25 ||
		row.Reason != "cheaper" {
		t.Errorf("%+v, %d reserved, row %+v", charge, reserved, row)
	}
	if charge, ok := l.Lose(at, 2, false); !ok || charge.Call != "c" || !charge.Unused {
		t.Errorf("unused: %+v", charge)
	}
	u, provider, charges, _ := l.Settle(at, domain.Limits{})
	if len(charges) != 1 || charges[0].Call != "d" || !charges[0].Estimated || u.OutputTokens != 15 || provider != "p" {
		t.Errorf("settled with %+v of %s: %+v", u, provider, charges)
	}
}
