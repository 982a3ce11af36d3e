package budget_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
)

func tokens(key, scope string, hard float64) domain.Budget {
	return domain.Budget{ID: key, Key: key, BudgetSpec: domain.BudgetSpec{Scope: scope, Period: "day", Zone: "UTC", Unit: "tokens",
		Hard: hard}}
}

// ledger returns a ledger whose clock is now, and the runs that it woke.
func ledger(list ...domain.Budget) (l *budget.Ledger, now *time.Time, woken *[]string) {
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	var runs []string
	l = budget.NewLedger(func() time.Time { return at }, func(run string) { runs = append(runs, run) })
	l.Set(list)
	return l, &at, &runs
}

// A call reserves from each budget that covers it. A call that does not fit next to calls in flight waits, and is woken when one
// ends. A call that does not fit alone is refused, with the budget and the time of the next window.
func TestCallsShareBudgets(t *testing.T) {
	t.Parallel()
	l, _, woken := ledger(tokens("team", "label:team=a", 100), tokens("all", "all", 1000))
	a := budget.Call{Run: "a", Labels: map[string]string{"team": "a"}}
	g, wait, refusal := l.Reserve(a, budget.Need{Input: 10, Output: 50}, false)
	if wait || refusal != nil || len(g.Holds) != 2 || g.Output != 50 || !g.Bounded || l.Reserved("team") != 60 ||
		l.Reserved("all") != 60 {
		t.Fatalf("%+v %t %+v", g, wait, refusal)
	}
	b := a
	b.Run = "b"
	if _, wait, refusal := l.Reserve(b, budget.Need{Input: 10, Output: 50}, false); !wait || refusal != nil {
		t.Fatalf("next to it: %t %+v", wait, refusal)
	}
	if _, wait, _ := l.Reserve(budget.Call{Run: "c"}, budget.Need{Input: 10, Output: 50}, false); wait {
		t.Error("a call of another team waits")
	}
	if !l.Settle(domain.BudgetCharge{Call: g.Call, Usage: domain.Usage{InputTokens: 10, OutputTokens: 30}}) || len(*woken) != 1 ||
		(*woken)[0] != "b" {
		t.Errorf("woken %v", *woken)
	}
	if l.Settle(domain.BudgetCharge{Call: g.Call, Usage: domain.Usage{InputTokens: 10, OutputTokens: 30}}) {
		t.Error("a call counts twice")
	}
	if g, _, _ = l.Reserve(b, budget.Need{Input: 10, Output: 90}, false); g.Output != 50 {
		t.Errorf("the answer may use what is left: %+v", g)
	}
	l.Settle(domain.BudgetCharge{Call: g.Call, Estimated: true})
	_, _, refusal = l.Reserve(b, budget.Need{Input: 1, Output: 1}, false)
	if refusal == nil || refusal.Key != "team" || refusal.Least != 2 || !strings.Contains(refusal.Message.String(),
		"budget team is used up") ||
		!refusal.End.Equal(time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)) {
		t.Fatalf("%+v", refusal)
	}
	if g, _, refusal := l.Reserve(b, budget.Need{Input: 1, Output: 1}, true); refusal != nil || g.Call == "" || g.Bounded {
		t.Errorf("a call that no line prevents: %+v %+v", g, refusal)
	}
	if _, _, refusal := l.Reserve(budget.Call{Run: "d"}, budget.Need{Input: 1, Output: 1}, false); refusal != nil {
		t.Errorf("a call of no team: %+v", refusal)
	}
}

// A raise makes room in the window, and a new window begins without usage. Calls of the window before do not count in it.
func TestARaiseAndANewWindowMakeRoom(t *testing.T) {
	t.Parallel()
	b := tokens("all", "all", 10)
	l, now, _ := ledger(b)
	c, need := budget.Call{Run: "a"}, budget.Need{Input: 4, Output: 6}
	g, _, _ := l.Reserve(c, need, false)
	l.Settle(domain.BudgetCharge{Call: g.Call, Usage: domain.Usage{InputTokens: 10}})
	_, _, refusal := l.Reserve(c, need, false)
	if refusal == nil || l.HasRoom("all", refusal.Start, refusal.Least) {
		t.Fatalf("%+v", refusal)
	}
	b.Window = domain.BudgetWindow{Start: refusal.Start, End: refusal.End, Extra: 4}
	if l.Set([]domain.Budget{b}); l.HasRoom("all", refusal.Start, refusal.Least) {
		t.Error("a raise below the need")
	}
	b.Window.Extra = 5
	if l.Set([]domain.Budget{b}); !l.HasRoom("all", refusal.Start, refusal.Least) {
		t.Error("no room after a raise")
	}
	g, _, refusal = l.Reserve(c, need, false)
	if refusal != nil || g.Output != 1 {
		t.Fatalf("%+v %+v", g, refusal)
	}
	*now = now.Add(24 * time.Hour)
	if l.Reserved("all") != 0 {
		t.Error("a call of yesterday is reserved today")
	}
	l.Settle(domain.BudgetCharge{Call: g.Call, Usage: domain.Usage{InputTokens: 5}})
	if g, _, _ = l.Reserve(c, need, false); g.Output != 6 {
		t.Errorf("the new window: %+v", g)
	}
	l.Set(nil)
	if !l.HasRoom("all", now.Add(-time.Hour), 1e6) {
		t.Error("a deleted budget has no room")
	}
	if l.Settle(domain.BudgetCharge{Call: g.Call}); l.Reserved("all") != 0 {
		t.Error("a deleted budget has reservations")
	}
}

// A new budget counts the calls in flight in its scope. The charge of a call that ends before its reservation is durable is
// returned, because its row was written first.
func TestANewBudgetCountsCallsInFlight(t *testing.T) {
	t.Parallel()
	l, _, _ := ledger()
	first, _, _ := l.Reserve(budget.Call{Run: "a", Plan: "report"}, budget.Need{Input: 10, Output: 50}, false)
	second, _, _ := l.Reserve(budget.Call{Run: "b", Plan: "report"}, budget.Need{Input: 5, Output: 20}, false)
	other, _, _ := l.Reserve(budget.Call{Run: "c", Plan: "other"}, budget.Need{Input: 10, Output: 50}, false)
	if len(first.Holds) != 0 || first.Call == "" {
		t.Fatalf("%+v", first)
	}
	b := tokens("report", "plan:report", 100)
	holds := l.Set([]domain.Budget{b})
	if len(holds) != 2 || l.Reserved("report") != 85 {
		t.Fatalf("%+v, %v reserved", holds, l.Reserved("report"))
	}
	early := domain.BudgetCharge{Call: first.Call, Usage: domain.Usage{InputTokens: 10, OutputTokens: 20}}
	if !l.Settle(early) || l.Settle(domain.BudgetCharge{Call: other.Call}) {
		t.Error("only calls in its scope count")
	}
	if charges := l.Adopted(holds); len(charges) != 1 || charges[0].Call != first.Call {
		t.Errorf("%+v", charges)
	}
	l.Settle(domain.BudgetCharge{Call: second.Call, Usage: domain.Usage{InputTokens: 5, OutputTokens: 5}})
	if again := l.Set([]domain.Budget{b}); len(again) != 0 || len(l.Adopted(holds)) != 0 {
		t.Errorf("counted again: %+v", again)
	}
	if g, _, refusal := l.Reserve(budget.Call{Run: "d", Plan: "report"}, budget.Need{Input: 10, Output: 80}, false); refusal != nil ||
		g.Output != 50 || l.Reserved("report") != 60 {
		t.Errorf("40 of 100 are used: %+v %+v", g, refusal)
	}
}

// A budget of cost refuses a call of a model without a price, and names the setting (L20).
func TestABudgetOfCostNeedsAPrice(t *testing.T) {
	t.Parallel()
	b := tokens("all", "all", 0)
	b.Unit, b.Soft = "cost", 1
	l, _, _ := ledger(b)
	_, _, refusal := l.Reserve(budget.Call{Run: "a"}, budget.Need{Input: 1, Output: 1, Unpriced: "providers.x.prices.m"}, false)
	if refusal == nil || !refusal.Unpriced || !strings.Contains(refusal.Message.String(), "providers.x.prices.m") {
		t.Fatalf("%+v", refusal)
	}
	b.Hard = 3
	l.Set([]domain.Budget{b})
	g, _, refusal := l.Reserve(budget.Call{Run: "a"}, budget.Need{Input: 1, Output: 9, InputPrice: 1, OutputPrice: 0.5}, false)
	if refusal != nil || g.Output != 4 || g.Holds[0].Amount != 3 {
		t.Errorf("%+v %+v", g, refusal)
	}
}

// From the degrade line on, calls go to the cheaper model.
func TestTheDegradeLine(t *testing.T) {
	t.Parallel()
	b := tokens("all", "provider:big", 100)
	b.Degrade, b.DegradeTo = 50, "small/m"
	l, _, _ := ledger(b)
	big := budget.Call{Run: "a", Provider: "big"}
	if _, to := l.Degraded(big); to != "" {
		t.Errorf("below the line: %s", to)
	}
	l.Reserve(big, budget.Need{Input: 10, Output: 40}, false)
	if key, to := l.Degraded(big); key != "all" || to != "small/m" {
		t.Errorf("at the line: %s %s", key, to)
	}
	if _, to := l.Degraded(budget.Call{Run: "a", Provider: "small"}); to != "" {
		t.Errorf("another provider: %s", to)
	}
}

// Whatever calls run at once, and however little of their reservations they use, no budget exceeds its hard line.
func TestNoLineIsExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hard := map[string]float64{"all": float64(rapid.IntRange(1, 300).Draw(t, "all")), "team": float64(rapid.IntRange(1,
			200).Draw(t, "team"))}
		l, _, _ := ledger(tokens("all", "all", hard["all"]), tokens("team", "label:team=a", hard["team"]))
		used := map[string]float64{}
		var live []budget.Grant
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			if len(live) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				g := live[i]
				live = append(live[:i], live[i+1:]...)
				charge := domain.BudgetCharge{Call: g.Call, Estimated: rapid.Bool().Draw(t, "estimated"),
					Unused: rapid.Bool().Draw(t, "unused")}
				n := rapid.Int64Range(0, int64(g.Holds[0].Amount)).Draw(t, "used")
				charge.Usage.InputTokens = n
				for _, h := range g.Holds {
					switch {
					case charge.Unused:
					case charge.Estimated:
						used[h.Budget] += h.Amount
					default:
						used[h.Budget] += float64(n)
					}
				}
				l.Settle(charge)
				continue
			}
			c := budget.Call{Run: "r"}
			if rapid.Bool().Draw(t, "team") {
				c.Labels = map[string]string{"team": "a"}
			}
			g, wait, refusal := l.Reserve(c, budget.Need{Input: rapid.Int64Range(1, 50).Draw(t, "in"), Output: rapid.Int64Range(1,
				50).Draw(t, "out")}, false)
			if !wait && refusal == nil {
				live = append(live, g)
			}
			for key, most := range hard {
				if sum := used[key] + l.Reserved(key); sum > most {
					t.Fatalf("budget %s: %v used, %v reserved, and a hard line of %v", key, used[key], l.Reserved(key), most)
				}
			}
		}
	})
}
