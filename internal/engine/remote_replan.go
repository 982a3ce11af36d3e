package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/replan"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// A run that a Remote executes requests a plan twice. The first result is the answer of the planner, which the run records. The
// second one is the version that was made from the recorded answer.

// Replanned is one of the results.
type Replanned struct {
	// Answer is the answer of the planner, or nil. The run records it together with Usage, and repeats its request.
	Answer *runstate.PlannerAnswer
	Usage  domain.Usage
	// Target is the stored version, and Unsafe its new steps that a person must accept.
	Target runstate.ReplanTarget
	Unsafe []string
	// Failure is the reason why there is no version.
	Failure string
	// Again reports that the run has changed since, so that it may repeat its request.
	Again bool
}

// answers are the answers of the planner that the runs of a Remote have not recorded yet. A repeated request gets the same answer,
// unless kairosd was restarted.
type answers struct {
	mu    sync.Mutex
	byRun map[string]*plannerAnswer
}

// plannerAnswer is an answer of the planner, or a request that it has not answered.
type plannerAnswer struct {
	key   runstate.StepKey
	since time.Time     // when the step began to wait
	done  chan struct{} // closed when the fields below are set
	out   domain.Replanned
	err   error
}

// forget removes the answer for a run, which has recorded it or has ended.
func (a *answers) forget(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byRun, run)
}

// Replan calls the planner for a run that waits for a plan at a position, or stores the version of the recorded answer. If the
// record has not reached the position, the error wraps ErrGap.
func (s Records) Replan(ctx context.Context, run string, seq int64) (Replanned, error) {
	r := s.e.replans
	if s.e.runs.isStopping() {
		return Replanned{}, errNotOpen()
	}
	now, err := s.e.store.Run(ctx, run)
	if err != nil {
		return Replanned{}, err
	}
	if now.LastSeq < seq {
		return Replanned{}, fmt.Errorf("run %s is at position %d, and waits for a plan at %d: %w", run, now.LastSeq, seq, ErrGap)
	}
	w, req, err := r.request(ctx, run)
	switch {
	case domain.CodeOf(err) == domain.CodeConflict && now.LastSeq > seq:
		return Replanned{Again: true}, nil
	case err != nil:
		return r.failed(domain.Usage{}, err)
	}
	out, recorded, err := replan.Recorded(w)
	if err != nil {
		return r.failed(domain.Usage{}, err)
	}
	if !recorded {
		if out, err = r.answer(ctx, w, req); err != nil {
			return r.failed(out.Usage, err)
		}
		return Replanned{Usage: out.Usage,
			Answer: &runstate.PlannerAnswer{Source: string(out.Source), Reason: out.Reason, Unsafe: out.Unsafe}}, nil
	}
	r.answers.forget(run)
	target, err := r.put(ctx, req.Version, out)
	if err != nil {
		return r.failed(domain.Usage{}, err)
	}
	failpoint.Hit("replan.planned")
	return Replanned{Target: target, Unsafe: out.Unsafe}, nil
}

// errNotAnswered is wrapped by the error of a request that another attempt repeats.
var errNotAnswered = errors.New("the planner was not called")

// failed returns the result of a request that leads to no version, unless another attempt may lead to one.
func (r *replans) failed(usage domain.Usage, err error) (Replanned, error) {
	switch domain.CodeOf(err) {
	case domain.CodeUnavailable, domain.CodeLocked:
		return Replanned{}, err
	}
	if errors.Is(err, errNotAnswered) {
		return Replanned{}, err
	}
	return Replanned{Failure: r.reason(err), Usage: usage}, nil
}

// answer calls the planner once for a step, and returns its answer.
func (r *replans) answer(ctx context.Context, w *runstate.Step, req domain.ReplanRequest) (domain.Replanned, error) {
	r.answers.mu.Lock()
	a := r.answers.byRun[req.Run.ID]
	if a == nil || a.key != w.StepKey || !a.since.Equal(w.Since) {
		a = &plannerAnswer{key: w.StepKey, since: w.Since, done: make(chan struct{})}
		if r.answers.byRun == nil {
			r.answers.byRun = map[string]*plannerAnswer{}
		}
		r.answers.byRun[req.Run.ID] = a
		r.e.background(func() {
			defer close(a.done)
			ctx, cancel := context.WithTimeout(r.e.base, replanTimeout)
			defer cancel()
			failpoint.Hit("replan.asked")
			a.out, a.err = r.planner.Replan(ctx, req)
			if context.Cause(r.e.base) != nil {
				a.err = fmt.Errorf("%w: %w", errNotAnswered, ErrStopping)
			}
			failpoint.Hit("replan.answered")
		})
	}
	r.answers.mu.Unlock()
	select {
	case <-a.done:
		return a.out, a.err
	case <-ctx.Done():
		return domain.Replanned{}, fmt.Errorf("%w: %w", errNotAnswered, context.Cause(ctx))
	}
}

// Agents returns the agents of the steps of a program, by index.
func (s Records) Agents(p *runstate.Compiled) []string { return s.e.current().nodeAgents(p) }
