package planner

import (
	"github.com/kairosd/kairosd/planner/walk"
)

// bitset is a set of node positions.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) or(o bitset) {
	for i := range o {
		b[i] |= o[i]
	}
}

// view answers which nodes may, and which must, have run before another node. It is computed on
// first use, because most large plans do not need it.
type view struct {
	p          *walk.Program
	components [][]int
	owner      []int // token source of each node, -1: unreachable

	ancestors []bitset
	// enter and leave number the dominator tree of all token regions. a dominates b if its interval
	// contains b's.
	enter, leave []int
	idom         []int
	certain      []bitset // of token sources: nodes that have completed before
}

func newView(p *walk.Program, components [][]int, owner []int) *view {
	return &view{p: p, components: components, owner: owner}
}

// before reports whether a path leads from a to b.
func (v *view) before(a, b int) bool {
	if v.ancestors == nil {
		v.findAncestors()
	}
	return v.ancestors[b].has(a)
}

// findAncestors merges sets along components in topological order.
func (v *view) findAncestors() {
	n := len(v.p.Nodes)
	v.ancestors = make([]bitset, n)
	incoming := make([]bitset, n) // gathered from predecessors
	for _, c := range v.components {
		var shared bitset
		if len(c) == 1 && incoming[c[0]] != nil {
			shared = incoming[c[0]]
		} else {
			shared = newBitset(n)
			for _, u := range c {
				shared.or(incoming[u])
			}
		}
		if v.p.Nodes[c[0]].OnCycle {
			for _, u := range c {
				shared.set(u)
			}
		}
		for _, u := range c {
			v.ancestors[u] = shared
			for i := 0; ; i++ {
				w, ok := successor(v.p, u, i)
				if !ok {
					break
				}
				if w == walk.End {
					continue
				}
				if incoming[w] == nil {
					incoming[w] = newBitset(n)
				}
				incoming[w].or(shared)
				incoming[w].set(u)
			}
		}
	}
}

// surely reports whether a has always run when b starts: it dominates b along edges, or it ran
// before a need that must have completed.
func (v *view) surely(a, b int) bool {
	if v.idom == nil {
		v.findDominators()
		v.findCertain()
	}
	source := v.owner[b]
	if source < 0 {
		return false
	}
	if v.owner[a] == source {
		return a != b && v.enter[a] <= v.enter[b] && v.leave[b] <= v.leave[a]
	}
	return v.certain[source] != nil && v.certain[source].has(a)
}

// findCertain finds, for every token source, what must have completed before it: its needs, and
// what was certain before those.
func (v *view) findCertain() {
	n := len(v.p.Nodes)
	v.certain = make([]bitset, n)
	settled := make([]bitset, n) // of needs: the need and everything certain before it
	for _, c := range v.components {
		for _, i := range c {
			node := &v.p.Nodes[i]
			if len(node.Needs) == 0 || node.When != walk.WhenSuccess {
				continue
			}
			set := newBitset(n)
			for _, need := range node.Needs {
				if settled[need] == nil {
					s := newBitset(n)
					source := v.owner[need]
					for u := need; u >= 0 && v.owner[u] == source; u = v.idom[u] {
						s.set(u)
					}
					if source >= 0 && v.certain[source] != nil {
						s.or(v.certain[source])
					}
					settled[need] = s
				}
				set.or(settled[need])
			}
			v.certain[i] = set
		}
	}
}

// frame is a position in a depth-first walk: a node, and its next child.
type frame struct{ v, next int }

// findDominators computes immediate dominators along edges for all token regions at once.
func (v *view) findDominators() {
	n := len(v.p.Nodes)
	v.idom, v.enter, v.leave = make([]int, n), make([]int, n), make([]int, n)
	number := make([]int, n) // in depth-first order, from 1; 0 is a root above all sources
	vertex, parent := []int{-1}, []int{0}
	for source := range n {
		v.idom[source] = -1
		if v.owner[source] != source {
			continue
		}
		number[source] = len(vertex)
		vertex, parent = append(vertex, source), append(parent, 0)
		frames := []frame{{source, 0}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next == len(v.p.Nodes[f.v].Out) {
				frames = frames[:len(frames)-1]
				continue
			}
			w := v.p.Nodes[f.v].Out[f.next].To
			f.next++
			if w != walk.End && number[w] == 0 {
				number[w] = len(vertex)
				vertex, parent = append(vertex, w), append(parent, number[f.v])
				frames = append(frames, frame{w, 0})
			}
		}
	}
	count := len(vertex)
	before := make([][]int, count) // predecessors, by number
	for i := 1; i < count; i++ {
		for _, e := range v.p.Nodes[vertex[i]].Out {
			if e.To != walk.End {
				before[number[e.To]] = append(before[number[e.To]], i)
			}
		}
		if v.owner[vertex[i]] == vertex[i] {
			before[i] = append(before[i], 0)
		}
	}
	dominator := dominators(parent, before)
	children := make([][]int, count)
	for i := 1; i < count; i++ {
		children[dominator[i]] = append(children[dominator[i]], i)
		if dominator[i] > 0 {
			v.idom[vertex[i]] = vertex[dominator[i]]
		}
	}
	v.numberIntervals(vertex, children)
}

// numberIntervals sets enter and leave from a walk of the dominator tree: a node dominates exactly
// those whose interval is inside its own.
func (v *view) numberIntervals(vertex []int, children [][]int) {
	clock := 0
	frames := []frame{{0, 0}}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.next == 0 && f.v > 0 {
			clock++
			v.enter[vertex[f.v]] = clock
		}
		if f.next < len(children[f.v]) {
			f.next++
			frames = append(frames, frame{children[f.v][f.next-1], 0})
			continue
		}
		if f.v > 0 {
			clock++
			v.leave[vertex[f.v]] = clock
		}
		frames = frames[:len(frames)-1]
	}
}
