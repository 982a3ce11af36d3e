package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kairosd/kairosd/planner"
)

// Circuit says whether calls reach a provider.
type Circuit string

const (
	Closed   Circuit = "closed"    // they do
	Open     Circuit = "open"      // they are refused until a time
	HalfOpen Circuit = "half_open" // one is tried, the others are refused
)

// Breaker keeps calls from a provider that has failed again and again (L07): they
// are refused at once, for a time, then one is tried. The zero value is closed. It
// is safe for concurrent use.
type Breaker struct {
	// Failures in a row that open it; 0: 5, below 0: it never opens.
	Failures int
	// Rest is how long it stays open at first; 0: 30 s. A trial that fails opens it
	// for twice as long, at most [MaxRetryAfter].
	Rest time.Duration

	mu    sync.Mutex
	row   int           // failures in a row
	until time.Time     // not zero: it is open, or half open from then on
	rest  time.Duration // of the last opening
	trial bool          // a call is tried
}

// trialWait is when to ask again while one call is tried.
const trialWait = 5 * time.Second

// State is where the breaker stands, until when it is open, and how many calls
// have failed in a row.
func (b *Breaker) State(now time.Time) (c Circuit, until time.Time, row int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return Closed, time.Time{}, b.row
	case now.Before(b.until):
		return Open, b.until, b.row
	}
	return HalfOpen, time.Time{}, b.row
}

// Restore takes up what was known before a restart: a breaker that was open lets
// the first call try, since the restart may have been the repair.
func (b *Breaker) Restore(c Circuit, row int, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.row = max(row, 0)
	if c == Open || c == HalfOpen {
		b.until = now
	}
}

// Enter asks for a call. wait above 0: it may not be made, and not before that
// time. Otherwise Leave has to be called with trial and the call's error.
func (b *Breaker) Enter(now time.Time) (trial bool, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
func (b *Breaker) Leave(now time.Time, trial bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	switch judge(err) {
	case well:
		b.row, b.until, b.rest = 0, time.Time{}, 0
	case unwell:
		b.row++
		most := b.Failures
		if most == 0 {
			most = 5
		}
		switch {
		case trial:
			b.rest = min(2*b.rest, MaxRetryAfter)
		case !b.until.IsZero() || most < 0 || b.row < most:
			return // a call that had begun before it opened
		}
		if b.rest == 0 {
			if b.rest = b.Rest; b.rest == 0 {
				b.rest = 30 * time.Second
			}
		}
		b.until = now.Add(b.rest)
	}
}

type verdict int

const (
	well   verdict = iota // the server works, whatever it says of the request
	unwell                // it does not
	silent                // nobody can say
)

// judge tells what a call says of its server. A refusal, a limit or a wrong key is
// an answer of a server that works.
func judge(err error) verdict {
	if err == nil {
		return well
	}
	if errors.Is(err, context.Canceled) {
		return silent
	}
	f, ok := errors.AsType[*planner.Failure](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), ok && f.Code == planner.CodeTimeout:
		return unwell
	case !ok:
		return silent
	case f.Code == planner.CodeCancelled:
		return silent
	case (f.Code == CodeUnavailable || f.Code == CodeTruncated) && !f.Permanent:
		return unwell
	case f.Code == CodeRateLimited, f.Code == CodeAuth, f.Code == CodeRejected, f.Code == CodeTooLong, f.Code == CodeMaxTokens, f.Code == CodeRefused:
		return well
	}
	return silent
}

// CodeCircuitOpen is the failure of a call that a breaker refused: it was not made.
const CodeCircuitOpen = "provider_circuit_open"

// Refused is the failure of a call that a breaker refused. A retry waits until the
// provider is tried again.
func Refused(name string, wait time.Duration, last string) *planner.Failure {
	f := &planner.Failure{Code: CodeCircuitOpen, NoEffect: true, RetryAfter: min(wait, MaxRetryAfter),
		Message:    fmt.Sprintf("the provider %s has failed again and again; it is called again in %s", name, wait.Round(time.Second)),
		Suggestion: "see its last error; give the node a retry that lasts longer"}
	if last != "" {
		f.Message += ". Last error: " + first(last)
	}
	return f
}
