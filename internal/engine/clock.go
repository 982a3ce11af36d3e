package engine

import (
	"sync/atomic"
	"time"
)

// clock is the time that the engine goes by: the machine's, but it runs on when
// that is put back. So no timer is late and no retry early, and no row of a
// journal is older than the one before it. A clock that is put forwards is
// followed: what it counts stood still while the machine slept.
type clock struct {
	machine func() reading
	base    atomic.Pointer[reading]
}

// reading is the time by the machine.
type reading struct {
	time   time.Time
	passed time.Duration // since some moment; no one can change it
}

// clockSlack is how far the two may be apart though no one has touched the clock:
// they are read one after the other.
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

// monotonic is a reading of a clock that no one can set; it is positive.
func (c *clock) monotonic() time.Duration { return c.machine().passed + 1 }

// ahead is how far the engine's time is ahead of the machine's clock, which was
// put back by so much; 0: it was not.
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
		if read := r; c.base.CompareAndSwap(base, &read) { // a copy: else every reading would take memory
			return r.time, r.time
		}
	}
}
