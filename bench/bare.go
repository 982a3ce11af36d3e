package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
)

// bareSystem measures the limit of SQLite: a goroutine per run, one writer that commits all waiting
// work, and one INSERT and one narrow UPDATE per step. It has no plan, no conditions, no hashes, no
// audit log, and no recovery.
type bareSystem struct {
	coded
	db    *sql.DB
	conn  *sql.Conn
	stmts [4]*sql.Stmt // begin, insert, update, commit
	queue chan bareStep
	runs  sync.WaitGroup
	err   error
}

type bareStep struct {
	run, i int
	ack    chan struct{}
}

func openBare(ctx context.Context, dir string, _ bool, _ func(string, int)) (system, error) {
	b := &bareSystem{queue: make(chan bareStep, 512)}
	var err error
	b.db, err = sql.Open(
		"sqlite",
		"file:"+filepath.Join(dir, "bare.db")+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)",
	)
	if err != nil {
		return nil, err
	}
	if b.conn, err = b.db.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err := b.conn.ExecContext(ctx, `CREATE TABLE runs (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
CREATE TABLE steps (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, seq INTEGER NOT NULL, output TEXT NOT NULL, UNIQUE (run,
seq)) STRICT;`); err != nil {
		return nil, err
	}
	for i, text := range []string{"BEGIN IMMEDIATE", "INSERT INTO steps (run, seq, output) VALUES (?, ?, ?)",
		"INSERT INTO runs (id, seq) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq", "COMMIT"} {
		if b.stmts[i], err = b.conn.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
	}
	go b.write()
	return b, nil
}

func (b *bareSystem) write() {
	ctx := context.Background()
	exec := func(i int, args ...any) {
		if _, err := b.stmts[i].ExecContext(ctx, args...); err != nil {
			panic(fmt.Sprintf("bare: %v", err))
		}
	}
	const text = `{"id": 1, "name": "a result of about one hundred bytes of JSON, as a step gives it", "value": 42, "ok": true}`
	batch := make([]bareStep, 0, 512)
	for s := range b.queue {
		batch = append(batch[:0], s)
	drain:
		for len(batch) < cap(batch) {
			select {
			case s := <-b.queue:
				batch = append(batch, s)
			default:
				break drain
			}
		}
		exec(0)
		for _, s := range batch {
			exec(1, s.run, s.i, text)
			exec(2, s.run, s.i)
		}
		exec(3)
		for _, s := range batch {
			s.ack <- struct{}{}
		}
	}
}

var bareRuns int

func (b *bareSystem) start(_ context.Context, s shape) error {
	ahead := 1 // maximum number of unacknowledged steps of a run
	if s.pure {
		ahead = 64
	}
	if s.fan {
		ahead = s.steps
	}
	for range s.runs {
		bareRuns++
		id := bareRuns
		b.runs.Go(func() {
			ack := make(chan struct{}, ahead)
			open := 0
			for i := range s.steps {
				if open == ahead {
					<-ack
					open--
				}
				b.queue <- bareStep{id, i, ack}
				open++
			}
			for ; open > 0; open-- {
				<-ack
			}
			if s.fan {
				b.queue <- bareStep{id, s.steps, ack}
				<-ack
			}
		})
	}
	return nil
}

func (b *bareSystem) wait(context.Context, shape) error {
	b.runs.Wait()
	return nil
}

func (b *bareSystem) close() { b.db.Close() }
