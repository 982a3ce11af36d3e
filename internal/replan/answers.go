package replan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// Answers are answers of the planner that runs have not recorded yet. A repeated request gets the same answer. It is safe for
// concurrent use.
type Answers struct {
	mu    sync.Mutex
	byRun map[string]*answer
}

// answer is an answer of the planner, or a call of it.
type answer struct {
	key   runstate.StepKey
	since time.Time     // when the step began to wait
	done  chan struct{} // closed when the fields below are set
	out   domain.Replanned
	err   error
}

// ErrNotAnswered is wrapped by the error of a request that another attempt repeats.
var ErrNotAnswered = errors.New("the planner has not answered")

// Once returns the answer for a step of a run. It calls the planner in the background, unless it has called it for the step. The
// planner may wrap ErrNotAnswered.
func (a *Answers) Once(ctx context.Context, run string, w *runstate.Step, background func(func()),
	planner func() (domain.Replanned, error)) (domain.Replanned, error) {
	a.mu.Lock()
	one := a.byRun[run]
	if one == nil || one.key != w.StepKey || !one.since.Equal(w.Since) {
		one = &answer{key: w.StepKey, since: w.Since, done: make(chan struct{})}
		if a.byRun == nil {
			a.byRun = map[string]*answer{}
		}
		a.byRun[run] = one
		background(func() {
			defer close(one.done)
			one.out, one.err = planner()
		})
	}
	a.mu.Unlock()
	select {
	case <-one.done:
		return one.out, one.err
	case <-ctx.Done():
		return domain.Replanned{}, fmt.Errorf("%w: %w", ErrNotAnswered, context.Cause(ctx))
	}
}

// Forget removes the answer for a run, which has recorded it or has ended.
func (a *Answers) Forget(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byRun, run)
}
