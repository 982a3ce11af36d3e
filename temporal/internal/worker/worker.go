// Package worker executes runs and their steps for a Temporal server, with the tools, agents, and providers of a
// configuration file.
package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/steps"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Options configures a worker.
type Options struct {
	Config config.Config
	Queue  string // the task queue
	// Converter is that of the client.
	Converter converter.DataConverter
	Log       *slog.Logger
	// StopGrace is the time that running steps have after a stop.
	StopGrace time.Duration
	// Offers are the queues that plans can name. With Only, the worker serves no other steps and no
	// runs.
	Offers []string
	Only   bool
}

// Worker executes runs and steps.
type Worker struct {
	sdk   []sdkworker.Worker // one per task queue
	tools *tool.Box
	store *store.Store
}

// stopMargin is the time after StopGrace in which a stopping worker reports the ends of its steps.
const stopMargin = 5 * time.Second

// New returns a worker. Its own state, such as that of circuits, is in memory.
func New(ctx context.Context, c client.Client, o Options) (*Worker, error) {
	s, err := store.OpenMemory(ctx, store.Options{Logger: o.Log})
	if err != nil {
		return nil, err
	}
	w := &Worker{store: s}
	setup, err := w.setup(ctx, c, o)
	if err != nil {
		_ = w.close() // the first error matters
		return nil, err
	}
	x, err := engine.NewExecutor(engine.ExecutorConfig{Setup: setup, Logger: o.Log, StopGrace: o.StopGrace})
	if err != nil {
		_ = w.close()
		return nil, err
	}
	activities := &steps.Activities{Executor: x, Converter: o.Converter, Programs: &driver.Programs{Catalog: setup.Registry.Catalog},
		Send: func(ctx context.Context, id, run string, row wire.Substep) error {
			return flow{c, id, run, o.Log}.send(ctx, row)
		},
		Reserve: func(ctx context.Context, id, run string, q wire.Reserve) (runledger.Answer, error) {
			return flow{c, id, run, o.Log}.reserve(ctx, q)
		}}
	add := func(queue string) sdkworker.Worker {
		// A limit that queues shared would let a queue without steps keep the places with which it waits for one.
		s := sdkworker.New(c, queue, sdkworker.Options{WorkerStopTimeout: o.StopGrace + stopMargin,
			MaxConcurrentActivityExecutionSize: cmp.Or(o.Config.Engine.MaxNodes, engine.DefaultMaxNodes),
			MaxHeartbeatThrottleInterval:       steps.OutputPause / 2}) // the activities send as few heartbeats as necessary
		w.sdk = append(w.sdk, s)
		return s
	}
	flows := &driver.Workflows{Converter: o.Converter}
	for _, runs := range driver.Queues(o.Queue) {
		if !o.Only {
			steps.Register(add(runs), flows, activities)
		}
		for _, name := range o.Offers {
			steps.RegisterAttempts(add(wire.QueueOf(runs, name)), activities)
		}
	}
	return w, nil
}

// setup builds the handlers of a configuration.
func (w *Worker) setup(ctx context.Context, c client.Client, o Options) (engine.Setup, error) {
	secrets, err := assemble.NewSecretsIn(&assemble.Masks{}, o.Config)
	if err != nil {
		return engine.Setup{}, err
	}
	tools, registry, err := assemble.NewCatalog(ctx, w.store, o.Config, secrets, secrets.Logger(o.Log), false, &tool.Guard{}, nil, nil)
	if err != nil {
		return engine.Setup{}, err
	}
	w.tools = tools
	registry.SetMemory(memory{c, o.Log})
	return engine.Setup{Registry: registry, Secrets: secrets, ConsentTimeout: o.Config.Approvals.Timeout}, nil
}

// Run works until the context ends, and then until running steps have ended or the grace period has passed. It calls
// ready when the worker works.
func (w *Worker) Run(ctx context.Context, ready func()) error {
	for i, s := range w.sdk {
		if err := s.Start(); err != nil {
			stop(w.sdk[:i])
			return errors.Join(err, w.close())
		}
	}
	ready()
	<-ctx.Done()
	stop(w.sdk)
	return w.close()
}

// stop stops workers at the same time, so that their steps share the grace period.
func stop(list []sdkworker.Worker) {
	var wg sync.WaitGroup
	for _, s := range list {
		wg.Go(s.Stop)
	}
	wg.Wait()
}

func (w *Worker) close() error {
	if w.tools != nil {
		w.tools.Close()
	}
	return w.store.Close()
}
