package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// Consequence describes the effect of resuming a run.
func Consequence(c *ui.Context, p domain.Preview) string {
	if !p.Allowed {
		return strings.TrimSpace(kit.Capitalize(c.Message(p.Refusal)) + ". " + kit.Capitalize(c.Message(p.Suggestion)))
	}
	again, fresh := c.N(len(p.Again), "%s step again", "%s steps again"), c.N(len(p.New), "%s that never started", "%s that never started")
	out := []string{c.T("Resume runs %s and %s.", again, fresh)}
	switch {
	case len(p.Again)+len(p.New) == 0:
		out[0] = c.T("Resume repeats no step.")
	case len(p.Again) == 0:
		out[0] = c.N(
			len(p.New),
			"Resume repeats no step and runs %s that never started.",
			"Resume repeats no step and runs %s that never started.",
		)
	case len(p.New) == 0:
		out[0] = c.N(len(p.Again), "Resume runs %s step again.", "Resume runs %s steps again.")
	}
	if n := len(p.Keep); n > 0 {
		out = append(
			out,
			c.N(
				n,
				"The %s finished step keeps its saved result and is not repeated.",
				"The %s finished steps keep their saved results and are not repeated.",
			),
		)
	}
	if n := len(p.Later); n > 0 {
		out = append(
			out,
			c.N(
				n,
				"Then the run pauses, and %s step waits until you continue it.",
				"Then the run pauses, and %s steps wait until you continue it.",
			),
		)
	}
	if n := len(p.Effects); n > 0 {
		var names []string
		for _, e := range p.Effects[:min(n, 5)] {
			names = append(names, fmt.Sprintf("%s (%s)", e.Node, value.Effect(c, e.Effect)))
		}
		out = append(out, c.T("Ahead: %s.", strings.Join(names, ", ")))
	}
	return strings.Join(out, " ")
}

// Expectation describes the estimated time and cost of a number of similar runs.
func Expectation(c *ui.Context, e *domain.Expected, runs int) string {
	if e == nil {
		return ""
	}
	work := kit.Duration(max(e.Took(), time.Millisecond) * time.Duration(max(runs, 1)))
	if e.Cost > 0 {
		return c.N(
			e.Runs,
			"Estimated cost: %[2]s. Estimated time: %[3]s (from %[1]s previous run).",
			"Estimated cost: %[2]s. Estimated time: %[3]s (from %[1]s previous runs).",
			value.Cost(c, e.Cost*float64(max(runs, 1))),
			work,
		)
	}
	return c.N(e.Runs, "Estimated time: %[2]s (from %[1]s previous run).", "Estimated time: %[2]s (from %[1]s previous runs).", work)
}
