package walk

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Backoff defines how long to wait between attempts: a list of waits, or a geometric series. The
// zero value waits 0 s.
type Backoff struct {
	// List, if not empty, sets the waits. Before attempt n+1, wait List[min(n, len(List))-1].
	List []time.Duration
	// Without a List, the wait after attempt n is Initial·Factor^(n-1), but at most Max. If Max is
	// 0, the wait has no limit.
	Initial time.Duration
	Factor  float64 // 0 means 2
	Max     time.Duration
	// Jitter, from 0 to 1, spreads a wait over the range from (1-Jitter)·wait to wait.
	Jitter float64
}

// String lists the waits, or describes the series: "1s, 5s", or "1s × 2, at most 1m0s". It is empty if there
// are none.
func (b Backoff) String() string {
	waits := make([]string, len(b.List))
	for i, d := range b.List {
		waits[i] = d.String()
	}
	if len(waits) > 0 || b.Initial <= 0 {
		return strings.Join(waits, ", ")
	}
	s := fmt.Sprintf("%s × %v", b.Initial, cmp.Or(b.Factor, 2))
	if b.Max > 0 {
		s += ", at most " + b.Max.String()
	}
	return s
}

// Delay returns the wait after failed attempt n, where n is at least 1. The fraction, at least 0
// and less than 1, selects the point inside the jitter. The result is never negative.
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
