package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"
)

// riverSystem is River on SQLite. It is a queue and not a workflow engine: a run is a chain of
// jobs, each of which inserts the next. That is weaker than a checkpoint, because insertion and
// completion are two transactions. Fetching uses the smallest permitted intervals, and
// synchronous=FULL.
type riverSystem struct {
	coded
	db     *sql.DB
	client *river.Client[*sql.Tx]
	end    *completion
	joined atomic.Int64
}

type riverArgs struct {
	Run   string `json:"run"`
	I     int    `json:"i"`
	Steps int    `json:"steps"`
	Fan   bool   `json:"fan"`
	Data  result `json:"data"`
}

// Kind returns the name of the job for River.
func (riverArgs) Kind() string { return "step" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	s *riverSystem
}

// Work runs one step.
func (w *riverWorker) Work(ctx context.Context, job *river.Job[riverArgs]) error {
	a := job.Args
	w.s.end.step(a.Run, a.I)
	next := riverArgs{a.Run, a.I + 1, a.Steps, false, resultOf(a.I)}
	switch {
	case a.Fan:
		if w.s.joined.Add(-1) > 0 {
			return nil
		}
		next.I = a.Steps
	case a.I+1 >= a.Steps:
		w.s.end.finished(a.Run)
		return nil
	}
	_, err := river.ClientFromContext[*sql.Tx](ctx).Insert(ctx, next, nil)
	return err
}

func openRiver(ctx context.Context, dir string, resume bool, step func(string, int)) (system, error) {
	r := &riverSystem{end: newCompletion(step)}
	if resume {
		if err := r.end.resume(dir); err != nil {
			return nil, err
		}
	}
	var err error
	r.db, err = sql.Open(
		"sqlite",
		"file:"+filepath.Join(
			dir,
			"river.db",
		)+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)",
	)
	if err != nil {
		return nil, err
	}
	r.db.SetMaxOpenConns(1)
	driver := riversqlite.New(r.db)
	logger := slog.New(slog.DiscardHandler)
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: logger})
	if err != nil {
		return nil, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{s: r})
	r.client, err = river.NewClient(
		driver,
		&river.Config{Logger: logger, Workers: workers, FetchCooldown: time.Millisecond, FetchPollInterval: time.Millisecond,
			Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}},
	)
	if err != nil {
		return nil, err
	}
	return r, r.client.Start(ctx)
}

func (r *riverSystem) start(ctx context.Context, s shape) error {
	r.end.expect(s.runs)
	if s.fan {
		r.joined.Store(int64(s.steps))
		list := make([]river.InsertManyParams, s.steps)
		for i := range list {
			list[i].Args = riverArgs{s.name, i, s.steps, true, resultOf(i)}
		}
		_, err := r.client.InsertMany(ctx, list)
		return err
	}
	return together(s.runs, func(i int) error {
		_, err := r.client.Insert(ctx, riverArgs{fmt.Sprintf("%s-%d", s.name, i), 0, s.steps, false, resultOf(0)}, nil)
		return err
	})
}

func (r *riverSystem) wait(ctx context.Context, _ shape) error { return r.end.wait(ctx) }

func (r *riverSystem) close() { r.db.Close() }
