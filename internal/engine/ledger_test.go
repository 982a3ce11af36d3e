package engine

import (
	"errors"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// Calls in flight share the limits of their run. A call that does not fit next to the others waits.
// A call that does not fit alone is refused.
func TestLedgerReserves(t *testing.T) {
	t.Parallel()
	limits := domain.Limits{MaxTokens: 100}
	one, two := new(attempt), new(attempt)
	var c ledger
	output, wait, err := c.reserve(one, 1, ExpectedUsage{Input: 10, Output: 50}, limits, runstate.Spent{})
	if output != 50 || wait || err != nil {
		t.Fatalf("the first call: %d, %v, %v", output, wait, err)
	}
	if _, wait, err = c.reserve(two, 1, ExpectedUsage{Input: 10, Output: 50}, limits, runstate.Spent{}); !wait || err != nil {
		t.Fatalf("beside it: %v, %v", wait, err)
	}
	if _, _, err = c.reserve(two, 1, ExpectedUsage{Input: 100, Output: 50}, limits, runstate.Spent{}); !errors.Is(err, ErrBudget) {
		t.Fatalf("more input than the limit: %v", err)
	}
	if _, wait, err = c.reserve(two, 2, ExpectedUsage{}, limits, runstate.Spent{}); wait || err != nil || len(c.reserved[two]) != 0 {
		t.Fatalf("a tool uses no tokens: %v, %v", wait, err)
	}
	row := domain.Entry{Usage: domain.Usage{InputTokens: 10, OutputTokens: 5}}
	if _, over := c.close(one, 1, limits, false, &row); over || row.Usage.OutputTokens != 5 || row.Reason != "" {
		t.Errorf("a reported usage stays: %+v", row)
	}
	// The answer may use the rest of the limit.
	if output, _, err = c.reserve(two, 1, ExpectedUsage{Input: 10, Output: 500}, limits, runstate.Spent{Usage: row.Usage}); output != 75 ||
		err != nil {
		t.Errorf("output %d, %v", output, err)
	}
}

// A call that did not report its usage counts with its reservation.
func TestLedgerCountsUnreportedCalls(t *testing.T) {
	t.Parallel()
	limits := domain.Limits{MaxTokens: 100}
	at := new(attempt)
	var c ledger
	reserve := func(n int) {
		t.Helper()
		if _, wait, err := c.reserve(at, n, ExpectedUsage{Input: 10, Output: 20}, limits, runstate.Spent{}); wait || err != nil {
			t.Fatal(wait, err)
		}
	}
	reserve(1)
	var row domain.Entry
	if c.close(at, 1, limits, true, &row); row.Usage.InputTokens != 10 || row.Usage.OutputTokens != 20 || row.Reason == "" {
		t.Errorf("unreported: %+v", row)
	}
	reserve(2)
	row = domain.Entry{Usage: domain.Usage{InputTokens: 10, OutputTokens: 30}}
	if reserved, over := c.close(at, 2, limits, false, &row); reserved.tokens != 30 || !over || row.Usage.OutputTokens != 30 {
		t.Errorf("more than reserved: %d, %v, %+v", reserved.tokens, over, row)
	}
	reserve(3)
	reserve(4)
	for n, want := range map[int]bool{3: true, 4: true, 5: false} {
		if _, ok := c.lose(at, n, n != 4); ok != want {
			t.Errorf("call %d was lost: %t", n, ok)
		}
	}
	if live, lost := c.sums(); live.tokens != 0 || lost.tokens != 30 {
		t.Errorf("live %d, lost %d", live.tokens, lost.tokens)
	}
	if u, _, _ := c.settle(at, limits); u.InputTokens != 10 || u.OutputTokens != 20 || len(c.reserved) != 0 {
		t.Errorf("settled with %+v", u)
	}
}
