package diagram

import (
	"cmp"
	"math"
	"slices"
)

// Room is the place that a picture should fit into, in pixels.
type Room struct{ W, H float64 }

// Scale is how large a picture of this size is drawn in the room: at most 1.
func (r Room) Scale(w, h float64) float64 { return min(1, r.W/w, r.H/h) }

const (
	// step is the distance of two tracks.
	step = 8
	// gutterPad is the space above and below the lines between two bands.
	gutterPad = 14
	// arrowRoom is how much farther from its first rank a line into a band turns.
	arrowRoom = 6
	// maxBands bounds into how many bands a picture is wrapped, maxCrossing how many bundles of lines may
	// go from one to the next.
	maxBands    = 12
	maxCrossing = 12
	// betterBy is by what factor the scale must grow for one more band.
	betterBy = 1.08
)

// columns are the places of ranks and channels. A wrapped picture has its ranks in bands, one below the
// other, like the lines of a text.
type columns struct {
	left, right []float64 // sides of each rank
	start       []float64 // of each channel; channel r is before rank r
	tracks      []int
	cuts        []int // channels at which a band ends
	// dx and dy move a band from where its ranks would be without bands; gutters are the spaces below them.
	dx, dy, gutters []float64
	width, height   float64
}

// sectionOf is the band of a rank.
func (c *columns) sectionOf(rank int) int {
	k := 0
	for k < len(c.cuts) && c.cuts[k] <= rank {
		k++
	}
	return k
}

// move is how far a point of a rank is moved.
func (c *columns) move(rank int) point {
	k := c.sectionOf(rank)
	return point{c.dx[k], c.dy[k]}
}

// crosses reports whether a turn leads from one band to another.
func (c *columns) crosses(t turn) bool { return c.sectionOf(t.r1) != c.sectionOf(t.r2) }

// points are the corners of a turn; none: the line goes straight on.
func (c *columns) points(t turn) []point {
	x := c.start[t.channel] + float64(t.track)*step
	a, b := c.move(t.r1), c.move(t.r2)
	switch {
	case c.crosses(t):
		k := min(c.sectionOf(t.r1), c.sectionOf(t.r2))
		y := c.gutters[k] + gutterPad + float64(t.lane)*step
		from, to := x+a.x, x+b.x
		if t.r1 < t.r2 { // room for the arrow
			to -= arrowRoom
		} else {
			from -= arrowRoom
		}
		return []point{{from, t.y1 + a.y}, {from, y}, {to, y}, {to, t.y2 + b.y}}
	case t.y1 != t.y2:
		return []point{{x + a.x, t.y1 + a.y}, {x + a.x, t.y2 + a.y}}
	}
	return nil
}

// arrange places ranks and channels: in one band, or in as many as the picture is largest with in the room.
func (g *graph) arrange(all []*turn) *columns {
	one := g.columns(all, nil)
	if g.within.W == 0 || g.far > 0 || g.within.Scale(one.width, one.height) == 1 {
		return one
	}
	best, scale := []int(nil), g.within.Scale(one.width, one.height)
	for n := 2; n <= min(maxBands, len(g.ranks)); n++ {
		cuts := g.cutsFor(one, all, n)
		if cuts == nil {
			continue
		}
		c := g.columns(all, cuts)
		if s := g.within.Scale(c.width, c.height); s > scale*betterBy {
			best, scale = cuts, s
		}
	}
	return g.columns(all, best) // which sets the tracks of turns, too
}

// cutsFor finds where a picture is cut into bands of about one width, at few lines; nil: nowhere.
func (g *graph) cutsFor(c *columns, all []*turn, bands int) []int {
	crossing := make([]map[int]bool, len(g.ranks)+1)
	for _, t := range all {
		if t.r1 == t.r2 {
			continue
		}
		if crossing[t.channel] == nil {
			crossing[t.channel] = map[int]bool{}
		}
		crossing[t.channel][t.bundle] = true
	}
	wide := (c.width - 2*g.s.margin) / float64(bands)
	var cuts []int
	last := 0
	for k := 1; k < bands; k++ {
		at, least := -1, math.Inf(1)
		for r := last + 1; r < len(g.ranks); r++ {
			off := math.Abs(c.start[r]-g.s.margin-float64(k)*wide) / wide
			lines := len(crossing[r])
			if off > 0.5 || lines > maxCrossing {
				continue
			}
			if cost := off + 0.1*float64(lines); cost < least {
				at, least = r, cost
			}
		}
		if at < 0 {
			return nil
		}
		cuts, last = append(cuts, at), at
	}
	return cuts
}

// columns gives turns their tracks, and ranks and channels their places, in bands that end at the cuts.
func (g *graph) columns(all []*turn, cuts []int) *columns {
	c := &columns{cuts: cuts, left: make([]float64, len(g.ranks)), right: make([]float64, len(g.ranks)),
		start: make([]float64, len(g.ranks)+1)}
	var local, crossing []*turn
	for _, t := range all {
		if c.crosses(*t) {
			crossing = append(crossing, t)
		} else {
			local = append(local, t)
		}
	}
	c.tracks = assignTracks(local, len(g.ranks)+1)
	lanes := c.assignLanes(crossing)
	x := g.s.margin
	if c.tracks[0] > 0 {
		c.start[0] = x
		x += float64(c.tracks[0]*step) + g.s.channel/2
	}
	for r, rank := range g.ranks {
		c.left[r] = x
		w := 0.0
		for _, id := range rank {
			w = max(w, g.v[id].w)
		}
		x += w
		c.right[r] = x
		if r+1 < len(g.ranks) || c.tracks[r+1] > 0 {
			gap := g.s.channel / 2
			if g.labelled[r] || r+1 < len(g.ranks) && g.labelled[r+1] {
				gap = 10
			}
			c.start[r+1] = x + gap
			x += 2*gap + float64(max(c.tracks[r+1]-1, 0)*step)
		}
	}
	g.stack(c, lanes, x)
	return c
}

// assignLanes gives the lines that lead from one band to the next their tracks beside and their lanes between
// the bands, such that those that begin higher go around the others. It returns the lanes of each cut.
func (c *columns) assignLanes(crossing []*turn) []int {
	lanes := make([]int, len(c.cuts))
	high := func(t *turn) float64 { // in the upper band
		if t.r1 < t.r2 {
			return t.y1
		}
		return t.y2
	}
	slices.SortStableFunc(crossing, func(a, b *turn) int { return cmp.Compare(high(b), high(a)) })
	known := map[[2]int]*turn{}
	for _, t := range crossing {
		key := [2]int{t.channel, t.bundle}
		if was := known[key]; was != nil {
			t.track, t.lane = was.track, was.lane
			continue
		}
		known[key] = t
		k := slices.Index(c.cuts, t.channel)
		t.track, t.lane = c.tracks[t.channel], lanes[k]
		c.tracks[t.channel]++
		lanes[k]++
	}
	return lanes
}

// stack puts bands one below the other; end is where the last rank and its channel end.
func (g *graph) stack(c *columns, lanes []int, end float64) {
	top, low := make([]float64, len(c.cuts)+1), make([]float64, len(c.cuts)+1)
	for k := range top {
		top[k], low[k] = math.Inf(1), math.Inf(-1)
	}
	for i := range g.v {
		v := &g.v[i]
		k := c.sectionOf(v.rank)
		top[k], low[k] = min(top[k], v.y-v.h/2), max(low[k], v.y+v.h/2)
	}
	y := g.s.margin
	first := c.left[0] // where bands begin, so that their first ranks are aligned
	for _, r := range c.cuts {
		first = max(first, c.left[r]-c.start[r]+g.s.margin)
	}
	for k := range top {
		from, to := c.left[0]-first, end
		if k > 0 {
			from = c.left[c.cuts[k-1]] - first
		}
		if k < len(c.cuts) {
			to = c.start[c.cuts[k]] + float64(c.tracks[c.cuts[k]]-1)*step
		}
		c.dx, c.dy = append(c.dx, -from), append(c.dy, 0)
		c.width = max(c.width, math.Ceil(to-from+g.s.margin))
		if len(c.cuts) == 0 {
			y = low[k]
			break
		}
		c.dy[k] = y - top[k]
		y += low[k] - top[k]
		if k < len(c.cuts) {
			c.gutters = append(c.gutters, y)
			y += 2*gutterPad + float64(lanes[k]-1)*step
		}
	}
	c.height = y + g.s.margin
}
