package timeline

// Level is a stretch of a density strip: how much of the peak is at work in it, from 0 to 1.
type Level struct{ X, W, H float64 }

// Density counts in how many segments each column of the width lies. Columns without a segment are
// left out, and neighbors of one height are merged. Heights have that many steps.
func Density(in []Segment, columns, steps int) []Level {
	width := 100 / float64(columns)
	column := func(x float64) int { return min(max(int(x/width), 0), columns-1) }
	change := make([]int, columns+1)
	for _, s := range in {
		first := column(s.X)
		// A segment that ends where a column begins is not in it, but the shortest one is in its first.
		last := max(first, column(s.X+s.W-width/1000))
		change[first]++
		change[last+1]--
	}
	peak, at := 0, 0
	count := make([]int, columns)
	for i := range count {
		at += change[i]
		count[i], peak = at, max(peak, at)
	}
	var out []Level
	for i, n := range count {
		if n == 0 {
			continue
		}
		h := float64((n*steps+peak-1)/peak) / float64(steps)
		if last := len(out) - 1; last >= 0 && out[last].H == h && column(out[last].X+out[last].W+width/2) == i {
			out[last].W += width
			continue
		}
		out = append(out, Level{float64(i) * width, width, h})
	}
	return out
}
