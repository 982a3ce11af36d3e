package driver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// talker is a step with model calls of 10 tokens of input, and answers of as many tokens as it may have, at most 90.
type talker struct {
	turns int
	// begins is called when a call begins.
	begins func(c *engine.Call, turn int)

	mu     sync.Mutex
	calls  map[string]int // by run, step, item, and turn
	tokens int64
	models []string
}

func (*talker) Stepped() bool { return true }

func (k *talker) Handle(_ context.Context, c *engine.Call) (engine.Result, error) {
	for n := 1; n <= k.turns; n++ {
		most, model := int64(90), "big"
		need := engine.ExpectedUsage{Input: 10, Output: 90, InputPrice: 1, OutputPrice: 1, Agent: "clerk", Provider: "big",
			OnLimit: func(output int64) { most = min(most, output) }}
		need.Cheaper = func(to string) (engine.ExpectedUsage, bool) {
			cheaper := need
			cheaper.Provider, _, _ = strings.Cut(to, "/")
			cheaper.Degrade = func() { model = to }
			return cheaper, to != "none/none"
		}
		c.Expect(n, need)
		if _, err := c.Substep(n, "model", fmt.Sprint(n), walk.EffectIdempotent, func() (any, domain.Usage, error) {
			if k.begins != nil {
				k.begins(c, n)
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.calls[fmt.Sprint(c.Node.ID, c.Item, n)]++
			k.tokens += 10 + most
			k.models = append(k.models, model)
			return "said", domain.Usage{InputTokens: 10, OutputTokens: most, Cost: float64(10 + most)}, nil
		}); err != nil {
			return engine.Result{}, fmt.Errorf("model: %w", err)
		}
	}
	return engine.Result{Output: "agreed"}, nil
}

// talking returns a world whose steps of the type talk call models.
func talking(t *testing.T, turns int) (*drivertest.World, *talker) {
	t.Helper()
	k := &talker{turns: turns, calls: map[string]int{}}
	r := registry()
	r.Add("talk", walk.EffectIdempotent, k)
	return drivertest.New(t, r), k
}

// once reports calls that were not made once.
func (k *talker) once(t *testing.T) {
	t.Helper()
	for call, n := range k.calls {
		if n != 1 {
			t.Errorf("the call %s was made %d times", call, n)
		}
	}
}

// Parallel steps of a run share its limits: their calls together do not exceed them, and all use what is left. After a raise,
// they continue. Most of them wait for their answer at the same time.
func TestParallelStepsShareTheLimitsOfTheirRun(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]domain.Limits{"max_tokens": {MaxTokens: 450}, "max_cost": {MaxCost: 450}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := talking(t, 1)
			w.Limits = limits
			var all sync.WaitGroup
			all.Add(4) // of the calls, as many fit without a lower limit
			var mu sync.Mutex
			begun := 0
			k.begins = func(*engine.Call, int) {
				mu.Lock()
				begun++
				first := begun <= 4
				mu.Unlock()
				if first {
					all.Done()
					all.Wait()
				}
			}
			var waiting domain.Run
			w.At(time.Hour, func() {
				waiting = w.Current()
				w.Update(wire.ActUpdate, wire.Action{Actor: drivertest.Operator, Request: domain.ActionRequest{
					Action: domain.ActionLimits, Raise: domain.Limits{MaxTokens: 2000 * min(limits.MaxTokens, 1),
						MaxCost: 2000 * min(limits.MaxCost, 1)}}})
			})
			run := w.Run(`{"nodes": {"a": {"type": "talk", "foreach": "${input}", "max_parallel": 12}}}`, `[1,2,3,4,5,6,7,8,9,10,11,12]`)
			if run.Status != domain.RunCompleted || waiting.WaitReason != domain.WaitBudget || !strings.Contains(waiting.Headline, name) {
				t.Fatalf("%s after %s %q\n%s", run.Status, waiting.WaitReason, waiting.Headline, w.Reports.Text(run.ID))
			}
			if used := waiting.Usage; used.InputTokens+used.OutputTokens != 450 || used.Cost != 450 {
				t.Errorf("used %+v", used)
			}
			if k.once(t); run.Usage.InputTokens+run.Usage.OutputTokens != k.tokens || len(k.calls) != 12 {
				t.Errorf("%d calls used %d tokens, and not %+v", len(k.calls), k.tokens, run.Usage)
			}
			if kairosd, _ := w.Reports.Questions(); kairosd != 0 {
				t.Errorf("kairosd was asked %d times", kairosd)
			}
		})
	}
}

// A run without limits of tokens and cost, and whose calls no budget covers, asks nothing.
func TestACallThatNoBudgetCoversAsksNothing(t *testing.T) {
	t.Parallel()
	w, k := talking(t, 2)
	w.Reports.Budgets = ledgerOf(w, budgetOf("provider:other", 1), budgetOf("plan:other", 1), budgetOf("label:team=a", 1))
	run := w.Run(`{"id": "main", "nodes": {"a": {"type": "talk"}}}`, "")
	want(t, w, run, domain.RunCompleted, `"agreed"`)
	if kairosd, workflow := w.Reports.Questions(); kairosd+workflow != 0 || len(k.calls) != 2 || len(w.Reports.Charges()) != 0 {
		t.Errorf("%d and %d questions, %d calls", kairosd, workflow, len(k.calls))
	}
}

func budgetOf(scope string, hard float64) domain.Budget {
	return domain.Budget{ID: "id-" + scope, Key: scope, BudgetSpec: domain.BudgetSpec{Scope: scope, Period: "month", Zone: "UTC",
		Unit: domain.UnitTokens, Hard: hard}}
}

func ledgerOf(w *drivertest.World, list ...domain.Budget) *budget.Ledger {
	l := budget.NewLedger(func() time.Time { return w.Env.Now() }, func(string) {})
	l.Set(list)
	return l
}

// charged checks that each call was charged once, and returns the usage.
func charged(t *testing.T, w *drivertest.World) (tokens int64, estimated int) {
	t.Helper()
	var calls []string
	for _, c := range w.Reports.Charges() {
		if slices.Contains(calls, c.Call) {
			t.Errorf("the call %s was charged twice", c.Call)
		}
		if calls = append(calls, c.Call); c.Estimated {
			estimated++
		}
		if !c.Unused && len(c.Holds) != 1 {
			t.Errorf("the charge %+v has no hold", c)
		}
		tokens += c.Usage.InputTokens + c.Usage.OutputTokens
	}
	return tokens, estimated
}

// A shared budget refuses a call. The run waits for it, and continues when it has room. Each call counts once.
func TestASharedBudgetHolds(t *testing.T) {
	t.Parallel()
	w, k := talking(t, 5)
	shared := budgetOf("agent:clerk", 250)
	l := ledgerOf(w, shared)
	w.Reports.Budgets = l
	var waiting domain.Run
	w.At(time.Hour, func() {
		waiting = w.Current()
		shared.Hard = 1000
		l.Set([]domain.Budget{shared})
		w.Update(wire.FreedUpdate, wire.Freed{Budget: "another"})
		w.Update(wire.FreedUpdate, wire.Freed{Budget: shared.ID})
	})
	run := w.Run(`{"nodes": {"a": {"type": "talk"}}}`, "")
	if used := waiting.Usage; run.Status != domain.RunCompleted || waiting.WaitReason != domain.WaitBudget ||
		!strings.Contains(waiting.Headline, "budget agent:clerk is used up") || used.InputTokens+used.OutputTokens != 250 {
		t.Fatalf("%s after %s %q, %+v\n%s", run.Status, waiting.WaitReason, waiting.Headline, waiting.Usage, w.Reports.Text(run.ID))
	}
	k.once(t)
	if used, estimated := charged(t, w); used != k.tokens || estimated != 0 || l.Reserved(shared.ID) != 0 {
		t.Errorf("charged %d of %d tokens, %d estimated, %v reserved", used, k.tokens, estimated, l.Reserved(shared.ID))
	}
}

// A run learns of a budget with the report of its rows, and a run that began before it counts from then on. A child run learns
// of it from its parent.
func TestARunLearnsOfABudget(t *testing.T) {
	t.Parallel()
	w, k := talking(t, 1)
	l := ledgerOf(w)
	w.Reports.Budgets = l
	w.At(time.Hour, func() { l.Set([]domain.Budget{budgetOf("all", 1e6)}) })
	w.Save(`{"id": "inner", "nodes": {"d": {"type": "talk"}}}`)
	run := w.Run(`{"nodes": {"a": {"type": "talk"}, "b": {"type": "wait", "input": {"for": "2h"}},
		"w": {"type": "wait", "input": {"for": "1m"}},
		"c": {"type": "talk"}, "d": {"type": "plan", "plan": "inner"}},
		"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "w"}, {"from": "w", "to": "c"}, {"from": "c", "to": "d"}]}`, "")
	if used, _ := charged(t, w); run.Status != domain.RunCompleted || used != 200 || len(k.calls) != 3 {
		t.Errorf("%s, charged %d\n%s", run.Status, used, w.Reports.Text(run.ID))
	}
}

// From the degrade line on, calls go to the cheaper model. Without it, they stay.
func TestABudgetDegradesCalls(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{"small/m": "big small/m", "none/none": "big big"} {
		w, k := talking(t, 2)
		shared := budgetOf("provider:big", 0)
		shared.Degrade, shared.DegradeTo = 100, to
		w.Reports.Budgets = ledgerOf(w, shared, budgetOf("all", 1e6))
		run := w.Run(`{"nodes": {"a": {"type": "talk"}}}`, "")
		if got := strings.Join(k.models, " "); run.Status != domain.RunCompleted || got != want {
			t.Errorf("%s: %s with the models %s", to, run.Status, got)
		}
		text := w.Reports.Text(run.ID)
		noted := strings.Contains(text, "budget provider:big sent the call to small/m instead of provider big")
		if noted != (to == "small/m") {
			t.Errorf("%s: the rows are\n%s", to, text)
		}
	}
}

// The calls of a worker that was lost count with their reservations, and the step runs again.
func TestTheCallsOfALostWorkerCount(t *testing.T) {
	t.Parallel()
	w, k := talking(t, 2)
	l := ledgerOf(w, budgetOf("all", 1e6))
	w.Reports.Budgets = l
	lost := false
	k.begins = func(_ *engine.Call, turn int) {
		if turn == 2 && !lost {
			lost = true
			panic("the worker is lost during the call")
		}
	}
	w.AfterAttempt(func(a wire.Attempt) error {
		if a.Number == 1 {
			return errors.New("the worker was lost")
		}
		return nil
	})
	run := w.Run(`{"nodes": {"a": {"type": "talk"}}}`, "")
	want(t, w, run, domain.RunCompleted, `"agreed"`)
	if used, estimated := charged(t, w); used != 300 || estimated != 1 || l.Reserved("id-all") != 0 || run.Crashes != 1 {
		t.Errorf("charged %d, %d estimated, %v reserved, %d crashes", used, estimated, l.Reserved("id-all"), run.Crashes)
	}
}

// A run that is cancelled while a call waits for kairosd ends, and the call counts as unused.
func TestACancelledRunDoesNotWaitForKairosd(t *testing.T) {
	t.Parallel()
	w, _ := talking(t, 1)
	l := ledgerOf(w, budgetOf("all", 100))
	if _, wait, refused := l.Reserve(budget.Call{Run: "other"}, budget.Need{Input: 10, Output: 90}, false); wait || refused != nil {
		t.Fatal(wait, refused)
	}
	w.Reports.Budgets = l
	asked := 0
	w.Reports.OnReserve = func() {
		if asked++; asked == 3 { // it waits for the call of the other run
			w.At(0, func() {
				w.Update(wire.ActUpdate, wire.Action{Actor: drivertest.Operator,
					Request: domain.ActionRequest{Action: domain.ActionCancel}})
			})
		}
	}
	run := w.Run(`{"nodes": {"a": {"type": "talk"}}}`, "")
	if run.Status != domain.RunCancelled || run.Usage.InputTokens != 0 || l.Reserved("id-all") != 100 {
		t.Errorf("%s, %+v, %v reserved", run.Status, run.Usage, l.Reserved("id-all"))
	}
	if list := w.Reports.Charges(); len(list) != 1 || !list[0].Unused {
		t.Errorf("charges %+v", list)
	}
}
