package engine

import (
	"context"
	"math"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/timing"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/runstate/runstatetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// OnFlush sets a function that receives the digest of the live state at every checkpoint that is
// handed over.
func (e *Engine) OnFlush(f func(run string, seq int64, digest string)) {
	e.flushed = func(run string, s *runstate.State) { f(run, s.Seq, runstatetest.Digest(s)) }
}

// Queue adds a run to the queue, as the start of a run does after the run was stored.
func (e *Engine) Queue(run domain.Run) { e.sched.enqueue(ticketOf(&run)) }

// Mail returns the number of messages that wait for a run's goroutine.
func (e *Engine) Mail(run string) int {
	a := e.runs.get(run)
	if a == nil {
		return 0
	}
	a.inbox.mu.Lock()
	defer a.inbox.mu.Unlock()
	return len(a.inbox.mail)
}

// Deferred reports whether a run's goroutine has handled all its messages and
// waits for the store.
func (e *Engine) Deferred(run string) bool {
	a := e.runs.get(run)
	return a != nil && e.Mail(run) == 0 && a.pipe.wakeAt.Load() != math.MaxInt64
}

// Attempts returns the number of running handlers.
func (e *Engine) Attempts() int {
	n := 0
	for range e.handlers.running.Range {
		n++
	}
	return n
}

// Runners returns the number of runs with a goroutine.
func (e *Engine) Runners() int { return e.runs.count() }

// LookAtClock sets the interval at which forward jumps of the clock are detected. Call it before
// the engine is opened.
func (e *Engine) LookAtClock(every time.Duration) { e.timers.RecheckEvery = every }

// PutClock makes the machine's clock differ by the duration that off returns. Call it before the
// engine is opened.
func (e *Engine) PutClock(off func() time.Duration) {
	machine := e.clock.Machine
	e.clock.Machine = func() timing.Reading {
		r := machine()
		return timing.Reading{Time: r.Time.Add(off()), Passed: r.Passed}
	}
}

// FoldDigest folds the first rows of a journal and returns the state's digest.
func (e *Engine) FoldDigest(p *walk.Program, run domain.Run, rows []domain.Entry) (string, error) {
	input, err := runstate.Decode(run.Input)
	if err != nil {
		return "", err
	}
	f := runstate.Facts{
		Run:   run.ID,
		Input: input,
		Program: func(hash string) (*walk.Program, error) {
			return e.Program(context.Background(), domain.AsWritten(hash))
		},
	}
	if hash := runstate.FirstVersion(rows); hash != "" {
		if p, err = f.Program(hash); err != nil {
			return "", err
		}
	}
	s, err := runstate.Fold(p, f, rows)
	if err != nil {
		return "", err
	}
	return runstatetest.Digest(s), nil
}

// Derived returns the events of a stored record.
func (e *Engine) Derived(t interface{ Fatal(args ...any) }, ev domain.AuditEvent) []domain.Event {
	list, err := e.Derive(context.Background(), ev)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
