package driver_test

import (
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// noise returns text that a codec cannot compress below half of its length.
func noise(n int) string {
	b := make([]byte, n/2)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(b)
}

// sized has a handler whose output has a size, and one that returns the length of its texts.
func sized(n int) *enginetest.Registry {
	r := registry()
	r.Handle("large", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{Output: noise(n)}, nil
	})
	r.Handle("length", walk.EffectPure, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		sum := 0
		for _, text := range c.Input.([]any) {
			sum += len(text.(string))
		}
		return engine.Result{Output: sum}, nil
	})
	return r
}

// A run whose rows are too large for one value continues in another workflow run, which reads them from the record.
func TestALargeJournalIsReadFromTheRecord(t *testing.T) {
	t.Parallel()
	r := sized(700_000)
	w := drivertest.New(t, r)
	w.OnAttempt(func(a wire.Attempt) error {
		if a.Node == "d" && w.Continued == 0 {
			w.Env.SetContinueAsNewSuggested(true)
		}
		return nil
	})
	run := w.Run(`{"nodes": {"a": {"type": "large"}, "b": {"type": "large"}, "c": {"type": "large"}, "d": {"type": "echo", "input": 1},
		"e": {"type": "length", "input": ["${output.a}", "${output.c}"]}},
		"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}, {"from": "c", "to": "d"}, {"from": "d", "to": "e"}], "start": "a"}`, "")
	want(t, w, run, domain.RunCompleted, "1400000")
	if w.Continued != 1 || w.Input.Rows == 0 || len(w.Input.Journal) != 0 {
		t.Errorf("%d continuations, %d rows in the record and %d in the input", w.Continued, w.Input.Rows, len(w.Input.Journal))
	}
}

// Reports stay small while kairosd is down and checkpoints wait.
func TestReportsAreSmall(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, sized(80_000))
	var down atomic.Int64
	down.Store(3)
	w.Reports.Fail = func(wire.Report) error {
		if down.Add(-1) >= 0 {
			return errors.New("kairosd is down")
		}
		return nil
	}
	w.Reports.After = func(rep wire.Report) error {
		if !wire.Fits(wire.Converter(), rep) {
			t.Errorf("a report of %d checkpoints is too large", len(rep.Checkpoints))
		}
		return nil
	}
	run := w.Run(`{"nodes": {"all": {"type": "large", "foreach": "${input}"}}}`, "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]")
	if run.Status != domain.RunCompleted || len(run.Output) < 1_600_000 {
		t.Errorf("%s with %d bytes", run.Status, len(run.Output))
	}
}

// The outputs of a foreach are stored one by one. The run has no output if all of them together are too large.
func TestALargeOutputOfTheRun(t *testing.T) {
	t.Parallel()
	w := measured(t, 200_000)
	run := w.Run(`{"nodes": {"all": {"type": "large", "foreach": "${input}"}}}`, "[1,2,3,4,5,6,7,8,9,10,11,12]")
	want(t, w, run, domain.RunCompleted, "null")
}

func measured(t *testing.T, size int) *drivertest.World {
	w := drivertest.New(t, sized(size))
	w.Converter = wire.Converter()
	return w
}

// A value that Temporal does not store fails its step with a reason, instead of the workflow.
func TestLargeValuesFailTheirStep(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		size             int
		plan, code, says string
	}{
		{5_000_000, `{"nodes": {"a": {"type": "large"}}}`, walk.CodeOutputTooLarge, `output of node "a" has more than 2 MB`},
		{950_000, `{"nodes": {"a": {"type": "large"}, "b": {"type": "large"}, "c": {"type": "echo", "input": ["${output.a}", "${output.b}"]}},
			"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}], "start": "a"}`, walk.CodeInvalidInput, `the input of node "c"`},
		{950_000, `{"nodes": {"a": {"type": "large"}, "b": {"type": "large"},
			"c": {"do": {"nodes": {"x": {"type": "set", "input": 1}}}, "input": ["${output.a}", "${output.b}"]}},
			"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}], "start": "a"}`, "", "the input of the child run"},
	} {
		w := measured(t, tc.size)
		run := w.Run(tc.plan, "")
		if e := run.Error; run.Status != domain.RunFailed || e == nil || !strings.Contains(e.Message, tc.says) ||
			tc.code != "" && e.Code != tc.code {
			t.Errorf("%s: %s %+v", tc.says, run.Status, e)
		}
	}
}
