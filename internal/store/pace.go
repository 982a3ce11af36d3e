package store

import "time"

const (
	// scanStep is how long one step of a search may take for the next one to be
	// larger.
	scanStep = time.Millisecond
	// leastWindow is how many rows a step looks at even where rows are slow.
	leastWindow = 16
)

// pace is the size of the next step of a search that has a bound of time. A step
// cannot be broken off without losing what it saw, so it must end by itself: it
// grows while steps are quick, and shrinks where they are slow.
type pace struct {
	size  int64 // rows
	began time.Time
}

// step begins a step.
func (p *pace) step() { p.began = time.Now() }

// stepped ends a step: the next one is up to grow times as large.
func (p *pace) stepped(grow int64) {
	switch took := time.Since(p.began); {
	case took < scanStep/time.Duration(grow):
		p.size *= grow
	case took < scanStep:
		p.size *= 2
	case took > 2*scanStep:
		p.size = max(p.size/2, leastWindow)
	}
}
