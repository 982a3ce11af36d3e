package walk_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// P48: a foreach over a million items fails before the first starts. 10,000 items are accepted.
func TestAForeachOverALongListFails(t *testing.T) {
	t.Parallel()
	for n, fails := range map[int]bool{10_000: false, 10_001: true, 1_000_000: true} {
		list := make([]any, n)
		for i := range list {
			list[i] = i
		}
		started := 0
		exec := planner.NewExecutor(map[string]planner.Handler{"count": func(context.Context, planner.Node, *planner.State) (any, error) {
			started++
			return nil, nil
		}, "make": func(context.Context, planner.Node, *planner.State) (any, error) { return list, nil }})
		_, err := exec.Execute(
			t.Context(),
			&planner.Graph{
				Nodes: map[string]planner.Node{"list": {Type: "make"}, "each": {Type: "count", Foreach: "${output.list}", MaxParallel: 1}},
				Edges: []planner.Edge{{From: "list", To: "each"}},
			},
			nil,
		)
		if fails && (err == nil || !strings.Contains(err.Error(), "at most 10000 are allowed") || started > 0) ||
			!fails && (err != nil || started != n) {
			t.Errorf("%d items: %d started, %v", n, started, err)
		}
	}
}
