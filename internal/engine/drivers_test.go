package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// behaviors are the possible ends of one attempt of a handler.
var behaviors = map[string]func(context.Context) (any, error){
	"succeeds": func(context.Context) (any, error) { return "ok", nil },
	"fails":    func(context.Context) (any, error) { return nil, errors.New("boom") },
	"has no effect": func(context.Context) (any, error) {
		return nil, &walk.Failure{Code: "refused", Message: "refused", NoEffect: true}
	},
	"cannot heal": func(context.Context) (any, error) {
		return nil, &walk.Failure{Code: "policy", Message: "no", Permanent: true}
	},
	"succeeds too late": func(ctx context.Context) (any, error) { <-ctx.Done(); return "late", nil },
	"fails too late": func(ctx context.Context) (any, error) {
		<-ctx.Done()
		return nil, &walk.Failure{Code: "cut", Message: "cut off", NoEffect: true}
	},
}

// TestBothDriversAgreeOnAttempts runs a step whose attempts end in every possible way, for every
// side-effect class, with the durable engine and with the library's executor. Both make the same
// number of calls and have the same result or failure.
func TestBothDriversAgreeOnAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var plan []string // the ends of the attempts
		calls := 0
		next := func(ctx context.Context) (any, error) {
			how := plan[min(calls, len(plan)-1)]
			calls++
			return behaviors[how](ctx)
		}
		effects := map[string]walk.Effect{
			"pure":       walk.EffectPure,
			"read":       walk.EffectRead,
			"idempotent": walk.EffectIdempotent,
			"unsafe":     walk.EffectUnsafe,
		}
		reg := enginetest.NewRegistry()
		handlers := map[string]planner.Handler{}
		for typ, effect := range effects {
			reg.Handle("do-"+typ, effect, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
				out, err := next(ctx)
				return engine.Result{Output: out}, err
			})
			handlers["do-"+typ] = func(ctx context.Context, _ planner.Node, _ *planner.State) (any, error) { return next(ctx) }
		}
		e := enginetest.Open(t, reg)
		for typ := range effects {
			for _, attempts := range []int{1, 2, 3} {
				src := fmt.Sprintf(
					`{"nodes": {"a": {"type": "do-%s", "timeout": "5s", "retry": {"max_attempts": %d, "backoff": ["1s"]}}, "b": {"type": "set", "input": "${output.a}"}},
					"edges": [{"from": "a", "to": "b"}]}`,
					typ,
					attempts,
				)
				v := e.Save(src)
				for first := range behaviors {
					for second := range behaviors {
						plan, calls = []string{first, second}, 0
						run := e.Settle(e.Begin(v, "").ID)
						durable, made := endingOfRun(run), calls
						calls = 0
						doc, _ := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON))
						x := planner.NewExecutor(handlers)
						x.Effects = map[string]walk.Effect{}
						for typ, effect := range effects {
							x.Effects["do-"+typ] = effect
						}
						state, err := x.Execute(context.Background(), doc.Graph, nil)
						if memory := endingOf(state, err); memory != durable || calls != made {
							t.Errorf("%s, %d attempts, the first %s, others %s: in memory %q after %d calls, durable %q after %d",
								typ, attempts, first, second, memory, calls, durable, made)
						}
					}
				}
			}
		}
	})
}

// endingOfRun returns how a run ended.
func endingOfRun(r domain.Run) string {
	switch {
	case r.Status == domain.RunCompleted:
		return "completed: " + string(r.Output)
	case r.WaitReason == domain.WaitInDoubt:
		return "in doubt"
	case r.Error != nil:
		return fmt.Sprintf("node %q failed: %s (%s)", r.Error.Node, r.Error.Message, r.Error.Code)
	}
	return string(r.Status) + " " + string(r.WaitReason)
}

// endingOf returns how an execution in memory ended.
func endingOf(s *planner.State, err error) string {
	f, failed := errors.AsType[*walk.Failure](err)
	switch {
	case err == nil:
		raw, encodeErr := jsonvalue.Encode(s.Last)
		if encodeErr != nil {
			return encodeErr.Error()
		}
		return "completed: " + string(raw)
	case failed && f.Code == walk.CodeInDoubt:
		return "in doubt"
	case failed:
		return fmt.Sprintf("%s (%s)", err, f.Code)
	}
	return err.Error()
}

// An execution in memory makes no further calls after a step in doubt, and names the node.
func TestAnExecutionInMemoryStopsInDoubt(t *testing.T) {
	t.Parallel()
	called := 0
	x := planner.NewExecutor(map[string]planner.Handler{
		"pay": func(context.Context, planner.Node, *planner.State) (any, error) {
			called++
			return nil, errors.New("boom")
		},
		"mend": func(context.Context, planner.Node, *planner.State) (any, error) { called += 100; return nil, nil },
	})
	g := &planner.Graph{Start: "a", Nodes: map[string]planner.Node{
		"a": {ID: "a", Type: "pay", Effect: walk.EffectUnsafe, Retry: &planner.Retry{MaxAttempts: 3}, Timeout: walk.Duration(time.Hour)},
		"b": {ID: "b", Type: "mend"},
	}, Edges: []planner.Edge{{From: "a", To: "b", Condition: "failed"}}}
	_, err := x.Execute(t.Context(), g, nil)
	if f, ok := errors.AsType[*walk.Failure](err); !ok || f.Code != walk.CodeInDoubt || called != 1 ||
		err.Error() != `node "a" failed: it may have had its effect: boom` {
		t.Errorf("%v after %d calls", err, called)
	}
}
