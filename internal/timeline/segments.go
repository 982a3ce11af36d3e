package timeline

import (
	"cmp"
	"slices"
)

// Segment is a drawn period from X to X+W, in percent. The caller chooses Kind. Lower kinds are
// more important.
type Segment struct {
	X, W float64
	Kind int
}

// Least is the minimum width of a drawn segment, in percent: about 2 pixels of a timeline.
const Least = 0.4

// At returns the segment of a span.
func (a *Axis) At(s Span, kind int) Segment {
	x := a.X(s.From)
	w := max(a.X(s.To)-x, Least)
	return Segment{min(x, 100-w), w, kind}
}

// Union merges the segments of many rows into one row. Adjacent segments of one kind become one
// segment. Where segments overlap, the most important kind is shown. It returns at most 100/Least
// segments per kind.
func Union(in []Segment) []Segment {
	in = slices.Clone(in)
	slices.SortFunc(in, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.X, b.X), cmp.Compare(a.W, b.W))
	})
	var out []Segment
	for _, s := range in {
		if n := len(out); n > 0 && out[n-1].Kind == s.Kind && s.X <= out[n-1].X+out[n-1].W+Least/2 {
			out[n-1].W = max(out[n-1].W, s.X+s.W-out[n-1].X)
			continue
		}
		out = append(out, s)
	}
	return out // the most important kind is drawn last, on top
}
