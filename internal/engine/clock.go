package engine

import (
	"sync/atomic"
	"time"
)

// clock is the clock of the engine: the system clock, except that it does not go back when the
// system clock does. Therefore no timer is late, no retry is early, and rows of a journal are in
// order of time. The clock follows when the system clock jumps forward, because the monotonic clock
// stops while the machine sleeps.
type clock struct {
	machine func() reading
	base    atomic.Pointer[reading]
}

// reading is a reading of both clocks of the machine.
type reading struct {
	time   time.Time
	passed time.Duration // monotonic, since some point in time
}

// clockSlack is the tolerated difference between both clocks, which are not read at the same
// moment.
const clockSlack = time.Millisecond

func newClock() *clock {
	began := time.Now()
	return &clock{machine: func() reading {
		t := time.Now()
		return reading{t.Round(0), t.Sub(began)}
	}}
}

func (c *clock) now() time.Time {
	t, _ := c.read()
	return t.UTC().Truncate(time.Microsecond)
}

// monotonic returns a reading of the monotonic clock. It is positive.
func (c *clock) monotonic() time.Duration { return c.machine().passed + 1 }

// ahead returns by how much the engine's clock is ahead of the system clock because that was set
// back, or 0.
func (c *clock) ahead() time.Duration {
	t, machine := c.read()
	if d := t.Sub(machine); d > clockSlack {
		return d
	}
	return 0
}

func (c *clock) read() (t, machine time.Time) {
	r := c.machine()
	for {
		base := c.base.Load()
		if base != nil {
			if t = base.time.Add(r.passed - base.passed); r.time.Sub(t) <= clockSlack {
				return t, r.time
			}
		}
		if read := r; c.base.CompareAndSwap(base, &read) { // a copy, because otherwise every reading would be allocated
			return r.time, r.time
		}
	}
}
