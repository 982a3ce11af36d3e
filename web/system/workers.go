package system

import (
	"cmp"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// workers adds the workers of a server whose runs Temporal executes, with the problems as advice.
func (h *health) workers() {
	w := h.server.Workers
	if w == nil {
		return
	}
	state, value := "", h.c.N(len(w.Serving()), "%s worker", "%s workers")
	var advice []string
	for _, m := range w.Messages() {
		state, advice = "fail", append(advice, kit.Escape(h.c.Message(m)))
	}
	if w.CheckedAt.IsZero() {
		value = h.c.T("not checked yet")
	}
	if len(advice) == 0 {
		advice = []string{h.c.T("Runs that need more workers wait. Start workers on more machines.")}
	}
	h.add(state, h.c.T("Workers"), value, h.c.T("none for a queue that runs need"), nil, strings.Join(advice, " "))
}

// workerFacts returns the workers of each queue.
func workerFacts(c *ui.Context, w *domain.Workers) (facts []kit.Fact) {
	if w == nil {
		return nil
	}
	for _, q := range w.Queues {
		term := c.T("Workers of runs")
		if q.Name != "" {
			term = c.T("Workers of queue %s", kit.Escape(q.Name))
		}
		if !q.Current {
			term += ", " + c.T("driver %d", q.Driver)
		}
		var list []string
		for _, k := range q.Workers {
			list = append(list, kit.Escape(k.Identity)+" ("+c.Ago(w.CheckedAt.Sub(k.SeenAt))+")")
		}
		facts = append(facts, kit.Fact{Term: term, Text: cmp.Or(strings.Join(list, ", "), c.T("none"))})
	}
	return facts
}
