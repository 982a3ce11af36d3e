package runstate

import (
	"testing"

	"github.com/kairosd/kairosd/planner/walk"
)

func TestOutcomesOfFailedAttempts(t *testing.T) {
	t.Parallel()
	unsafe, once := walk.EffectUnsafe, walk.EffectIdempotent
	for name, tt := range map[string]struct {
		AttemptEnd
		want Outcome
	}{
		"a failure is tried again": {AttemptEnd{Effect: once, FailedAttempts: 1, MaxAttempts: 2}, OutcomeRetry},
		"the last attempt fails":   {AttemptEnd{Effect: once, FailedAttempts: 2, MaxAttempts: 2}, OutcomeFailed},
		"a permanent failure fails at once": {AttemptEnd{Effect: once, FailedAttempts: 1, MaxAttempts: 9, Permanent: true},
			OutcomeFailed},
		"a stopping run tries nothing again": {AttemptEnd{Effect: once, FailedAttempts: 1, MaxAttempts: 9, Stopping: true},
			OutcomeFailed},
		"an interruption costs no retry": {AttemptEnd{Effect: once, FailedAttempts: 9, MaxAttempts: 1, Interrupted: true},
			OutcomeInterrupted},
		"a cancelled attempt": {AttemptEnd{Effect: once, FailedAttempts: 1, MaxAttempts: 1, Cancelled: true},
			OutcomeCancelled},
		"unsafe without proof": {AttemptEnd{Effect: unsafe, FailedAttempts: 1, MaxAttempts: 3}, OutcomeInDoubt},
		"unsafe, permanent, without proof": {AttemptEnd{Effect: unsafe, FailedAttempts: 1, MaxAttempts: 3, Permanent: true},
			OutcomeInDoubt},
		"unsafe with proof is tried again": {AttemptEnd{Effect: unsafe, FailedAttempts: 1, MaxAttempts: 3, NoEffect: true},
			OutcomeRetry},
		"unsafe, interrupted": {AttemptEnd{Effect: unsafe, FailedAttempts: 1, MaxAttempts: 1,
			Interrupted: true}, OutcomeInDoubt},
		"unsafe, interrupted before it began": {AttemptEnd{Effect: unsafe, FailedAttempts: 1, MaxAttempts: 1,
			Interrupted: true, NoEffect: true}, OutcomeInterrupted},
		"unsafe, cancelled": {AttemptEnd{Effect: unsafe, FailedAttempts: 1, MaxAttempts: 1, Cancelled: true},
			OutcomeInDoubt},
		"a stepped handler between its steps": {AttemptEnd{Effect: unsafe, Stepped: true, FailedAttempts: 1, MaxAttempts: 1,
			Interrupted: true}, OutcomeInterrupted},
		"a stepped handler with a step in flight": {AttemptEnd{Effect: unsafe, Stepped: true, OpenCall: true, FailedAttempts: 1,
			MaxAttempts: 1, Interrupted: true}, OutcomeInDoubt},
		"an open call in an idempotent step": {AttemptEnd{Effect: once, Stepped: true, OpenCall: true, FailedAttempts: 1,
			MaxAttempts: 3}, OutcomeInDoubt},
		"an open call in an interrupted step": {AttemptEnd{Effect: once, Stepped: true, OpenCall: true, FailedAttempts: 1,
			MaxAttempts: 3, Interrupted: true}, OutcomeInDoubt},
		"an open call beside a harmless failure": {AttemptEnd{Effect: unsafe, Stepped: true, OpenCall: true, NoEffect: true,
			FailedAttempts: 1, MaxAttempts: 3}, OutcomeInDoubt},
		"an open call in a pure step, cancelled": {AttemptEnd{Effect: walk.EffectPure, OpenCall: true, Cancelled: true,
			FailedAttempts: 1, MaxAttempts: 1}, OutcomeInDoubt},
		"pure and read attempts are never in doubt": {AttemptEnd{Effect: walk.EffectRead, FailedAttempts: 1, MaxAttempts: 1},
			OutcomeFailed},
	} {
		if got := tt.Outcome(); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}
