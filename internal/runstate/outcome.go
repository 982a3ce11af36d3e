package runstate

import (
	"github.com/kairosd/kairosd/planner/walk"
)

// Outcome is the consequence of a failed attempt.
type Outcome int

const (
	OutcomeFailed      Outcome = iota // the step has failed
	OutcomeRetry                      // it is attempted again
	OutcomeInDoubt                    // it is unknown whether the attempt had its effect
	OutcomeInterrupted                // the daemon stopped or crashed; the retry budget stays
	OutcomeCancelled
)

// AttemptEnd holds everything that determines the outcome of a failed attempt.
type AttemptEnd struct {
	Effect                      walk.Effect
	Stepped                     bool // all effects happen in sub-steps, so only these can be in doubt
	OpenCall                    bool // a non-idempotent sub-step has no recorded outcome
	NoEffect                    bool // the attempt certainly had no effect on other systems
	Permanent                   bool
	Interrupted                 bool
	Cancelled                   bool // the run is being cancelled
	Stopping                    bool // the run is stopping because of another failure
	FailedAttempts, MaxAttempts int  // failed attempts including this one, and the allowed number
}

// Outcome returns the outcome of the attempt. An open call decides alone, because neither the
// side-effect class of the step nor the failure of the attempt applies to that call.
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

// LostOutcome returns the outcome of an attempt in flight whose process crashed. stepped reports
// that all effects of its node happen in sub-steps.
func LostOutcome(w *Step, stepped, cancelled bool) Outcome {
	return AttemptEnd{Effect: w.Effect, OpenCall: len(w.CallsInFlight) > 0, Interrupted: true, Cancelled: cancelled,
		MaxAttempts: 1, Stepped: stepped}.Outcome()
}
