package planner_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// The timeout of a step with a block or a sub-plan ends the step with the code timeout, in memory as in a run of
// the daemon. Its rules and its retries apply.
func TestTheTimeoutOfAGroup(t *testing.T) {
	t.Parallel()
	for kind, step := range map[string]string{
		"block":    "do: {nodes: {outer: {do: {nodes: {slow: {type: slow}}}}}}",
		"sub-plan": "type: plan, plan: slow",
	} {
		var calls atomic.Int32
		blocks := func(ctx context.Context, _ planner.Node, _ *planner.State) (any, error) {
			calls.Add(1)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		d, _ := compiled(t, `{start: group, nodes: {group: {`+step+`, timeout: 5ms, retry: {max_attempts: 2, backoff: [1ms]},
			on_error: [{code: timeout, to: sorry}]}, sorry: {type: set, input: "${last.code}: ${last.error}"}}}`)
		e := planner.NewExecutor(map[string]planner.Handler{"slow": blocks, "plan": blocks})
		s, err := e.Execute(t.Context(), d.Graph, nil)
		if got, _ := s.Last.(string); err != nil || !strings.HasPrefix(got, "timeout: timed out after 5ms") || calls.Load() != 2 {
			t.Errorf("%s: %v, %v, %d calls", kind, s.Last, err, calls.Load())
		}
	}
}
