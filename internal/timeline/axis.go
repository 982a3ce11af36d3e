// Package timeline places work on a time axis. The axis leaves out idle gaps and marks them.
// Segments are merged to what is visible. The package also finds the chain of work that determined
// the duration.
package timeline

import (
	"slices"
	"time"
)

// Span is a stretch of time; To is not before From.
type Span struct{ From, To time.Time }

// Len is how long it is.
func (s Span) Len() time.Duration { return max(s.To.Sub(s.From), 0) }

// Cut is a stretch that the axis leaves out. X and W are where its break mark
// is, in percent of the axis.
type Cut struct {
	Span
	X, W float64
}

// Tick is a round time on the axis: At since its start, X in percent.
type Tick struct {
	At time.Duration
	X  float64
}

// Axis maps moments to percent of a width. Moments outside of it are at its
// ends.
type Axis struct {
	all   Span
	cuts  []Cut
	shown time.Duration // what is left of it
	scale float64       // percent per nanosecond
}

const (
	// leastGap and gapShare say which idle gaps are cut: those longer than both.
	leastGap = 30 * time.Second
	gapShare = 10 // of the time shown: a tenth
	// cutWidth is what a cut leaves of itself, in percent.
	cutWidth = 2.5
	maxCuts  = 12
	// leastShown is what cuts leave at least: a run that has only waited shows how long.
	leastShown = time.Millisecond
)

// NewAxis makes the axis of a span. With idle, nothing is cut; else gaps in
// which nothing of busy lies are, the longest first, until none that is left
// takes more than a tenth of the width.
func NewAxis(all Span, busy []Span, idle bool) *Axis {
	if !all.To.After(all.From) {
		all.To = all.From.Add(time.Millisecond)
	}
	a := &Axis{all: all, shown: all.Len()}
	if !idle {
		gaps := gapsOf(all, busy)
		slices.SortStableFunc(gaps, func(x, y Span) int { return int(min(max(y.Len()-x.Len(), -1), 1)) })
		for _, g := range gaps {
			if g.Len() <= leastGap || g.Len() <= a.shown/gapShare || len(a.cuts) == maxCuts {
				break
			}
			if a.shown-g.Len() < leastShown {
				continue
			}
			a.cuts = append(a.cuts, Cut{Span: g})
			a.shown -= g.Len()
		}
		slices.SortFunc(a.cuts, func(x, y Cut) int { return x.From.Compare(y.From) })
	}
	a.shown = max(a.shown, time.Nanosecond)
	a.scale = (100 - cutWidth*float64(len(a.cuts))) / float64(a.shown)
	for i := range a.cuts {
		a.cuts[i].X, a.cuts[i].W = a.X(a.cuts[i].From), cutWidth
	}
	return a
}

// gapsOf are the stretches of a span in which nothing lies.
func gapsOf(all Span, busy []Span) []Span {
	busy = slices.Clone(busy)
	slices.SortFunc(busy, func(x, y Span) int { return x.From.Compare(y.From) })
	var gaps []Span
	at := all.From
	for _, b := range busy {
		if b.To.Before(at) {
			continue
		}
		if from := b.From; from.After(at) && from.Before(all.To) {
			gaps = append(gaps, Span{at, from})
		}
		at = b.To
	}
	if at.Before(all.To) {
		gaps = append(gaps, Span{at, all.To})
	}
	return gaps
}

// Span is what the axis is over.
func (a *Axis) Span() Span { return a.all }

// Cuts are the stretches left out, in order.
func (a *Axis) Cuts() []Cut { return a.cuts }

// X is where a moment is, 0 to 100 percent; later moments are never further left.
func (a *Axis) X(t time.Time) float64 {
	if !t.After(a.all.From) {
		return 0
	}
	if !t.Before(a.all.To) {
		return 100
	}
	x := 0.0
	since := t.Sub(a.all.From)
	for _, c := range a.cuts {
		if !t.After(c.From) {
			break
		}
		if t.Before(c.To) { // inside of a cut: on its mark
			return a.at(c.From.Sub(a.all.From)-a.hidden(c.From)) + a.marks(c.From) + cutWidth*float64(t.Sub(c.From))/float64(c.Len())
		}
		since -= c.Len()
		x += cutWidth
	}
	return min(x+a.at(since), 100)
}

func (a *Axis) at(d time.Duration) float64 { return float64(d) * a.scale }

// hidden is how much is cut before a moment, marks how wide the marks are.
func (a *Axis) hidden(t time.Time) time.Duration {
	var d time.Duration
	for _, c := range a.cuts {
		if c.To.After(t) {
			break
		}
		d += c.Len()
	}
	return d
}

func (a *Axis) marks(t time.Time) float64 {
	n := 0
	for _, c := range a.cuts {
		if c.To.After(t) {
			break
		}
		n++
	}
	return cutWidth * float64(n)
}

// Ticks are round times since origin, as many as fit: at least apart percent from
// each other, and none inside of a cut.
func (a *Axis) Ticks(origin time.Time, apart float64) []Tick {
	step := roundStep(time.Duration(float64(a.shown) * max(apart, 1) / 100))
	var out []Tick
	first := a.all.From.Sub(origin).Truncate(step)
	for at := first; ; {
		t := origin.Add(at)
		if t.After(a.all.To) {
			return out
		}
		if t.Before(a.all.From) {
			at += step
			continue
		}
		if c := a.cutAt(t); c != nil { // continue after it
			at = (c.To.Sub(origin) + step - 1).Truncate(step)
			if !origin.Add(at).Before(c.To) && origin.Add(at) != t {
				continue
			}
			at += step
			continue
		}
		if x := a.X(t); x <= 100-apart/2 && (len(out) == 0 || x-out[len(out)-1].X >= apart*0.75) {
			out = append(out, Tick{at, x})
		}
		at += step
	}
}

func (a *Axis) cutAt(t time.Time) *Cut {
	for i := range a.cuts {
		if c := &a.cuts[i]; t.After(c.From) && t.Before(c.To) {
			return c
		}
	}
	return nil
}

// roundStep is the least round time that is not shorter than d.
func roundStep(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second} {
		for _, f := range []time.Duration{1, 2, 5} {
			if unit*f >= d && unit*f <= 30*time.Second {
				return unit * f
			}
		}
	}
	steps := []time.Duration{
		30 * time.Second,
		time.Minute,
		2 * time.Minute,
		5 * time.Minute,
		10 * time.Minute,
		15 * time.Minute,
		30 * time.Minute,
		time.Hour,
		2 * time.Hour,
		6 * time.Hour,
		12 * time.Hour,
		24 * time.Hour,
	}
	for _, s := range steps {
		if s >= d {
			return s
		}
	}
	s := 24 * time.Hour
	for s < d {
		s *= 2
	}
	return s
}
