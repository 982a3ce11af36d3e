package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/planner/walk"
)

// The output of a step that is executed elsewhere reaches the readers of its run, and its page, while it is active. A run without
// readers is not read.
func TestOutputOfActiveStepsElsewhere(t *testing.T) {
	t.Parallel()
	began, finish := make(chan *engine.Call), make(chan struct{})
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent,
		func(_ context.Context, c *engine.Call) (engine.Result, error) {
			began <- c
			<-finish
			return engine.Result{Output: "paid"}, nil
		}))
	var mu sync.Mutex
	var output *tail.Recorder
	read := make(chan string, 100)
	w.tails = func(run string) []tail.Tail {
		mu.Lock()
		defer mu.Unlock()
		read <- run
		if output == nil {
			return nil
		}
		return []tail.Tail{output.Tail()}
	}
	run := e.Run("id: p\nnodes: {pay: {type: pay, input: {}}}\n", "null")
	c := <-began
	if len(read) > 0 {
		t.Errorf("run %s is read without a reader", <-read)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := e.Subscribe(ctx, -1, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != run.ID {
		t.Errorf("run %s is read", got)
	}
	mu.Lock()
	output = tail.NewRecorder(tail.Tail{Run: run.ID, Node: "pay", Visit: c.Visit, Item: c.Item, Attempt: c.Attempt})
	output.Add(domain.Event{Type: "node_log", Data: map[string]any{"level": "info", "message": "half"}})
	mu.Unlock()
	e.Until(run.ID, domain.RunRunning, "")
	for ev := range events {
		if ev.Type == "node_log" {
			if ev.Data["message"] != "half" || ev.Run != run.ID || !ev.Ephemeral || ev.ID == "" {
				t.Errorf("event %+v", ev)
			}
			break
		}
	}
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	last := d.Journal[len(d.Journal)-1]
	if l := domain.ReadLog(last.Log); last.Kind != domain.EntryIntent || len(l.Lines) != 1 || l.Lines[0].Message != "half" {
		t.Errorf("the last row is %s %s with the log %s", last.Kind, last.Node, last.Log)
	}
	close(finish)
	e.Until(run.ID, domain.RunCompleted, "")
}

// The waits of a run for workers are in its detail, and the problems of the workers are those of the server.
func TestWorkersElsewhere(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry())
	w.waits = []domain.WorkerWait{{Queue: "gpu", Steps: 1}}
	w.workers = domain.Workers{Queues: []domain.WorkerQueue{{Name: "gpu", Current: true, Waiting: 1}}}
	run := e.Run("id: p\nnodes: {ask: {type: approval, input: {message: \"Pay?\"}}}\n", "null")
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || len(d.WorkerWaits) != 1 || d.WorkerWaits[0].Queue != "gpu" {
		t.Errorf("waits %+v, %v", d.WorkerWaits, err)
	}
	if got := engine.RecordsOf(e.Engine).Workers(); len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "--offer gpu") {
		t.Errorf("problems %q", got.Problems)
	}
	if alone := enginetest.Open(t, enginetest.NewRegistry()); engine.RecordsOf(alone.Engine).Workers() != nil {
		t.Error("an engine that executes its runs itself has workers")
	}
}
