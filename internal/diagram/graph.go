package diagram

import "slices"

// link is an edge or need between two nodes of the plan.
type link struct {
	from, to int
	position int // -1 for a need
	text     string
	label    string
	need     bool
	failed   bool
	fallback bool
	back     bool
	far      bool  // too long to take space in every rank: drawn below
	chain    []int // vertices from left to right between its ends
	labelAt  int   // vertex that carries the label, or -1
	lane     int   // of a far link
}

// vertex is a node of the plan, or the space that an edge takes in a rank.
type vertex struct {
	node    int // -1 for part of an edge
	link    int
	partner int // vertex of the same loop that it is placed next to, or -1
	rank    int
	pos     int // position in its rank
	w, h    float64
	y       float64 // center
	left    []int   // neighbors in the previous rank
	right   []int
}

func (v *vertex) real() bool { return v.node >= 0 }

// graph is an incomplete layout. Vertices 0 to n-1 are the plan's nodes.
type graph struct {
	pic    picture
	s      sizes
	n      int
	v      []vertex
	links  []link
	ranks  [][]int // vertices of each rank in order
	far    int     // lanes below the picture
	within Room
	// labelled marks ranks that hold labels and no nodes.
	labelled []bool
}

func build(pic picture, s sizes) *graph {
	g := &graph{pic: pic, s: s, n: len(pic.boxes), v: make([]vertex, len(pic.boxes)), links: pic.links}
	for i := range pic.boxes {
		g.v[i] = vertex{node: i, link: -1, partner: -1, w: s.nodeW, h: s.nodeH}
		if b := &pic.boxes[i]; b.Inside != nil {
			g.v[i].w, g.v[i].h = b.W, b.H
		}
	}
	return g
}

// rankAll breaks cycles depth first from the roots, ranks by longest path, and moves nodes without
// predecessors closer to their successors.
func (g *graph) rankAll() {
	out := make([][]int, g.n)
	for i, l := range g.links {
		out[l.from] = append(out[l.from], i)
	}
	const (
		fresh = iota
		open
		closed
	)
	state := make([]uint8, g.n)
	finished := make([]int, 0, g.n)
	type frame struct{ node, next int }
	visit := func(root int) {
		if state[root] != fresh {
			return
		}
		state[root] = open
		for stack := []frame{{node: root}}; len(stack) > 0; {
			f := &stack[len(stack)-1]
			if f.next == len(out[f.node]) {
				state[f.node] = closed
				finished = append(finished, f.node)
				stack = stack[:len(stack)-1]
				continue
			}
			l := &g.links[out[f.node][f.next]]
			f.next++
			switch state[l.to] {
			case open:
				l.back = true
			case fresh:
				state[l.to] = open
				stack = append(stack, frame{node: l.to})
			}
		}
	}
	for _, r := range g.pic.roots {
		visit(r)
	}
	for i := range g.n {
		visit(i)
	}
	slices.Reverse(finished) // a topological order of the remaining edges
	rank := make([]int, g.n)
	incoming := make([]int, g.n)
	for _, i := range finished {
		for _, l := range out[i] {
			if e := &g.links[l]; !e.back {
				rank[e.to] = max(rank[e.to], rank[i]+1)
				incoming[e.to]++
			}
		}
	}
	for _, i := range slices.Backward(finished) {
		nearest := -1
		for _, l := range out[i] {
			if e := &g.links[l]; !e.back && (nearest < 0 || rank[e.to]-1 < nearest) {
				nearest = rank[e.to] - 1
			}
		}
		if incoming[i] == 0 && nearest > rank[i] {
			rank[i] = nearest
		}
	}
	// Labels have their own ranks between those of nodes.
	top := 0
	for i := range g.n {
		top = max(top, rank[i])
	}
	withLabel := make([]bool, top+1)
	for _, l := range g.links {
		if l.label != "" && !l.back {
			withLabel[rank[l.from]] = true
		}
	}
	place := make([]int, top+1)
	next := 0
	for r := range place {
		place[r] = next
		g.labelled = append(g.labelled, false)
		if next++; withLabel[r] {
			g.labelled = append(g.labelled, true)
			next++
		}
	}
	for i := range g.n {
		g.v[i].rank = place[rank[i]]
	}
}

// maxRoom is the maximum number of vertices for edges. Further long edges are drawn below the
// picture.
const maxRoom = 30_000

// addChains gives every edge a vertex in each rank that it crosses. A loop has vertices from the
// rank of its target to the rank of its source, inclusive, so that it leaves to the right and
// arrives from the left like any other edge.
func (g *graph) addChains() {
	room := 0
	span := func(l *link) int {
		if l.back {
			return g.v[l.from].rank - g.v[l.to].rank + 1
		}
		return g.v[l.to].rank - g.v[l.from].rank - 1
	}
	order := make([]int, len(g.links))
	for i := range g.links {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return span(&g.links[a]) - span(&g.links[b]) })
	for _, i := range order {
		room += max(span(&g.links[i]), 0)
		g.links[i].far = room > maxRoom
	}
	for i := range g.links {
		l := &g.links[i]
		if l.far {
			continue
		}
		from, to := g.v[l.from].rank+1, g.v[l.to].rank-1
		if l.back {
			from, to = g.v[l.to].rank, g.v[l.from].rank
		}
		for r := from; r <= to; r++ {
			v := vertex{node: -1, link: i, partner: -1, rank: r, h: 2}
			if l.back && r == to {
				v.partner = l.from
			} else if l.back && r == from {
				v.partner = l.to
			}
			if l.label != "" && (!l.back && r == from || l.back && r == to) {
				l.labelAt = len(g.v)
				v.w, v.h = labelSize(l.label)
			}
			l.chain = append(l.chain, len(g.v))
			g.v = append(g.v, v)
		}
	}
	for i := range g.links {
		l := &g.links[i]
		if l.far {
			continue
		}
		path := l.chain
		if !l.back {
			path = append(append([]int{l.from}, l.chain...), l.to)
		}
		for j := 1; j < len(path); j++ {
			g.v[path[j-1]].right = append(g.v[path[j-1]].right, path[j])
			g.v[path[j]].left = append(g.v[path[j]].left, path[j-1])
		}
	}
	g.ranks = make([][]int, len(g.labelled))
	// The initial order is depth first, so that trees do not cross.
	seen := make([]bool, len(g.v))
	var stack []int
	push := func(root int) {
		for stack = append(stack, root); len(stack) > 0; {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[i] {
				continue
			}
			seen[i] = true
			g.v[i].pos = len(g.ranks[g.v[i].rank])
			g.ranks[g.v[i].rank] = append(g.ranks[g.v[i].rank], i)
			for _, j := range slices.Backward(g.v[i].right) {
				stack = append(stack, j)
			}
		}
	}
	for _, r := range g.pic.roots {
		push(r)
	}
	for i := range g.v {
		push(i)
	}
}
