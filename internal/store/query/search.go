package query

import (
	"context"
	"time"
)

// Bounds say how long a search that no index serves may take.
type Bounds struct {
	// Time is when it ends: what was found by then is shown, with where it stopped.
	Time time.Duration
	// Grace is how long a step may go on behind that. Pages that are not in memory
	// make one step take as long as a hundred before it.
	Grace time.Duration
}

// Quickly are the bounds of a search that somebody waits for.
var Quickly = Bounds{20 * time.Millisecond, 15 * time.Millisecond}

const (
	// searchStep is how long one step of a search may take for the next one to be
	// larger.
	searchStep = time.Millisecond
	// leastWindow is how many rows a step looks at even where rows are slow.
	leastWindow = 16
)

// search goes through rows in steps, for a bounded time. Its steps grow while they
// are quick, and shrink where they are slow. One that takes too long is broken off,
// and what it saw is lost; the search then ends where that step began. There is
// always one step: if the first is broken off, a small one takes its place, as long
// as that may take, and others follow for half the time.
type search struct {
	size   int64 // rows that the next step is to look at
	grow   int64 // how many times as large the one after it may be
	bounds Bounds
	began  time.Time
	done   int // steps
	small  bool
}

func newSearch(size, grow int64, bounds Bounds) *search {
	return &search{size: size, grow: grow, bounds: bounds, began: time.Now()}
}

// over reports that the time is up.
func (s *search) over() bool { return s.done > 0 && time.Since(s.began) > s.bounds.Time }

// step does a step, and reports false if it was broken off: nothing of what it found
// counts.
func (s *search) step(ctx context.Context, do func(context.Context) error) (bool, error) {
	bound := ctx
	if !s.small || s.done > 0 {
		var cancel context.CancelFunc
		bound, cancel = context.WithDeadline(ctx, s.began.Add(s.bounds.Time+s.bounds.Grace))
		defer cancel()
	}
	began := time.Now()
	if err := do(bound); err != nil {
		if bound.Err() == nil || ctx.Err() != nil {
			return false, err
		}
		if s.size = leastWindow; s.done == 0 {
			s.small, s.began = true, time.Now().Add(-s.bounds.Time/2)
		}
		return false, nil
	}
	s.done++
	switch took := time.Since(began); {
	case took < searchStep/time.Duration(s.grow):
		s.size *= s.grow
	case took < searchStep:
		s.size *= 2
	case took > 2*searchStep:
		s.size = max(s.size/2, leastWindow)
	}
	return true, nil
}
