package walk

import (
	"math"
	"time"
)

// Backoff is a list of waits, or a geometric series; the zero value waits not
// at all.
type Backoff struct {
	// List, if not empty: before attempt n+1 wait List[min(n, len)-1].
	List []time.Duration
	// Initial·Factor^(n-1), at most Max (0: no bound).
	Initial time.Duration
	Factor  float64 // default 2
	Max     time.Duration
	// Jitter in 0…1 spreads the wait over [1-Jitter, 1]·wait.
	Jitter float64
}

// Delay returns the wait after the n-th failed attempt, n ≥ 1. The fraction in
// [0, 1) picks the point inside the jitter; the result is never negative.
func (b Backoff) Delay(n int, fraction float64) time.Duration {
	if n < 1 {
		n = 1
	}
	if len(b.List) > 0 {
		return b.List[min(n, len(b.List))-1]
	}
	if b.Initial <= 0 {
		return 0
	}
	factor := b.Factor
	if factor <= 0 {
		factor = 2
	}
	wait := float64(b.Initial) * math.Pow(factor, float64(n-1))
	if b.Max > 0 && wait > float64(b.Max) {
		wait = float64(b.Max)
	}
	if wait > math.MaxInt64/2 {
		wait = math.MaxInt64 / 2
	}
	if b.Jitter > 0 {
		wait *= 1 - min(b.Jitter, 1)*fraction
	}
	return time.Duration(wait)
}
