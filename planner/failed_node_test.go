package planner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// The error of a run names the failed node and wraps the error of its handler. This includes an
// error that a retry repeated, and a Failure with more details.
func TestAnErrorNamesTheNodeAndWrapsTheCause(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	shared := &walk.Failure{Code: "no_paper", Message: "there is no paper", Permanent: true}
	for name, c := range map[string]struct {
		err        error
		text, code string
		wrapped    []error
	}{
		"a plain error":   {boom, `node "b" failed: boom`, walk.CodeFailed, []error{boom}},
		"a wrapped error": {fmt.Errorf("print: %w", boom), `node "b" failed: print: boom`, walk.CodeFailed, []error{boom}},
		"a failure":       {shared, `node "b" failed: there is no paper`, "no_paper", []error{shared}},
		"a failure and more": {fmt.Errorf("%w: %w", boom, shared), `node "b" failed: there is no paper`, "no_paper",
			[]error{boom, shared}},
		"a timeout of its own": {context.DeadlineExceeded, `node "b" failed: timed out`, walk.CodeTimeout,
			[]error{context.DeadlineExceeded}},
	} {
		x := planner.NewExecutor(map[string]planner.Handler{
			"ok":  func(context.Context, planner.Node, *planner.State) (any, error) { return 1, nil },
			"bad": func(context.Context, planner.Node, *planner.State) (any, error) { return nil, c.err },
		})
		g := &planner.Graph{Start: "a", Edges: []planner.Edge{{From: "a", To: "b"}},
			Nodes: map[string]planner.Node{"a": {Type: "ok"}, "b": {Type: "bad", Retry: &planner.Retry{MaxAttempts: 2}}}}
		_, err := x.Execute(t.Context(), g, nil)
		f, ok := errors.AsType[*walk.Failure](err)
		if !ok || err.Error() != c.text || f.Code != c.code || f.Node != "b" {
			t.Errorf("%s: %v, failure %+v", name, err, f)
		}
		for _, cause := range c.wrapped {
			if !errors.Is(err, cause) {
				t.Errorf("%s: the error does not wrap %v", name, cause)
			}
		}
	}
	if shared.Node != "" {
		t.Errorf("the handler's own failure was changed: %+v", shared)
	}
}
