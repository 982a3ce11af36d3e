package auth

import (
	"sync"
	"time"
)

// clock never runs backwards, so that an expired session or token stays expired when the clock of
// the machine is set back.
type clock struct {
	source func() time.Time

	mu     sync.Mutex
	latest time.Time
}

// now returns the current time, but never a time before an earlier result.
func (c *clock) now() time.Time { return c.notBefore(time.Time{}) }

// notBefore returns the current time, but never a time before the given earlier event.
func (c *clock) notBefore(seen time.Time) time.Time {
	t := c.source()
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen.After(c.latest) {
		c.latest = seen
	}
	if t.After(c.latest) {
		c.latest = t
	}
	return c.latest
}
