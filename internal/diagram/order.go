package diagram

import (
	"cmp"
	"slices"
)

// orderRanks reduces crossings with barycenter sweeps in both directions. It swaps neighbors if
// that removes crossings, and keeps the best order.
func (g *graph) orderRanks() {
	size := len(g.v) + len(g.links)
	sweeps := min(24, max(2, 120_000/(size+1)))
	swaps := size <= 6000
	best := g.copyOrder()
	least := g.crossings()
	for i, idle := 0, 0; i < sweeps && least > 0 && idle < 5; i++ {
		g.sweep(i%2 == 0, i%4 >= 2)
		if swaps {
			g.transpose()
		}
		if n := g.crossings(); n < least {
			least, best, idle = n, g.copyOrder(), 0
		} else {
			idle++
		}
	}
	g.ranks = best
	g.number()
}

func (g *graph) copyOrder() [][]int {
	c := make([][]int, len(g.ranks))
	for r := range c {
		c[r] = slices.Clone(g.ranks[r])
	}
	return c
}

func (g *graph) number() {
	for _, rank := range g.ranks {
		for i, v := range rank {
			g.v[v].pos = i
		}
	}
}

// sweep orders each rank by the mean position of the neighbors in the previous (or next) rank.
// lastFirst reverses the order of ties.
func (g *graph) sweep(rightwards, lastFirst bool) {
	key := make([]float64, len(g.v))
	for k := range g.ranks {
		r := k
		if !rightwards {
			r = len(g.ranks) - 1 - k
		}
		rank := g.ranks[r]
		for i, id := range rank {
			v := &g.v[id]
			neighbours := v.left
			if !rightwards {
				neighbours = v.right
			}
			key[id] = float64(i)
			if len(neighbours) > 0 {
				sum := 0
				for _, n := range neighbours {
					sum += g.v[n].pos
				}
				key[id] = float64(sum) / float64(len(neighbours))
			}
		}
		for _, id := range rank {
			v := &g.v[id]
			if v.partner >= 0 && (rightwards && len(v.left) == 0 || !rightwards && len(v.right) == 0) {
				key[id] = key[v.partner] + 0.01 // below the vertex of its loop
			}
		}
		if lastFirst {
			slices.Reverse(rank)
		}
		slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
		for i, id := range rank {
			g.v[id].pos = i
		}
	}
}

// transpose swaps neighbors of a rank as long as that removes crossings.
func (g *graph) transpose() {
	for round := 0; round < 4; round++ {
		improved := false
		for _, rank := range g.ranks {
			for i := 1; i < len(rank); i++ {
				a, b := rank[i-1], rank[i]
				now := g.pairs(g.v[a].left, g.v[b].left) + g.pairs(g.v[a].right, g.v[b].right)
				then := g.pairs(g.v[b].left, g.v[a].left) + g.pairs(g.v[b].right, g.v[a].right)
				if then < now {
					rank[i-1], rank[i] = b, a
					g.v[a].pos, g.v[b].pos = i, i-1
					improved = true
				}
			}
		}
		if !improved {
			return
		}
	}
}

// pairs counts crossings between edges of two neighbors, with the first above.
func (g *graph) pairs(upper, lower []int) int {
	if len(upper)*len(lower) > 4096 {
		return 0 // too many edges; the count would take too long
	}
	n := 0
	for _, u := range upper {
		for _, l := range lower {
			if g.v[u].pos > g.v[l].pos {
				n++
			}
		}
	}
	return n
}

// crossings counts all crossings between neighboring ranks in O(e log v).
func (g *graph) crossings() int {
	total := 0
	var tree []int
	for r := 1; r < len(g.ranks); r++ {
		size := len(g.ranks[r])
		tree = slices.Grow(tree[:0], size+1)[:size+1]
		clear(tree)
		inserted := 0
		var ends []int
		for _, id := range g.ranks[r-1] {
			ends = ends[:0]
			for _, to := range g.v[id].right {
				ends = append(ends, g.v[to].pos)
			}
			slices.Sort(ends)
			for _, at := range ends { // edges before it that end farther down
				before := 0
				for i := at + 1; i > 0; i -= i & -i {
					before += tree[i]
				}
				total += inserted - before
			}
			for _, at := range ends {
				for i := at + 1; i <= size; i += i & -i {
					tree[i]++
				}
				inserted++
			}
		}
	}
	return total
}
