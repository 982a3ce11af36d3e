package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

// goWorkflows is go-workflows on SQLite with its fastest settings: one process that wakes its
// workers without polling, single-worker mode, and a cache for every run. synchronous has SQLite's
// default, FULL.
type goWorkflows struct {
	coded
	backend backend.Backend
	client  *client.Client
	end     *completion
	stop    context.CancelFunc
}

type goWorkflowsInput struct {
	Run   string
	Steps int
	Fan   bool
}

func openGoWorkflows(ctx context.Context, dir string, resume bool, step func(string, int)) (system, error) {
	g := &goWorkflows{end: newCompletion(step)}
	if resume {
		if err := g.end.resume(dir); err != nil {
			return nil, err
		}
	}
	ctx, g.stop = context.WithCancel(ctx)
	g.backend = monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(filepath.Join(dir, "goworkflows.db"),
		sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler)), backend.WithMaxHistorySize(1_000_000))))
	o := worker.DefaultOptions
	o.SingleWorkerMode, o.WorkflowExecutorCacheSize = true, 1024
	w := worker.New(g.backend, &o)
	if err := w.RegisterWorkflow(g.Workflow); err != nil {
		return nil, err
	}
	if err := w.RegisterActivity(g.Activity); err != nil {
		return nil, err
	}
	g.client = client.New(g.backend)
	return g, w.Start(ctx)
}

// Activity is one step.
func (g *goWorkflows) Activity(_ context.Context, run string, i int) (result, error) {
	g.end.step(run, i)
	return resultOf(i), nil
}

// Workflow is one run.
func (g *goWorkflows) Workflow(ctx workflow.Context, in goWorkflowsInput) (result, error) {
	one := func(i int) workflow.Future[result] {
		return workflow.ExecuteActivity[result](ctx, workflow.DefaultActivityOptions, g.Activity, in.Run, i)
	}
	var last result
	var err error
	if in.Fan {
		all := make([]workflow.Future[result], in.Steps)
		for i := range all {
			all[i] = one(i)
		}
		for _, f := range all {
			if _, err := f.Get(ctx); err != nil {
				return last, err
			}
		}
		last, err = one(in.Steps).Get(ctx)
	} else {
		for i := range in.Steps {
			if last, err = one(i).Get(ctx); err != nil {
				return last, err
			}
		}
	}
	g.end.finished(in.Run)
	return last, err
}

func (g *goWorkflows) start(ctx context.Context, s shape) error {
	g.end.expect(s.runs)
	return together(s.runs, func(i int) error {
		run := fmt.Sprintf("%s-%d", s.name, i)
		_, err := g.client.CreateWorkflowInstance(
			ctx,
			client.WorkflowInstanceOptions{InstanceID: run},
			g.Workflow,
			goWorkflowsInput{run, s.steps, s.fan},
		)
		return err
	})
}

func (g *goWorkflows) wait(ctx context.Context, _ shape) error { return g.end.wait(ctx) }

func (g *goWorkflows) close() { g.stop() }
