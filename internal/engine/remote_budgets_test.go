package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner/walk"
)

// waitingElsewhere begins runs that are executed elsewhere, and wait for a person.
func waitingElsewhere(t *testing.T, e *enginetest.Engine, n int) (runs []domain.Run) {
	t.Helper()
	v := e.Save(paymentPlan)
	for range n {
		runs = append(runs, e.Until(e.Begin(v, "null").ID, domain.RunWaiting, domain.WaitApproval))
	}
	return runs
}

// asks is the question of the first call of a run, with 10 tokens of input, and an answer of at most 90.
func asks(run domain.Run) runledger.SharedAsk {
	return runledger.SharedAsk{Call: budget.Call{ID: budget.CallID(run.ID, "a", 1, -1, 1, 1, run.LastSeq), Run: run.ID, Plan: run.PlanKey},
		Need: budget.Need{Input: 10, Output: 90}}
}

func askShared(t *testing.T, e *enginetest.Engine, q runledger.SharedAsk) runledger.SharedAnswer {
	t.Helper()
	a, err := engine.RecordsOf(e.Engine).Reserve(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// reportCall reports a row of a run with what a call has used.
func reportCall(t *testing.T, e *enginetest.Engine, run domain.Run, c domain.Checkpoint) {
	t.Helper()
	c.Run, c.Fence = run.ID, run.LastSeq
	c.Entries = []domain.Entry{{Kind: domain.EntryAction, Item: runstate.NoItem, At: run.CreatedAt, Actor: "system",
		Decision: runstate.RunActionDecision{Action: runstate.RunActionCrash}.JSON()}}
	for range 2 { // a report may be repeated
		if err := engine.RecordsOf(e.Engine).Add(t.Context(), engine.Report{Run: run.ID, Checkpoints: []domain.Checkpoint{c}}); err != nil {
			t.Fatal(err)
		}
	}
}

func usageOf(tokens int64) domain.Usage {
	return domain.Usage{InputTokens: 10, OutputTokens: tokens - 10}
}

// A reservation of a run that is executed elsewhere survives a restart. A repeated question has the same answer, and other runs
// wait for the call. Its report counts it once, with what it has used.
func TestAReservationSurvivesARestart(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, echo))
	runs := waitingElsewhere(t, e, 2)
	b := share(t, e, 150)
	first := askShared(t, e, asks(runs[0]))
	if first.Wait || first.Refused != nil || len(first.Holds) != 1 || first.Output != 90 || !first.Bounded {
		t.Fatalf("%+v", first)
	}
	e = w.restart(func() {})
	again := askShared(t, e, asks(runs[0]))
	if again.Output != 90 || !again.Bounded || len(again.Holds) != 1 || again.Call != first.Call ||
		e.Timed().ReservedFromBudget(b.ID) != 100 {
		t.Fatalf("after a restart: %+v, %v reserved", again, e.Timed().ReservedFromBudget(b.ID))
	}
	answers := make(chan runledger.SharedAnswer)
	go func() {
		a, err := engine.RecordsOf(e.Engine).Reserve(context.Background(), asks(runs[1]))
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	reportCall(t, e, runs[0], domain.Checkpoint{Charges: []domain.BudgetCharge{{Call: first.Call, Usage: usageOf(40), Holds: first.Holds}}})
	if second := <-answers; second.Output != 90 || second.Wait {
		t.Errorf("the call that waited: %+v", second)
	}
	for range 2 {
		if w := window(t, e, b.ID); w.Used != 40 || w.Calls != 1 || w.Estimated != 0 || e.Timed().ReservedFromBudget(b.ID) != 100 {
			t.Errorf("window %+v, %v reserved", w, e.Timed().ReservedFromBudget(b.ID))
		}
		e = w.restart(func() {})
	}
	if refused := askShared(t, e, runledger.SharedAsk{Call: budget.Call{ID: runs[1].ID + "/x", Run: runs[1].ID},
		Need: budget.Need{Input: 200, Output: 1}}).Refused; refused == nil || refused.Budget.Key != "all" || refused.Budget.Least != 201 {
		t.Errorf("a call that does not fit: %+v", refused)
	}
}

// The report of a call counts it, also if the database was restored from a backup that lacks its reservation.
func TestAReportCountsACallWithoutItsReservation(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, echo))
	run := waitingElsewhere(t, e, 1)[0]
	b := share(t, e, 150)
	granted := askShared(t, e, asks(run))
	e = w.restart(func() {
		if err := e.Store.ChargeBudgets(t.Context(), []domain.BudgetCharge{{Call: granted.Call, Unused: true}}); err != nil {
			t.Fatal(err)
		}
	})
	if e.Timed().ReservedFromBudget(b.ID) != 0 {
		t.Fatal("the reservation is still there")
	}
	reportCall(t, e, run, domain.Checkpoint{Charges: []domain.BudgetCharge{{Call: granted.Call, Usage: usageOf(40), Holds: granted.Holds}}})
	if refused := askShared(t, e, runledger.SharedAsk{Call: budget.Call{ID: run.ID + "/x", Run: run.ID},
		Need: budget.Need{Input: 110, Output: 1}}).Refused; refused == nil {
		t.Error("the ledger does not count the call")
	}
	if w := window(t, e, b.ID); w.Used != 40 || w.Calls != 1 || w.Estimated != 0 {
		t.Errorf("window %+v", w)
	}
}

// What a run has reserved counts when it ends without a report of the call, when it is lost, and at a start after that. A call
// that was not made does not count, also if its reservation arrives later.
func TestReservationsOfEndedRunsCount(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, echo))
	runs := waitingElsewhere(t, e, 4)
	b := share(t, e, 1000)
	for _, run := range runs[:3] {
		askShared(t, e, asks(run))
	}
	late := asks(runs[3])
	reportCall(t, e, runs[3], domain.Checkpoint{Charges: []domain.BudgetCharge{{Call: late.ID, Unused: true}}})
	if _, err := engine.RecordsOf(e.Engine).Reserve(t.Context(), late); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a call that was not made: %v", err)
	}
	if _, err := e.Do(runs[0].ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.RecordsOf(e.Engine).Reserve(t.Context(), asks(runs[0])); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a call of a run that has ended: %v", err)
	}
	if err := engine.RecordsOf(e.Engine).Lost(t.Context(), runs[1].ID, domain.Messagef("its workflow is gone")); err != nil {
		t.Fatal(err)
	}
	e = w.restart(func() { // as if kairosd had ended between the end of a run and its charge
		for run, amount := range map[string]float64{runs[0].ID: 5, "not-reported-yet": 7} {
			if err := e.Store.HoldBudgets(t.Context(), []domain.BudgetHold{{Call: run + "/late", Budget: b.ID,
				Start: window(t, e, b.ID).Start, End: window(t, e, b.ID).End, Amount: amount}}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if w := window(t, e, b.ID); w.Used != 205 || w.Calls != 3 || w.Estimated != 205 || e.Timed().ReservedFromBudget(b.ID) != 107 {
		t.Errorf("window %+v, %v reserved", w, e.Timed().ReservedFromBudget(b.ID))
	}
}

// Runs that are executed elsewhere and wait for a budget are woken when it has room: after a raise, also one that they or kairosd
// missed, and after its deletion.
func TestRunsElsewhereAreWokenWhenABudgetHasRoom(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, echo))
	woken := make(chan string, 10)
	w.freed = func(run string, ev *runstate.BudgetFreed) error {
		woken <- run
		return nil
	}
	runs := waitingElsewhere(t, e, 4)
	b := share(t, e, 100)
	full := askShared(t, e, asks(runs[3]))
	reportCall(t, e, runs[3], domain.Checkpoint{Charges: []domain.BudgetCharge{{Call: full.Call, Usage: usageOf(100), Holds: full.Holds}}})
	park := func(run domain.Run) {
		t.Helper()
		refused := askShared(t, e, asks(run)).Refused
		if refused == nil || refused.Budget.ID != b.ID {
			t.Fatalf("%+v", refused)
		}
		reportCall(t, e, run, domain.Checkpoint{BudgetWait: &domain.BudgetWait{Budget: b.ID, Since: time.Now(), Start: refused.Budget.Start,
			Until: refused.Budget.Until, Least: refused.Budget.Least}})
	}
	park(runs[0])
	park(runs[1])
	select {
	case run := <-woken:
		t.Fatalf("run %s was woken without room", run)
	default:
	}
	raiseBudget(t, e, b.ID, 11) // for one of them
	if run := <-woken; run != runs[0].ID {
		t.Errorf("run %s was woken, and not the oldest", run)
	}
	e = w.restart(func() {})
	if run := <-woken; run != runs[0].ID {
		t.Errorf("after a restart, run %s was woken", run)
	}
	refused := askShared(t, e, runledger.SharedAsk{Call: budget.Call{ID: runs[2].ID + "/x", Run: runs[2].ID},
		Need: budget.Need{Input: 30, Output: 1}}).Refused
	raiseBudget(t, e, b.ID, 0.0)
	<-woken
	reportCall(t, e, runs[2], domain.Checkpoint{BudgetWait: &domain.BudgetWait{Budget: b.ID, Since: time.Now(), Start: refused.Budget.Start,
		Until: refused.Budget.Until, Least: 11}}) // there was a raise before its report
	if run := <-woken; run != runs[2].ID {
		t.Errorf("run %s was woken after its report", run)
	}
	changeBudget(t, e, b.ID, func(tx *store.Tx) error { return tx.Budgets().Delete(b.ID) })
	all := map[string]bool{<-woken: true, <-woken: true, <-woken: true}
	if len(all) != 3 {
		t.Errorf("woken after the deletion: %v", all)
	}
}

// A run learns which budgets exist.
func TestRunsElsewhereLearnOfBudgets(t *testing.T) {
	t.Parallel()
	e, _ := openElsewhere(t, enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, echo))
	none := engine.RecordsOf(e.Engine).Budgets()
	b := share(t, e, 100)
	one := engine.RecordsOf(e.Engine).Budgets()
	changeBudget(t, e, b.ID, func(tx *store.Tx) error { return tx.Budgets().Delete(b.ID) })
	if none.Digest == "" || one.Digest == none.Digest || len(one.List) != 1 || engine.RecordsOf(e.Engine).Budgets().Digest != none.Digest {
		t.Errorf("%+v, then %+v", none, one)
	}
}
