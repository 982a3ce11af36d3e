// Package timing contains the clock of an engine, and its timers.
package timing

import (
	"sync/atomic"
	"time"
)

// Clock is the clock of the engine: the system clock, except that it does not go back when the
// system clock does. Therefore no timer is late, no retry is early, and rows of a journal are in
// order of time. The clock follows when the system clock jumps forward, because the monotonic clock
// stops while the machine sleeps.
type Clock struct {
	// Machine reads the clocks of the machine.
	Machine func() Reading
	base    atomic.Pointer[Reading]
}

// Reading is a reading of both clocks of the machine.
type Reading struct {
	Time   time.Time
	Passed time.Duration // monotonic, since some point in time
}

// clockSlack is the tolerated difference between both clocks, which are not read at the same
// moment.
const clockSlack = time.Millisecond

// New returns the clock of this machine.
func New() *Clock {
	began := time.Now()
	return &Clock{Machine: func() Reading {
		t := time.Now()
		return Reading{t.Round(0), t.Sub(began)}
	}}
}

// Now returns the time as the journal stores it: in microseconds, UTC.
func (c *Clock) Now() time.Time {
	t, _ := c.read()
	return t.UTC().Truncate(time.Microsecond)
}

// Monotonic returns a reading of the monotonic clock. It is positive.
func (c *Clock) Monotonic() time.Duration { return c.Machine().Passed + 1 }

// Ahead returns by how much the engine's clock is ahead of the system clock because that was set
// back, or 0.
func (c *Clock) Ahead() time.Duration {
	t, machine := c.read()
	if d := t.Sub(machine); d > clockSlack {
		return d
	}
	return 0
}

func (c *Clock) read() (t, machine time.Time) {
	r := c.Machine()
	for {
		base := c.base.Load()
		if base != nil {
			if t = base.Time.Add(r.Passed - base.Passed); r.Time.Sub(t) <= clockSlack {
				return t, r.Time
			}
		}
		if read := r; c.base.CompareAndSwap(base, &read) { // a copy, because otherwise every reading would be allocated
			return r.Time, r.Time
		}
	}
}
