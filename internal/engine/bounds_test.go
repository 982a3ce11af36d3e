package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// A run with an expensive condition, or with values that double, fails. It neither occupies a core
// nor fills the memory.
func TestUnboundedRunsFail(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector")
	}
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, echo))
	list := "[[1, 2]]" + strings.Repeat(".map(x, [x, x])", 25)
	endless := fmt.Sprintf("expr: %s == %s", list, list)
	eight := "[" + strings.TrimSuffix(strings.Repeat(`"${last}", `, 8), ", ") + "]"
	loop := func(node string) string {
		return fmt.Sprintf(`{start: a, nodes: {a: %s}, edges: [{from: a, to: a}]}`, node)
	}
	for _, c := range []struct{ name, plan, code string }{
		{"an edge", fmt.Sprintf(`{start: a, nodes: {a: {type: noop}, b: {type: noop}}, edges: [{from: a, to: b, condition: %q}]}`, endless), walk.CodeCondition},
		{"a when", fmt.Sprintf(`{nodes: {a: {type: noop}, b: {type: noop, needs: [a], when: %q}}}`, endless), walk.CodeCondition},
		{"a set that shares", loop(`{type: set, max_visits: 30, input: ` + eight + `}`), walk.CodeOutputTooLarge},
		{"a log that shares", loop(`{type: log, max_visits: 30, input: ` + eight + `}`), walk.CodeOutputTooLarge},
		{"a handler that shares", loop(`{type: echo, max_visits: 30, input: ` + eight + `}`), walk.CodeInvalidInput},
		{"a text that repeats", loop(`{type: set, max_visits: 30, input: "` + strings.Repeat("${last}", 8) + `"}`), walk.CodeInvalidInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := e.Settle(e.Run(c.plan, `"0123456789"`).ID)
			if run.Status != domain.RunFailed || run.Error == nil || run.Error.Code != c.code {
				t.Errorf("got %s, %+v; want %s", run.Status, run.Error, c.code)
			}
		})
	}
}
