package driver_test

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// waitsOf collects the waits for signals that a world reports.
func waitsOf(w *drivertest.World) func() []domain.SignalWait {
	var mu sync.Mutex
	var all []domain.SignalWait
	w.Reports.After = func(r wire.Report) error {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range r.Checkpoints {
			all = append(all, c.Waits...)
		}
		return nil
	}
	return func() []domain.SignalWait {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// A signed signal ends the wait that it names, once, and its data are the output of the step.
func TestASignalEndsAWait(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Signer = public
	waits := waitsOf(w)
	var results []*error
	send := func(wait, data string, sign bool) {
		var arg any = wire.Event{Wait: wait, Signal: domain.Signal{ID: "s-" + data, Name: "paid", Key: "7", Data: domain.RawJSON(data),
			Actor: "ada", CreatedAt: w.Env.Now()}}
		if sign {
			if arg, err = wire.Sign(key, w.ID, wire.EventUpdate, arg, w.Env.Now()); err != nil {
				t.Error(err)
			}
		}
		results = append(results, w.Update(wire.EventUpdate, arg))
	}
	w.At(time.Hour, func() {
		list := waits()
		if len(list) != 1 || list[0].Name != "paid" || list[0].Key != "7" || list[0].Due.Sub(list[0].Since) != 48*time.Hour {
			t.Errorf("waits %+v", list)
			return
		}
		send(list[0].ID, "1", false)
		send("other", "2", true)
		send(list[0].ID, "3", true)
		send(list[0].ID, "4", true)
	})
	run := w.Run(`{"nodes": {"a": {"wait": {"event": "paid", "key": "${input}", "timeout": "2d"}},
		"b": {"type": "wait", "input": {"for": "1h"}}, "c": {"type": "set", "input": "${output.a.data}"}},
		"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]}`, `7`)
	want(t, w, run, domain.RunCompleted, "3")
	if len(results) != 4 {
		t.Fatalf("%d signals", len(results))
	}
	for i, refusal := range []string{"kairosd must sign", "no longer waits", "", "no longer waits"} {
		if err := *results[i]; refusal == "" && err != nil || refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)) {
			t.Errorf("signal %d: %v, want %q", i+1, err, refusal)
		}
	}
	list := waits()
	if len(list) != 2 || !list[1].Ended || list[1].ID != list[0].ID || list[1].Signal != "s-3" {
		t.Errorf("waits %+v", list)
	}
}

// A signal that does not come fails the step after its timeout.
func TestAWaitForASignalTimesOut(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	waits := waitsOf(w)
	run := w.Run(`{"nodes": {"a": {"wait": {"event": "never", "timeout": "2d"}}}}`, "")
	if run.Status != domain.RunFailed || run.Error.Code != walk.CodeTimeout || run.EndedAt.Sub(run.StartedAt) < 48*time.Hour {
		t.Errorf("%s %+v after %s", run.Status, run.Error, run.EndedAt.Sub(run.StartedAt))
	}
	if list := waits(); len(list) != 2 || !list[1].Ended || list[1].Signal != "" {
		t.Errorf("waits %+v", list)
	}
}

// A tool gets the callback address of its run, also if the type of the step is the name of the tool, and in a child run,
// which the record has before its first step. The record does not contain the addresses.
func TestRunsHaveCallbackAddresses(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]string{}
	var w *drivertest.World
	r := enginetest.NewRegistry().Tool("order", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if _, known := w.Reports.Runs()[c.RunID]; !known && c.RunID != w.ID {
			t.Error("the record does not have the child run")
		}
		got[c.RunID], _ = c.Input.(map[string]any)["url"].(string)
		return engine.Result{Output: "ordered"}, nil
	})
	w = drivertest.New(t, r)
	w.Callback = func(run string) string { return "https://events.example.com/callbacks/" + run + "-secret" }
	w.Save(`{"id": "inner", "nodes": {"order": {"type": "tool", "tool": "order", "input": {"url": "${run.callback}"}}}}`)
	run := w.Run(`{"nodes": {"order": {"type": "order", "input": {"url": "${run.callback}"}}, "sub": {"type": "plan", "plan": "inner"}},
		"edges": [{"from": "order", "to": "sub"}]}`, "")
	want(t, w, run, domain.RunCompleted, `"ordered"`)
	if len(got) != 2 {
		t.Errorf("%d addresses", len(got))
	}
	for id, address := range got {
		if address != w.Callback(id) {
			t.Errorf("run %s has the address %s", id, address)
		}
		if text := w.Reports.Text(id); strings.Contains(text, "-secret") {
			t.Errorf("the record has the address:\n%s", text)
		}
	}
}
