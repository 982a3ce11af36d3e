package budget

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// maxAmount is the largest amount of a line: amounts are stored as floating-point numbers, and larger ones are inexact.
const maxAmount = 1e15

// Check checks the settings of a budget. The error has CodeInvalid.
func Check(s domain.BudgetSpec) error {
	if _, err := ParseScope(s.Scope); err != nil {
		return err
	}
	if !slices.Contains(domain.BudgetPeriods, s.Period) {
		return domain.Errorf(domain.CodeInvalid, "unknown period %q", s.Period).Suggest("use hour, day, or month")
	}
	if !slices.Contains(domain.BudgetUnits, s.Unit) {
		return domain.Errorf(domain.CodeInvalid, "unknown unit %q", s.Unit).Suggest("use cost or tokens")
	}
	if _, err := Zone(s.Zone); err != nil {
		return err
	}
	lines := []struct {
		name   string
		amount float64
	}{{"soft", s.Soft}, {"degrade", s.Degrade}, {"hard", s.Hard}}
	for _, l := range lines {
		if err := CheckAmount(l.name, s.Unit, l.amount); err != nil {
			return err
		}
	}
	if s.Soft == 0 && s.Degrade == 0 && s.Hard == 0 {
		return domain.Errorf(domain.CodeInvalid, "a budget needs a line").Suggest("set soft, degrade, or hard")
	}
	for _, l := range lines[:2] {
		if s.Hard > 0 && l.amount >= s.Hard {
			return domain.Errorf(domain.CodeInvalid, "the %s line %s is not below the hard line %s", l.name, Amount(s.Unit, l.amount),
				Amount(s.Unit, s.Hard)).Suggest("set %s to less than %s", l.name, Amount(s.Unit, s.Hard))
		}
	}
	return checkDegrade(s)
}

func checkDegrade(s domain.BudgetSpec) error {
	switch provider, model, _ := strings.Cut(s.DegradeTo, "/"); {
	case s.Degrade > 0 && s.DegradeTo == "":
		return domain.Errorf(domain.CodeInvalid, "a degrade line needs a cheaper model").Suggest("set degradeTo to PROVIDER/MODEL")
	case s.DegradeTo == "":
		return nil
	case s.Degrade == 0:
		return domain.Errorf(domain.CodeInvalid, "degradeTo needs a degrade line").Suggest("set degrade to an amount")
	case provider == "" || model == "":
		return domain.Errorf(domain.CodeInvalid, "invalid degradeTo %q", s.DegradeTo).Suggest("use PROVIDER/MODEL")
	}
	return nil
}

// CheckAmount checks the amount of a line. The error has CodeInvalid.
func CheckAmount(name, unit string, v float64) error {
	switch {
	case math.IsNaN(v) || v < 0 || v > maxAmount:
		return domain.Errorf(domain.CodeInvalid, "%s must be at least 0 and at most 1e15", name)
	case unit == domain.UnitTokens && v != math.Trunc(v):
		return domain.Errorf(domain.CodeInvalid, "%s must be a whole number of tokens", name)
	}
	return nil
}

// Models are the configured agents and providers.
type Models struct {
	Agents    []domain.AgentInfo
	Providers []domain.ProviderInfo
}

// CheckModels checks that the providers that a budget names exist. For a budget of cost, it also checks that the models
// of its scope have prices. The error has CodeInvalid.
func CheckModels(s domain.BudgetSpec, m Models) error {
	scope, err := ParseScope(s.Scope)
	if err != nil {
		return err
	}
	provider, model := "", ""
	switch scope.Kind {
	case Provider:
		provider = scope.Name
	case Agent:
		i := slices.IndexFunc(m.Agents, func(a domain.AgentInfo) bool { return a.ID == scope.Name })
		if i < 0 {
			return domain.Errorf(domain.CodeInvalid, "agent %q is not configured", scope.Name).Suggest("see kairos agents")
		}
		provider, model = m.Agents[i].Provider, m.Agents[i].Model
	}
	if provider != "" {
		if err := m.check(s.Unit, provider, model); err != nil {
			return err
		}
	} else if s.Unit == domain.UnitCost && !slices.ContainsFunc(m.Providers,
		func(p domain.ProviderInfo) bool { return len(p.Priced) > 0 }) {
		return domain.Errorf(domain.CodeInvalid, "no model has a price, so a budget of cost cannot be applied").
			Suggest("set providers.NAME.prices.MODEL in the configuration, or use the unit tokens")
	}
	if s.DegradeTo == "" {
		return nil
	}
	provider, model, _ = strings.Cut(s.DegradeTo, "/")
	return m.check(s.Unit, provider, model)
}

// Unpriced returns the settings to add so that every agent in the scope of a budget of cost has a price. A run that calls
// a model without a price waits.
func Unpriced(s domain.BudgetSpec, m Models) (settings []string) {
	scope, err := ParseScope(s.Scope)
	if err != nil || s.Unit != domain.UnitCost {
		return nil
	}
	for _, a := range m.Agents {
		if a.System || scope.Kind == Agent && scope.Name != a.ID || scope.Kind == Provider && scope.Name != a.Provider {
			continue
		}
		i := slices.IndexFunc(m.Providers, func(p domain.ProviderInfo) bool { return p.Name == a.Provider })
		if i < 0 {
			continue
		}
		model := cmp.Or(a.Model, m.Providers[i].Model)
		if model != "" && slices.Contains(m.Providers[i].Priced, model) || model == "" && len(m.Providers[i].Priced) > 0 {
			continue
		}
		settings = append(settings, "providers."+a.Provider+".prices."+cmp.Or(model, "MODEL"))
	}
	slices.Sort(settings)
	return slices.Compact(settings)
}

// check checks that a provider exists, and that its model has a price. An empty model is the provider's own.
func (m Models) check(unit, provider, model string) error {
	i := slices.IndexFunc(m.Providers, func(p domain.ProviderInfo) bool { return p.Name == provider })
	if i < 0 {
		return domain.Errorf(domain.CodeInvalid, "provider %q is not configured", provider).Suggest("see kairos providers")
	}
	p := m.Providers[i]
	model = cmp.Or(model, p.Model)
	if unit != domain.UnitCost || model == "" && len(p.Priced) > 0 || model != "" && slices.Contains(p.Priced, model) {
		return nil
	}
	return domain.Errorf(domain.CodeInvalid, "model %s of provider %s has no price, so a budget of cost cannot be applied",
		cmp.Or(model, "MODEL"), provider).
		Suggest("set providers.%s.prices.%s in the configuration, or use the unit tokens", provider, cmp.Or(model, "MODEL"))
}
