// Package circuit stops calls after repeated failures: calls to a model provider, a tool, or one
// of the hosts that a tool reaches. Each has a circuit. It is closed while calls are made, open
// while they are refused, and half open while one trial call is made.
//
//	pass, refusal := board.Enter(circuit.ID{Subject: "tool:http", Part: "api.example"}, circuit.Settings{})
//	if refusal != nil {
//		return refusal.Failure("tool_circuit_open", "api.example")
//	}
//	err := call()
//	board.Leave(pass, verdict(err), err)
package circuit

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Settings configure when a circuit opens. The zero value is the default.
type Settings struct {
	// Failures is the number of consecutive failures that open the circuit; 0: 5, -1: never.
	Failures int `yaml:"failures" json:"failures"`
	// Cooldown is the first cooldown; 0: 30 s. A failed trial doubles the cooldown, up to a minute, or
	// to Rest if that is longer.
	Cooldown time.Duration `yaml:"rest" json:"rest"`
}

const (
	usualFailures = 5
	usualRest     = 30 * time.Second
	// longRest is the longest automatic cooldown.
	longRest = time.Minute
	// maxRest is the longest cooldown that can be configured. To stop calls for longer, disable
	// the tool or provider.
	maxRest = time.Hour
	// trialWait is the wait before another request while a trial is active.
	trialWait = 5 * time.Second
)

// Check returns an error for invalid settings. of names the section of the configuration.
func (s Settings) Check(of string) error {
	switch {
	case s.Failures < -1:
		return fmt.Errorf("%s.failures must be a number of consecutive failures, or -1", of)
	case s.Cooldown < 0 || s.Cooldown > maxRest:
		return fmt.Errorf("%s.rest %s must be positive and at most %s", of, s.Cooldown, maxRest)
	}
	return nil
}

// WithDefaults replaces zero values with defaults.
func (s Settings) WithDefaults() Settings {
	if s.Failures == 0 {
		s.Failures = usualFailures
	}
	if s.Cooldown == 0 {
		s.Cooldown = usualRest
	}
	return s
}

// Verdict is what the outcome of a call shows about the called system.
type Verdict int

const (
	Silent Verdict = iota // unknown
	Well                  // it works, even if it rejected the request
	Unwell                // it failed
)

// Breaker is the state of one circuit. The zero value is closed, with default settings. A Breaker
// is not safe for concurrent use; a [Board] is.
type Breaker struct {
	Settings

	row   int           // consecutive failures
	until time.Time     // if not zero, the circuit is open until this time, and half open after it
	rest  time.Duration // cooldown of the last opening
	trial bool          // a trial is active
}

// State returns the state, the time until which the circuit is open, and the number of consecutive
// failures.
func (b *Breaker) State(now time.Time) (state domain.CircuitState, until time.Time, row int) {
	switch {
	case b.until.IsZero():
		return domain.CircuitClosed, time.Time{}, b.row
	case now.Before(b.until):
		return domain.CircuitOpen, b.until, b.row
	}
	return domain.CircuitHalfOpen, time.Time{}, b.row
}

// Enter requests a call. If wait is above 0, do not make the call before that time. Otherwise call
// Leave with trial and the verdict.
func (b *Breaker) Enter(now time.Time) (trial bool, wait time.Duration) {
	switch {
	case b.until.IsZero():
		return false, 0
	case now.Before(b.until):
		return false, b.until.Sub(now)
	case b.trial:
		return false, trialWait
	}
	b.trial = true
	return true, 0
}

// Leave reports the outcome of a call.
func (b *Breaker) Leave(now time.Time, trial bool, v Verdict) {
	if trial {
		b.trial = false
	}
	switch v {
	case Well:
		b.Close()
	case Unwell:
		b.row++
		s := b.WithDefaults()
		switch {
		case trial:
			b.rest = min(2*b.rest, max(longRest, s.Cooldown))
		case !b.until.IsZero() || s.Failures < 0 || b.row < s.Failures:
			return // the call began before the circuit opened
		}
		if b.rest == 0 {
			b.rest = s.Cooldown
		}
		b.until = now.Add(b.rest)
	}
}

// Close closes the circuit and clears the failures.
func (b *Breaker) Close() { b.row, b.until, b.rest = 0, time.Time{}, 0 }

// Restore applies the state from before a restart. An open circuit permits one trial at once,
// because the restart may have been the repair.
func (b *Breaker) Restore(now time.Time, state domain.CircuitState, row int) {
	b.row = max(row, 0)
	if state == domain.CircuitOpen || state == domain.CircuitHalfOpen {
		b.until = now
	}
}
