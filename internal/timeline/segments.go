package timeline

import (
	"cmp"
	"slices"
)

// Segment is a drawn stretch: from X to X+W, in percent. Kind is chosen by the caller; the lower
// it is, the more important.
type Segment struct {
	X, W float64
	Kind int
}

// Least is the narrowest that a segment is drawn, in percent: about 2 pixels of
// the width that a timeline has.
const Least = 0.4

// At is the segment of a span.
func (a *Axis) At(s Span, kind int) Segment {
	x := a.X(s.From)
	w := max(a.X(s.To)-x, Least)
	return Segment{min(x, 100-w), w, kind}
}

// Union merges the segments of many rows into one: what touches and is of one
// kind becomes one segment, and of what overlaps the kind that must be seen
// most wins. However many go in, no more than 100/Least come out per kind.
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
	return out // what must be seen most is drawn last, over the others
}
