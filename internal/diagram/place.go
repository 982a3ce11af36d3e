package diagram

import "math"

// place sets the y of every vertex. Each rank in turn moves as close to its neighbors as the order
// and the distances allow (a least-squares placement, found by pooling adjacent violators), so that
// nothing overlaps. Then edges and chains of nodes are straightened if there is space.
func (g *graph) place() {
	for _, rank := range g.ranks {
		y := 0.0
		for i, id := range rank {
			if i > 0 {
				y += g.distance(rank[i-1], id)
			}
			g.v[id].y = y
		}
		for _, id := range rank { // all relative to one axis
			g.v[id].y -= y / 2
		}
	}
	rounds := min(40, max(2, 60_000/(len(g.v)+1)))
	for i := range rounds {
		for k := range g.ranks {
			if i%2 == 0 {
				g.settle(g.ranks[k], true, i > 1)
			} else {
				g.settle(g.ranks[len(g.ranks)-1-k], i%4 == 1, true)
			}
		}
	}
	for range 3 {
		g.straighten()
	}
	top := math.Inf(1)
	for i := range g.v {
		top = min(top, g.v[i].y-g.v[i].h/2)
	}
	for i := range g.v {
		g.v[i].y = math.Round(g.v[i].y - top + g.s.margin)
	}
}

// distance returns the distance between the centers of two neighbors in a rank. It is a whole
// number, so that rounding preserves it.
func (g *graph) distance(a, b int) float64 {
	gap := g.s.lane
	if g.v[a].real() && g.v[b].real() {
		gap = g.s.gap
	}
	return math.Ceil(g.v[a].h/2 + g.v[b].h/2 + gap + 1)
}

// weight returns the weight of an edge between two vertices. Long edges have more weight, so that
// they become straight.
func (g *graph) weight(a, b int) float64 {
	switch {
	case !g.v[a].real() && !g.v[b].real():
		return 16
	case !g.v[a].real() || !g.v[b].real():
		return 2
	}
	return 1
}

// block is a sequence of vertices that touch each other.
type block struct {
	want, weight float64 // mean of the preferred positions of its first vertex
	first, last  int
}

// settle moves one rank towards its neighbors: those to the left, or those on both sides.
func (g *graph) settle(rank []int, leftOnly, both bool) {
	var blocks []block
	offset := make([]float64, len(rank))
	for i, id := range rank {
		if i > 0 {
			offset[i] = offset[i-1] + g.distance(rank[i-1], id)
		}
		v := &g.v[id]
		sum, weight := v.y*0.05, 0.05
		add := func(neighbours []int) {
			for _, n := range neighbours {
				w := g.weight(id, n)
				sum += w * g.v[n].y
				weight += w
			}
		}
		if leftOnly || both {
			add(v.left)
		}
		if !leftOnly || both {
			add(v.right)
		}
		blocks = append(blocks, block{sum/weight - offset[i], weight, i, i})
		for n := len(blocks); n > 1 && blocks[n-2].want > blocks[n-1].want; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			w := a.weight + b.weight
			blocks = append(blocks[:n-2], block{(a.want*a.weight + b.want*b.weight) / w, w, a.first, b.last})
		}
	}
	for _, b := range blocks {
		for i := b.first; i <= b.last; i++ {
			g.v[rank[i]].y = b.want + offset[i]
		}
	}
}

// straighten gives each chain of vertices the same y, if a y exists that all of them can have.
func (g *graph) straighten() {
	done := make([]bool, len(g.v))
	for _, rank := range g.ranks {
		for _, id := range rank {
			if done[id] {
				continue
			}
			run := []int{id}
			for {
				v := &g.v[run[len(run)-1]]
				if len(v.right) != 1 || len(g.v[v.right[0]].left) != 1 || done[v.right[0]] {
					break
				}
				run = append(run, v.right[0])
			}
			for _, r := range run {
				done[r] = true
			}
			if len(run) > 1 {
				g.level(run)
			}
		}
	}
	// Long edges are straightened separately, also between nodes with other edges.
	for i := range g.links {
		if l := &g.links[i]; len(l.chain) > 1 {
			g.level(l.chain)
		}
	}
	// Nearly level ends of edges become level.
	for _, rank := range g.ranks {
		for _, id := range rank {
			v := &g.v[id]
			for _, n := range v.left {
				if d := g.v[n].y - v.y; d != 0 && math.Abs(d) < 8 && len(v.left) == 1 {
					if g.fits(id, g.v[n].y) {
						v.y = g.v[n].y
					}
				}
			}
		}
	}
}

// level moves vertices to one line, the one closest to their average.
func (g *graph) level(run []int) {
	low, high, sum := math.Inf(-1), math.Inf(1), 0.0
	for _, id := range run {
		a, b := g.room(id)
		low, high = max(low, a), min(high, b)
		sum += g.v[id].y
	}
	if low > high {
		return
	}
	y := min(max(sum/float64(len(run)), low), high)
	for _, id := range run {
		g.v[id].y = y
	}
}

// room returns the range in which a vertex can move without touching its neighbors.
func (g *graph) room(id int) (low, high float64) {
	v := &g.v[id]
	rank := g.ranks[v.rank]
	low, high = math.Inf(-1), math.Inf(1)
	if v.pos > 0 {
		above := rank[v.pos-1]
		low = g.v[above].y + g.distance(above, id)
	}
	if v.pos+1 < len(rank) {
		below := rank[v.pos+1]
		high = g.v[below].y - g.distance(id, below)
	}
	return low, high
}

func (g *graph) fits(id int, y float64) bool {
	low, high := g.room(id)
	return low <= y && y <= high
}
