package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

const rendering = `
id: render
nodes:
  order: {type: order, input: {body: {url: "${run.callback}", run: "${run.id}"}}, retry: {max_attempts: 2, backoff: [1ms]}}
  done: {wait: {event: callback, timeout: 2d}}
  out: {type: set, input: "${output.done.data}"}
edges: [{from: order, to: done}, {from: done, to: out}]`

// E16: the tool gets the callback address of the run, in each attempt the same one. The journal has the
// reference instead. A rerun has another address. Without an address in the configuration, no run starts.
func TestARunHasACallbackAddress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	r := enginetest.NewRegistry().Tool("order", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := c.Input.(map[string]any)["body"].(map[string]any)
		url, _ := body["url"].(string)
		if got = append(got, url); len(got) == 1 {
			return engine.Result{}, &walk.Failure{Code: walk.CodeFailed, Message: "try again"}
		}
		return engine.Result{Output: "ordered"}, nil
	})
	r.Callback = func(run string) string { return "https://events.example.com/callbacks/" + run + "-secret" }
	e := enginetest.Open(t, r)
	v := e.Save(rendering)
	run := e.Begin(v, "null")
	waits(e, run.ID)
	want := r.Callback(run.ID)
	if !slices.Equal(got, []string{want, want}) {
		t.Errorf("addresses %q, want %q twice", got, want)
	}
	if journal := e.Journal(run.ID); strings.Contains(journal, "-secret") {
		t.Errorf("the journal has the address:\n%s", journal)
	}
	detail, err := e.Detail(t.Context(), run.ID)
	if err != nil || len(detail.Waits) != 1 || detail.Waits[0].Event != domain.CallbackEvent || detail.Waits[0].Key != run.ID {
		t.Errorf("waits %+v %v", detail.Waits, err)
	}
	other := e.Begin(v, "null")
	waits(e, other.ID)
	if got[2] != r.Callback(other.ID) {
		t.Errorf("another run got %s", got[2])
	}
	sendSignal(t, e, domain.Signal{Name: domain.CallbackEvent, Key: run.ID})
	if done := e.Settle(run.ID); done.Status != domain.RunCompleted || string(done.Output) != `{"amount":12}` {
		t.Errorf("%s %s", done.Status, done.Output)
	}

	none := enginetest.Open(t, enginetest.NewRegistry().Tool("order", walk.EffectIdempotent,
		func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{Output: "ordered"}, nil
		}))
	_, err = none.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: none.Save(rendering).Hash})
	if e, ok := errors.AsType[*domain.Error](err); !ok || e.Code != domain.CodeConflict || !strings.Contains(e.Suggestion, "hooks.url") {
		t.Errorf("started without an address: %v", err)
	}
}
