package timeline

// Level is a part of a density strip. Its height is the share of the peak, from 0 to 1.
type Level struct{ X, W, H float64 }

// Density counts the segments in each column of the width. It leaves out columns without a segment,
// and merges adjacent columns of the same height. Heights have the given number of steps.
func Density(in []Segment, columns, steps int) []Level {
	width := 100 / float64(columns)
	column := func(x float64) int { return min(max(int(x/width), 0), columns-1) }
	change := make([]int, columns+1)
	for _, s := range in {
		first := column(s.X)
		// A segment that ends at the beginning of a column is not in that column. The shortest
		// segment is at least in its first column.
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
