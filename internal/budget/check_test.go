package budget_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
)

// A budget of cost lists the settings of prices that the models of its agents lack (L20).
func TestUnpricedModelsOfABudget(t *testing.T) {
	t.Parallel()
	m := budget.Models{
		Agents: []domain.AgentInfo{{ID: "clerk", Provider: "big", Model: "m"}, {ID: "writer", Provider: "small"},
			{ID: "editor", Provider: "small", Model: "n"}, {ID: "supervisor", Provider: "none", System: true}, {ID: "partner"}},
		Providers: []domain.ProviderInfo{{Name: "big", Priced: []string{"m"}}, {Name: "small", Model: "s"}, {Name: "none"}},
	}
	for scope, want := range map[string]string{
		"all": "providers.small.prices.n providers.small.prices.s", "agent:clerk": "", "agent:writer": "providers.small.prices.s",
		"provider:big": "", "provider:small": "providers.small.prices.n providers.small.prices.s",
		"label:team=a": "providers.small.prices.n providers.small.prices.s",
	} {
		spec := domain.BudgetSpec{Scope: scope, Unit: domain.UnitCost}
		if got := strings.Join(budget.Unpriced(spec, m), " "); got != want {
			t.Errorf("%s: %q, want %q", scope, got, want)
		}
		if spec.Unit = domain.UnitTokens; budget.Unpriced(spec, m) != nil {
			t.Errorf("%s: a budget of tokens needs no prices", scope)
		}
	}
}
