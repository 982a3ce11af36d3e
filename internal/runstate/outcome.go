package runstate

import (
	"github.com/kairosd/kairosd/planner/walk"
)

// Outcome is what becomes of a failed attempt.
type Outcome int

const (
	OutcomeFailed      Outcome = iota // the step has failed
	OutcomeRetry                      // it is tried again
	OutcomeInDoubt                    // it is unknown whether it had its effect
	OutcomeInterrupted                // the daemon stopped or died; it costs no retry
	OutcomeCancelled
)

// AttemptEnd is everything that decides about a failed attempt. It is pure: see
// the table in its test.
type AttemptEnd struct {
	Effect                      walk.Effect
	Stepped                     bool // everything with an effect is a sub-step: only one of these can be in doubt
	OpenCall                    bool // a non-idempotent sub-step has no recorded outcome
	NoEffect                    bool // it is proved that nothing happened outside
	Permanent                   bool
	Interrupted                 bool
	Cancelled                   bool // the run is being cancelled
	Stopping                    bool // the run stops because of another failure
	FailedAttempts, MaxAttempts int  // failed attempts with this one; attempts allowed
}

// Outcome is what becomes of the attempt. An open call decides alone: neither the
// class of its step nor the failure of the attempt applies to that call.
func (j AttemptEnd) Outcome() Outcome {
	unsafe := j.Effect == walk.EffectUnsafe && !j.Stepped
	switch {
	case j.OpenCall: //seed:open-call
		return OutcomeInDoubt
	case unsafe && !j.NoEffect: //seed:unsafe-again
		return OutcomeInDoubt
	case j.Cancelled:
		return OutcomeCancelled
	case j.Interrupted:
		return OutcomeInterrupted
	case j.Permanent, j.Stopping, j.FailedAttempts >= j.MaxAttempts:
		return OutcomeFailed
	}
	return OutcomeRetry
}

// LostOutcome is the outcome of an attempt in flight whose process has crashed. stepped is
// set if everything with an effect in its node is a sub-step.
func LostOutcome(w *Step, stepped, cancelled bool) Outcome {
	return AttemptEnd{Effect: w.Effect, OpenCall: len(w.CallsInFlight) > 0, Interrupted: true, Cancelled: cancelled,
		MaxAttempts: 1, Stepped: stepped}.Outcome()
}
