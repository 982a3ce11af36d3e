package agents

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) circuitRule(c *ui.Context, b domain.Breaker) string {
	text := c.T("It does not open automatically.")
	if b.Failures > 0 {
		text = c.N(
			b.Failures,
			"It opens after %s server failure, at first for %s.",
			"It opens after %s server failures in a row, at first for %s.",
			vital.Span(b.Cooldown.Duration()),
		)
	}
	if b.PerHost {
		text += " " + c.T("Each host has its own.")
	}
	return text
}

// toolCircuits returns the list of a tool's circuits, or nil if its calls have no circuit breaker.
func (s *section) toolCircuits(c *ui.Context, t domain.ToolInfo) *circuit.List {
	if t.Breaker == nil {
		return nil
	}
	page := link.Tool(t.Name)
	return &circuit.List{
		Here:    page,
		PerHost: t.Breaker.PerHost,
		Rule:    s.circuitRule(c, *t.Breaker),
		Rows:    circuit.Rows(c, t.Circuits, page),
	}
}

// providerCircuit returns the list with the circuit of a provider. The list has no row while the
// circuit is closed and the last call did not fail.
func (s *section) providerCircuit(c *ui.Context, v domain.ProviderInfo) *circuit.List {
	page := link.Provider(v.Name)
	l := &circuit.List{Here: page, Rule: s.circuitRule(c, v.Breaker)}
	if v.Circuit.Disturbed() || v.Circuit.FailuresInRow > 0 {
		l.Rows = circuit.Rows(c, []domain.Circuit{v.Circuit}, page)
	}
	return l
}
