package diagram

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// turn is the vertical part of an edge in the channel after a rank. It begins at y1 and ends at y2.
// Turns of one bundle share a track.
type turn struct {
	channel int
	bundle  int
	y1, y2  float64
	r1, r2  int // ranks of both ends
	track   int
	lane    int // between two bands, if it leads from one to the other
}

// point is a point of a path.
type point struct{ x, y float64 }

// route computes the x of the ranks and the turns of the edges, and builds the drawing.
func (g *graph) route() *Drawing {
	turns := make([][]turn, len(g.links)) // turns of each link, from left to right, or around it
	var all []*turn
	bottom := 0.0
	for i := range g.v {
		bottom = max(bottom, g.v[i].y+g.v[i].h/2)
	}
	g.packFar()
	for i := range g.links {
		turns[i] = g.turns(i, bottom)
		for j := range turns[i] {
			all = append(all, &turns[i][j])
		}
	}
	c := g.arrange(all)
	d := &Drawing{Width: c.width, Height: c.height}
	if g.far > 0 {
		d.Height += float64(g.far)*g.s.lane + g.s.lane
	}
	for i := range g.n {
		d.Nodes = append(d.Nodes, g.node(i, c))
	}
	for i := range g.links {
		d.Edges = append(d.Edges, g.edge(i, turns[i], c))
	}
	return d
}

// turns lists the places where a link changes its y.
func (g *graph) turns(i int, bottom float64) []turn {
	l := &g.links[i]
	from, to := &g.v[l.from], &g.v[l.to]
	leave := turn{channel: from.rank + 1, bundle: l.from, y1: from.y, r1: from.rank, r2: from.rank}
	arrive := turn{channel: to.rank, bundle: g.n + l.to, y2: to.y, r1: to.rank, r2: to.rank}
	switch {
	case l.far:
		y := bottom + g.s.lane*float64(l.lane+1)
		leave.y2, arrive.y1 = y, y
		return []turn{leave, arrive}
	case l.back:
		// The link leaves to the right, runs back to the left, and enters again.
		var list []turn
		leave.y2 = g.v[l.chain[len(l.chain)-1]].y
		list = append(list, leave)
		for j := len(l.chain) - 1; j > 0; j-- {
			a, b := &g.v[l.chain[j]], &g.v[l.chain[j-1]]
			list = append(list, turn{channel: a.rank, bundle: -1 - i, y1: a.y, y2: b.y, r1: a.rank, r2: b.rank})
		}
		arrive.y1 = g.v[l.chain[0]].y
		return append(list, arrive)
	}
	path := append(append([]int{l.from}, l.chain...), l.to)
	var list []turn
	for j := 1; j < len(path); j++ {
		a, b := &g.v[path[j-1]], &g.v[path[j]]
		t := turn{channel: b.rank, bundle: -1 - i, y1: a.y, y2: b.y, r1: a.rank, r2: b.rank}
		// Edges from one node share a track, and so do edges into one node.
		switch many := len(from.right) > 1 || len(to.left) <= 1; {
		case j == 1 && (many || len(path) > 2):
			t.bundle = l.from
		case j == len(path)-1:
			t.bundle = g.n + l.to
		}
		list = append(list, t)
	}
	return list
}

// assignTracks gives turns that would overlap different tracks. An edge that goes down turns before
// edges that start above it, and one that goes up before edges that start below it, so that they do
// not cross.
func assignTracks(all []*turn, channels int) []int {
	count := make([]int, channels)
	byChannel := make([][]*turn, channels)
	for _, t := range all {
		if t.y1 != t.y2 {
			byChannel[t.channel] = append(byChannel[t.channel], t)
		}
	}
	for c, list := range byChannel {
		// bar is the range that the turns of one bundle and direction cover.
		type bar struct {
			low, high float64
			start     float64
			down      bool
			bundle    int
			track     int
			turns     []*turn
		}
		var bars []*bar
		index := map[int]*bar{}
		for _, t := range list {
			b := index[t.bundle]
			if b == nil {
				b = &bar{low: math.Inf(1), high: math.Inf(-1), start: t.y1, bundle: t.bundle}
				index[t.bundle] = b
				bars = append(bars, b)
			}
			b.low, b.high = min(b.low, t.y1, t.y2), max(b.high, t.y1, t.y2)
			b.turns = append(b.turns, t)
		}
		for _, b := range bars {
			b.down = b.high-b.start >= b.start-b.low
		}
		slices.SortStableFunc(bars, func(a, b *bar) int {
			if a.down != b.down {
				if a.down {
					return 1
				}
				return -1
			}
			if a.down {
				return cmp.Compare(b.start, a.start)
			}
			return cmp.Compare(a.start, b.start)
		})
		var ends [][][2]float64 // the bars on each track
		for i, b := range bars {
			least := 0
			if i < 400 {
				for _, o := range bars[:i] {
					if o.down == b.down && o.low < b.high && b.low < o.high {
						least = max(least, o.track+1)
					}
				}
			}
			t := min(least, len(ends))
			for ; t < len(ends); t++ {
				if !slices.ContainsFunc(ends[t], func(o [2]float64) bool { return o[0] <= b.high+3 && b.low <= o[1]+3 }) {
					break
				}
			}
			if t == len(ends) && t < maxTracks {
				ends = append(ends, nil)
			}
			t = min(t, len(ends)-1)
			ends[t] = append(ends[t], [2]float64{b.low, b.high})
			b.track = t
			for _, x := range b.turns {
				x.track = t
			}
		}
		count[c] = len(ends)
	}
	return count
}

// maxTracks limits the width of a channel. Further edges overlap.
const maxTracks = 60

// packFar assigns links below the picture to lanes in which they do not overlap.
func (g *graph) packFar() {
	const most = 40
	var ends []int
	for i := range g.links {
		l := &g.links[i]
		if !l.far {
			continue
		}
		a, b := g.v[l.from].rank, g.v[l.to].rank
		if a > b {
			a, b = b, a
		}
		l.lane = slices.IndexFunc(ends, func(end int) bool { return end < a })
		if l.lane < 0 {
			if l.lane = len(ends); l.lane < most {
				ends = append(ends, 0)
			} else {
				l.lane = i % most
			}
		}
		ends[l.lane] = max(ends[l.lane], b)
	}
	g.far = len(ends)
}

// edge converts a link into an edge with its path.
func (g *graph) edge(i int, turns []turn, c *columns) Edge {
	l := &g.links[i]
	from, to := &g.v[l.from], &g.v[l.to]
	e := Edge{From: g.pic.boxes[l.from].ID, To: g.pic.boxes[l.to].ID, Position: l.position, Label: l.label, Condition: visible(l.text),
		Back: l.back, Need: l.need, Failed: l.failed, Fallback: l.fallback}
	e.Handoff = g.pic.handsOff(l)
	a, z := c.move(from.rank), c.move(to.rank)
	tip := point{c.left[to.rank] + z.x, to.y + z.y}
	const head = 7
	path := []point{{c.left[from.rank] + from.w + a.x, from.y + a.y}}
	// A step of a few pixels looks like a mistake. An edge that is alone at its node therefore
	// meets the side slightly off the middle.
	near := g.s.nodeH / 5
	if last := &turns[len(turns)-1]; len(to.left) == 1 && math.Abs(last.y1-last.y2) <= near && !c.crosses(*last) {
		last.y2 = last.y1
		tip.y = last.y1 + z.y
	}
	if first := &turns[0]; len(from.right) == 1 && math.Abs(first.y1-first.y2) <= near && !c.crosses(*first) {
		first.y1 = first.y2
		path[0].y = first.y2 + a.y
	}
	for _, t := range turns {
		path = append(path, c.points(t)...)
	}
	path = append(path, point{tip.x - head, tip.y})
	e.Path, e.TipX, e.TipY = rounded(path, g.s.radius), tip.x, tip.y
	e.Arrow = fmt.Sprintf("M%s %sl-%d -4v8z", num(tip.x), num(tip.y), head)
	if v := l.labelAt; v >= 0 {
		at := c.move(g.v[v].rank)
		e.LabelW, e.LabelH = labelSize(l.label)
		e.LabelX, e.LabelY = c.left[g.v[v].rank]+e.LabelW/2+at.x, g.v[v].y+at.y
		if l.back {
			e.LabelX = (c.left[from.rank]+c.right[from.rank])/2 + a.x
		}
	} else {
		e.Label = ""
	}
	return e
}

// node converts a box into a node at its position.
func (g *graph) node(i int, c *columns) Node {
	v := &g.v[i]
	d := g.pic.boxes[i]
	at := c.move(v.rank)
	d.X, d.Y, d.W, d.H, d.Rank = c.left[v.rank]+at.x, v.y-v.h/2+at.y, v.w, v.h, v.rank
	d.Outline, d.Detail = outline(d.Shape, d.X, d.Y, d.W, d.H)
	d.InsideX, d.InsideY = d.X+d.InsideX, d.Y+d.InsideY
	return d
}

// rounded returns the path through points at right angles, with small round corners.
func rounded(points []point, radius float64) string {
	points = slices.Compact(points)
	var b strings.Builder
	fmt.Fprintf(&b, "M%s %s", num(points[0].x), num(points[0].y))
	for i := 1; i < len(points); i++ {
		p, q := points[i-1], points[i]
		if i+1 == len(points) {
			fmt.Fprintf(&b, "L%s %s", num(q.x), num(q.y))
			break
		}
		n := points[i+1]
		r := min(radius, length(p, q)/2, length(q, n)/2)
		a, c := towards(q, p, r), towards(q, n, r)
		fmt.Fprintf(&b, "L%s %sQ%s %s %s %s", num(a.x), num(a.y), num(q.x), num(q.y), num(c.x), num(c.y))
	}
	return b.String()
}

func length(a, b point) float64 { return math.Abs(a.x-b.x) + math.Abs(a.y-b.y) }

func towards(from, to point, r float64) point {
	d := length(from, to)
	if d == 0 {
		return from
	}
	return point{from.x + (to.x-from.x)*r/d, from.y + (to.y-from.y)*r/d}
}

// num formats a coordinate with at most one decimal.
func num(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
}
