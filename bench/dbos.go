package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

// dbosSystem is the Go version of DBOS Transact, on SQLite with its own settings: write-ahead log and
// synchronous=NORMAL, which may lose acknowledged steps in a power failure.
type dbosSystem struct {
	coded
	ctx dbos.Context
	end *completion
}

type dbosInput struct {
	Run   string
	Steps int
	Fan   bool
}

func openDBOS(ctx context.Context, dir string, resume bool, step func(string, int)) (system, error) {
	d := &dbosSystem{end: newCompletion(step)}
	if resume {
		if err := d.end.resume(dir); err != nil {
			return nil, err
		}
	}
	var err error
	d.ctx, err = dbos.NewContext(ctx, dbos.Config{AppName: "bench", DatabaseURL: "sqlite:" + filepath.Join(dir, "dbos.db"),
		Logger: slog.New(slog.DiscardHandler), ApplicationVersion: "1"})
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(d.ctx, d.workflow, dbos.WithWorkflowName("chain"))
	return d, dbos.Launch(d.ctx)
}

func (d *dbosSystem) workflow(ctx dbos.Context, in dbosInput) (result, error) {
	one := func(i int) dbos.Step[result] {
		return func(context.Context) (result, error) {
			d.end.step(in.Run, i)
			return resultOf(i), nil
		}
	}
	var last result
	if in.Fan {
		channels := make([]<-chan dbos.StepOutcome[result], in.Steps)
		for i := range channels {
			c, err := dbos.Go(ctx, one(i))
			if err != nil {
				return last, err
			}
			channels[i] = c
		}
		for _, c := range channels {
			if o := <-c; o.Err != nil {
				return last, o.Err
			}
		}
		_, err := dbos.RunAsStep(ctx, one(in.Steps))
		d.end.finished(in.Run)
		return last, err
	}
	for i := range in.Steps {
		var err error
		if last, err = dbos.RunAsStep(ctx, one(i)); err != nil {
			return last, err
		}
	}
	d.end.finished(in.Run)
	return last, nil
}

func (d *dbosSystem) start(_ context.Context, s shape) error {
	d.end.expect(s.runs)
	return together(s.runs, func(i int) error {
		run := fmt.Sprintf("%s-%d", s.name, i)
		_, err := dbos.RunWorkflow(d.ctx, d.workflow, dbosInput{run, s.steps, s.fan}, dbos.WithWorkflowID(run))
		return err
	})
}

func (d *dbosSystem) wait(ctx context.Context, _ shape) error { return d.end.wait(ctx) }

func (d *dbosSystem) close() { dbos.Shutdown(d.ctx, time.Second) }
