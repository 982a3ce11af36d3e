// Package timeline places work on a time axis. The axis cuts out and marks idle gaps. Segments are
// merged if they are too short to be visible. The package also finds the critical path of work,
// which determined the duration.
package timeline

import (
	"slices"
	"time"
)

// Span is a period of time. To is not before From.
type Span struct{ From, To time.Time }

// Len returns the duration of the span.
func (s Span) Len() time.Duration { return max(s.To.Sub(s.From), 0) }

// Cut is a period that the axis leaves out. X and W are the position and width of its break mark,
// in percent of the axis.
type Cut struct {
	Span
	X, W float64
}

// Tick is a round time on the axis. At is the time since its start, and X the position in percent.
type Tick struct {
	At time.Duration
	X  float64
}

// Axis maps times to percent of a width. Times outside the axis map to its ends.
type Axis struct {
	all   Span
	cuts  []Cut
	shown time.Duration // duration without the cuts
	scale float64       // percent per nanosecond
}

const (
	// Only idle gaps that exceed both leastGap and gapShare are cut.
	leastGap = 30 * time.Second
	gapShare = 10 // a tenth of the shown time
	// cutWidth is the width of a cut's break mark, in percent.
	cutWidth = 2.5
	maxCuts  = 12
	// leastShown is the minimum time that cuts leave, so that a run that only waited shows its
	// duration.
	leastShown = time.Millisecond
)

// NewAxis returns the axis of a span. If idle is true, nothing is cut. Otherwise, gaps without any
// span of busy are cut, longest first, until no remaining gap exceeds a tenth of the width.
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

// gapsOf returns the parts of a span that no busy span covers.
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

// Span returns the span of the axis.
func (a *Axis) Span() Span { return a.all }

// Cuts returns the periods that are left out, in order.
func (a *Axis) Cuts() []Cut { return a.cuts }

// X returns the position of a time, 0 to 100 percent. It never decreases with time.
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
		if t.Before(c.To) { // inside a cut: on its break mark
			return a.at(c.From.Sub(a.all.From)-a.hidden(c.From)) + a.marks(c.From) + cutWidth*float64(t.Sub(c.From))/float64(c.Len())
		}
		since -= c.Len()
		x += cutWidth
	}
	return min(x+a.at(since), 100)
}

func (a *Axis) at(d time.Duration) float64 { return float64(d) * a.scale }

// hidden returns the time that is cut before a time, and the width of the marks up to it.
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

// Ticks returns round times since origin, at least apart percent from each other and outside the
// cuts.
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
		if c := a.cutAt(t); c != nil { // continue after the cut
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

// roundStep returns the smallest round time that is at least d.
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
