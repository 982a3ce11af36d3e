package engine

import (
	"context"
	"errors"
	"fmt"

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
	// Failure states why there is no version.
	Failure string
	// Again reports that the run has changed since, so that it may repeat its request.
	Again bool
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
	r.answers.Forget(run)
	target, err := r.put(ctx, req.Version, out)
	if err != nil {
		return r.failed(domain.Usage{}, err)
	}
	failpoint.Hit("replan.planned")
	return Replanned{Target: target, Unsafe: out.Unsafe}, nil
}

// failed returns the result of a request that leads to no version, unless another attempt may lead to one.
func (r *replans) failed(usage domain.Usage, err error) (Replanned, error) {
	switch domain.CodeOf(err) {
	case domain.CodeUnavailable, domain.CodeLocked:
		return Replanned{}, err
	}
	if errors.Is(err, replan.ErrNotAnswered) {
		return Replanned{}, err
	}
	return Replanned{Failure: r.reason(err), Usage: usage}, nil
}

// answer calls the planner once for a step, and returns its answer.
func (r *replans) answer(ctx context.Context, w *runstate.Step, req domain.ReplanRequest) (domain.Replanned, error) {
	return r.answers.Once(ctx, req.Run.ID, w, r.e.background, func() (domain.Replanned, error) {
		ctx, cancel := context.WithTimeout(r.e.base, replanTimeout)
		defer cancel()
		failpoint.Hit("replan.asked")
		out, err := r.planner.Replan(ctx, req)
		if context.Cause(r.e.base) != nil {
			err = fmt.Errorf("%w: %w", replan.ErrNotAnswered, ErrStopping)
		}
		failpoint.Hit("replan.answered")
		return out, err
	})
}

// Agents returns the agents of the steps of a program, by index.
func (s Records) Agents(p *runstate.Compiled) []string { return s.e.current().nodeAgents(p) }
