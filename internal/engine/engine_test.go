package engine_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo returns its input.
func echo(_ context.Context, c *engine.Call) (engine.Result, error) {
	return engine.Result{Output: c.Input}, nil
}

const chain = `
id: chain
nodes:
  a: {type: set, input: {n: 1}}
  b: {type: echo, input: {saw: "${output.a.n}"}}
  c: {type: set, input: "${last}"}
edges:
  - {from: a, to: b}
  - {from: b, to: c}
`

func TestRunsAChain(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, echo))
	r := e.Settle(e.Run(chain, `{"x":1}`).ID)
	if r.Status != domain.RunCompleted || string(r.Output) != `{"saw":1}` || r.Steps != 3 || r.Path != "ccc" {
		t.Errorf("got %s output %s steps %d path %q, want completed\n%s", r.Status, r.Output, r.Steps, r.Path, e.Journal(r.ID))
	}
	res, err := e.Result(t.Context(), r.ID)
	if err != nil || len(res.Path) != 3 {
		t.Errorf("result: %+v, %v", res, err)
	}
}

func TestContinuesAfterShutdown(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry()
	started := make(chan struct{}, 1)
	block := true
	reg.Handle("echo", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if block {
			started <- struct{}{}
			<-ctx.Done()
			return engine.Result{}, ctx.Err()
		}
		return echo(ctx, c)
	})
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Run(chain, "")
	<-started
	e.Close()
	r, err := s.Run(t.Context(), run.ID)
	if err != nil || r.Status != domain.RunRunning || r.Crashes != 0 {
		t.Fatalf(
			"after the shutdown the run is %s with %d crashes (%v), want running with none\n%s",
			r.Status,
			r.Crashes,
			err,
			e.Journal(run.ID),
		)
	}
	block = false
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	r = e.Settle(run.ID)
	if r.Status != domain.RunCompleted || r.Crashes != 0 {
		t.Errorf("got %s with %d crashes\n%s", r.Status, r.Crashes, e.Journal(run.ID))
	}
	calls := reg.Calls()
	if len(calls) != 2 || calls[0].Key != calls[1].Key || calls[1].Attempt != 2 {
		t.Errorf("calls %+v, want two attempts with one key", calls)
	}
}
