// Package circuit keeps calls from what has failed again and again (L07): a
// provider of models, a tool, or one of the hosts that a tool reaches. Each is a
// circuit: closed while calls are made, open while they are refused without being
// made, half open when one of them is tried.
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

// Settings say when a circuit opens. The zero value is the default.
type Settings struct {
	// Failures in a row that open it; 0: 5, -1: it never opens.
	Failures int `yaml:"failures" json:"failures"`
	// Rest is how long it stays open at first; 0: 30 s. A trial that fails opens it
	// for twice as long, at most a minute, or Rest where that is longer.
	Rest time.Duration `yaml:"rest" json:"rest"`
}

const (
	usualFailures = 5
	usualRest     = 30 * time.Second
	// longRest is up to where rests grow by themselves.
	longRest = time.Minute
	// maxRest bounds what may be configured: an operator disables what is not to be
	// tried for longer.
	maxRest = time.Hour
	// trialWait is when to ask again while one call is tried.
	trialWait = 5 * time.Second
)

// Check refuses what cannot be meant; of names the section.
func (s Settings) Check(of string) error {
	switch {
	case s.Failures < -1:
		return fmt.Errorf("%s.failures is how many failures in a row, or -1", of)
	case s.Rest < 0 || s.Rest > maxRest:
		return fmt.Errorf("%s.rest %s is no time of at most %s", of, s.Rest, maxRest)
	}
	return nil
}

// WithDefaults fills in what is zero.
func (s Settings) WithDefaults() Settings {
	if s.Failures == 0 {
		s.Failures = usualFailures
	}
	if s.Rest == 0 {
		s.Rest = usualRest
	}
	return s
}

// Verdict is what a call says of whom it was made to.
type Verdict int

const (
	Silent Verdict = iota // nobody can say
	Well                  // it works, whatever it says of the request
	Unwell                // it does not
)

// Breaker is the state of one circuit. The zero value is closed, with the default
// settings. It is not safe for concurrent use: a [Board] is.
type Breaker struct {
	Settings

	row   int           // failures in a row
	until time.Time     // not zero: it is open, or half open from then on
	rest  time.Duration // of the last opening
	trial bool          // a call is tried
}

// State is where the breaker stands, until when it is open, and how many calls
// have failed in a row.
func (b *Breaker) State(now time.Time) (state domain.CircuitState, until time.Time, row int) {
	switch {
	case b.until.IsZero():
		return domain.CircuitClosed, time.Time{}, b.row
	case now.Before(b.until):
		return domain.CircuitOpen, b.until, b.row
	}
	return domain.CircuitHalfOpen, time.Time{}, b.row
}

// Enter asks for a call. wait above 0: it may not be made, and not before that
// time. Otherwise Leave has to be called with trial and what the call says.
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

// Leave tells how a call ended.
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
			b.rest = min(2*b.rest, max(longRest, s.Rest))
		case !b.until.IsZero() || s.Failures < 0 || b.row < s.Failures:
			return // also a call that had begun before it opened
		}
		if b.rest == 0 {
			b.rest = s.Rest
		}
		b.until = now.Add(b.rest)
	}
}

// Close lets calls be made, and forgets the failures.
func (b *Breaker) Close() { b.row, b.until, b.rest = 0, time.Time{}, 0 }

// Restore takes up what was known before a restart. One that was open lets the
// first call try, since the restart may have been the repair.
func (b *Breaker) Restore(now time.Time, state domain.CircuitState, row int) {
	b.row = max(row, 0)
	if state == domain.CircuitOpen || state == domain.CircuitHalfOpen {
		b.until = now
	}
}
