package planner

import (
	"fmt"
	"slices"
	"strings"
)

// bitset is a set of node positions.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) or(o bitset) {
	for i := range b {
		b[i] |= o[i]
	}
}
func (b bitset) and(o bitset) {
	for i := range b {
		b[i] &= o[i]
	}
}
func (b bitset) fill() {
	for i := range b {
		b[i] = ^uint64(0)
	}
}
func (b bitset) equal(o bitset) bool { return slices.Equal(b, o) }
func (b bitset) clone() bitset       { return slices.Clone(b) }

// analyse checks what needs a view of the whole graph: cycles, token sources,
// reachability, and which node may read which.
func (k *compiler) analyse() {
	if k.r.errors > 0 {
		return // the graph is not what its author meant
	}
	components := k.components()
	owner := k.tokens()
	k.p.owner = owner
	k.p.keep = k.kept()
	k.cycles(components)
	if k.r.errors > 0 {
		return
	}
	k.unreachable(owner)
	k.endings()
	k.references(components, owner)
}

// components finds strongly connected components over edges and needs, in
// topological order (Tarjan, iterative), and marks nodes on cycles.
func (k *compiler) components() [][]int {
	n := len(k.p.Nodes)
	index, low, onStack := make([]int, n), make([]int, n), make([]bool, n)
	var stack []int
	var found [][]int
	counter := 0
	type frame struct{ v, next int }
	for root := range n {
		if index[root] != 0 {
			continue
		}
		frames := []frame{{root, 0}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			v := f.v
			if f.next == 0 {
				counter++
				index[v], low[v] = counter, counter
				stack, onStack[v] = append(stack, v), true
			}
			if w, ok := k.successor(v, f.next); ok {
				f.next++
				if index[w] == 0 {
					frames = append(frames, frame{w, 0})
				} else if onStack[w] {
					low[v] = min(low[v], index[w])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				u := frames[len(frames)-1].v
				low[u] = min(low[u], low[v])
			}
			if low[v] == index[v] {
				var c []int
				for {
					w := stack[len(stack)-1]
					stack, onStack[w] = stack[:len(stack)-1], false
					c = append(c, w)
					if w == v {
						break
					}
				}
				slices.Sort(c)
				found = append(found, c)
			}
		}
	}
	slices.Reverse(found)
	for _, c := range found {
		for _, v := range c {
			selfLoop := slices.ContainsFunc(k.p.Nodes[v].Out, func(e ProgramEdge) bool { return e.To == v })
			k.p.Nodes[v].OnCycle = len(c) > 1 || selfLoop
		}
	}
	return found
}

// successor is the i-th node that v leads to, over edges, then as a need.
func (k *compiler) successor(v, i int) (int, bool) {
	n := &k.p.Nodes[v]
	if i < len(n.Out) {
		return n.Out[i].To, true
	}
	if i -= len(n.Out); i < len(n.Dependents) {
		return n.Dependents[i], true
	}
	return 0, false
}

// tokens finds for every node the source whose token reaches it over edges, -1
// for none; two sources for one node are an error (ruling 2).
func (k *compiler) tokens() []int {
	owner := make([]int, len(k.p.Nodes))
	for i := range owner {
		owner[i] = -1
	}
	sources := slices.Clone(k.p.Roots)
	for i := range k.p.Nodes {
		if len(k.p.Nodes[i].Needs) > 0 {
			sources = append(sources, i)
		}
	}
	reported := map[int]bool{}
	for _, source := range sources {
		if owner[source] >= 0 {
			continue
		}
		owner[source] = source
		queue := []int{source}
		for len(queue) > 0 {
			v := queue[0]
			queue = queue[1:]
			for _, e := range k.p.Nodes[v].Out {
				switch {
				case owner[e.To] < 0:
					owner[e.To] = source
					queue = append(queue, e.To)
				case owner[e.To] != source && !reported[e.To]:
					reported[e.To] = true
					s := &k.specs[e.To]
					k.r.error(s.tree, s.ID, "graph.two_tokens", "use needs to join branches",
						"node %s is reached from %s and from %s, which run independently", clip(s.ID), k.p.Nodes[owner[e.To]].ID, k.p.Nodes[source].ID)
				}
			}
		}
	}
	return owner
}

// cycles refuses needs inside or into cycles (ruling 3) and warns of loops that
// nothing can end.
func (k *compiler) cycles(components [][]int) {
	for _, c := range components {
		if !k.p.Nodes[c[0]].OnCycle {
			continue
		}
		inside := map[int]bool{}
		for _, v := range c {
			inside[v] = true
		}
		exits, bounded, needed := false, false, false
		for _, v := range c {
			n, s := &k.p.Nodes[v], &k.specs[v]
			if len(n.Needs) > 0 {
				needed = true
				k.r.error(s.field("needs"), s.ID, "needs.cycle", "break the cycle", "needs go round in a circle: %s", k.path(c))
				break
			}
			for _, d := range n.Dependents {
				o := &k.specs[d]
				k.r.error(o.field("needs"), o.ID, "needs.on_cycle", "need a node after the loop", "node %s needs %s, which lies on a cycle", clip(o.ID), n.ID)
			}
			for _, e := range n.Out {
				exits = exits || !inside[e.To]
			}
			bounded = bounded || n.MaxVisits > 1
			if len(n.Out) == 0 || !slices.ContainsFunc(n.Out, func(e ProgramEdge) bool { return e.Cond.Fallback() }) {
				exits = true // a node without a matching edge ends the run
			}
		}
		if !needed && !exits && !bounded {
			s := &k.specs[c[0]]
			k.r.warn(s.tree, s.ID, "graph.cycle", "give a node of the loop max_visits and an edge that leaves it", "nothing ends the loop %s", k.path(c))
		} else if !needed && !bounded && k.mustRepeat(c, inside) {
			s := &k.specs[c[0]]
			k.r.warn(s.tree, s.ID, "loop.unbounded", "set max_visits on a node of the loop", "no node of the loop %s may be visited twice", k.path(c))
		}
	}
}

// mustRepeat reports whether entering the loop again would exceed max_visits 1.
func (k *compiler) mustRepeat(c []int, _ map[int]bool) bool {
	return !slices.ContainsFunc(c, func(v int) bool { return k.p.Nodes[v].MaxVisits > 1 })
}

func (k *compiler) path(c []int) string {
	names := make([]string, 0, len(c))
	for _, v := range c[:min(len(c), 10)] {
		names = append(names, k.p.Nodes[v].ID)
	}
	if len(c) > 10 {
		names = append(names, "…")
	}
	return strings.Join(names, " → ")
}

func (k *compiler) unreachable(owner []int) {
	for i, o := range owner {
		if s := &k.specs[i]; o < 0 {
			k.r.warn(s.tree, s.ID, "graph.unreachable", "connect it, or remove it", "node %s is never reached", clip(s.ID))
		}
	}
}

// endings warns of nodes where the run ends when no condition matches.
func (k *compiler) endings() {
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if len(n.Out) == 0 || slices.ContainsFunc(n.Out, func(e ProgramEdge) bool { return e.Cond.Fallback() }) {
			continue
		}
		if len(n.Out) == 1 && n.Out[0].Cond.OnFailure() {
			continue // an error edge alone: the run may well end here
		}
		what := "the run ends there"
		if k.p.Strict {
			what = "the run fails there"
		}
		k.r.warn(s.tree, s.ID, "branch.not_total", "add an edge with condition: default", "every edge out of %s has a condition: %s when none matches", clip(s.ID), what)
	}
}

// references checks every reference and condition against what may have run
// before (ruling 3).
func (k *compiler) references(components [][]int, owner []int) {
	ancestors := k.ancestors(components)
	var certain []bitset // lazily: nodes that have surely completed before
	check := func(reader int, name string, at *tree, outgoing, hard, hasDefault bool, what string) {
		s := &k.specs[reader]
		j, ok := k.p.Index[name]
		if !ok {
			k.r.error(at, s.ID, "ref.node_unknown", suggest(name, k.nodeNames(), "add the node, or correct the name"), "%s names %s, which is no node", what, clip(name))
			return
		}
		if outgoing && j == reader {
			return
		}
		if !ancestors[reader].has(j) {
			if hard {
				k.r.error(at, s.ID, "ref.not_ancestor", "refer to a node that comes before", "%s names %s, which never runs before %s", what, clip(name), clip(s.ID))
			} else {
				k.r.warn(at, s.ID, "ref.not_ancestor", "refer to a node that comes before", "%s names %s, which never runs before %s: it is never found", what, clip(name), clip(s.ID))
			}
			return
		}
		if k.p.Nodes[j].OnCycle && owner[j] != owner[reader] {
			k.r.error(at, s.ID, "ref.on_cycle", "refer to a node after the loop", "%s names %s, which lies on a cycle of another branch", what, clip(name))
			return
		}
		if certain == nil {
			certain = k.certain()
		}
		if !certain[reader].has(j) && !hasDefault && hard {
			k.r.warn(at, s.ID, "ref.may_be_missing", fmt.Sprintf("give a default: ${output.%s ?? null}", name), "%s names %s, which another branch may skip", what, clip(name))
		}
	}
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if n.Input != nil {
			for _, ref := range n.Input.References() {
				at := k.inside(s, ref.At)
				switch ref.Root {
				case RefOutput:
					check(i, ref.Node(), at, false, true, ref.HasDefault(), "the reference ${"+ref.Text+"}")
				case RefItem, RefIndex:
					if n.Foreach == nil {
						k.r.error(at, s.ID, "ref.item", "add foreach:", "${%s} outside a foreach", ref.Text)
					}
				}
			}
		}
		if n.Foreach != nil && n.Foreach.Root == RefOutput {
			check(i, n.Foreach.Node(), s.field("foreach"), false, true, n.Foreach.HasDefault(), "foreach")
		}
		k.conditionReads(n.WhenCond, func(name string, hard bool) {
			check(i, name, s.field("when"), false, hard, true, "the condition "+clip(n.WhenCond.Text))
		})
		for _, e := range n.Out {
			k.conditionReads(e.Cond, func(name string, hard bool) {
				check(i, name, k.d.tree.get("edges").items[e.Position].get("condition"), true, hard, true, "the condition "+clip(e.Text))
			})
		}
	}
}

func (k *compiler) nodeNames() []string {
	names := make([]string, len(k.p.Nodes))
	for i := range k.p.Nodes {
		names[i] = k.p.Nodes[i].ID
	}
	return names
}

// conditionReads lists what a condition reads; hard for expressions, which fail
// where a plain condition is merely false.
func (k *compiler) conditionReads(c *Condition, f func(name string, hard bool)) {
	nodes, _ := c.Nodes()
	for _, name := range nodes {
		f(name, !c.Plain())
	}
}

// ancestors computes for every node all nodes that a path leads from.
func (k *compiler) ancestors(components [][]int) []bitset {
	n := len(k.p.Nodes)
	sets := make([]bitset, n)
	incoming := make([]bitset, n) // gathered from predecessors
	for _, c := range components {
		shared := newBitset(n)
		for _, v := range c {
			if incoming[v] != nil {
				shared.or(incoming[v])
			}
		}
		if k.p.Nodes[c[0]].OnCycle {
			for _, v := range c {
				shared.set(v)
			}
		}
		for _, v := range c {
			sets[v] = shared
			for i := 0; ; i++ {
				w, ok := k.successor(v, i)
				if !ok {
					break
				}
				if incoming[w] == nil {
					incoming[w] = newBitset(n)
				}
				incoming[w].or(shared)
				incoming[w].set(v)
			}
		}
	}
	return sets
}

// certain computes for every node which nodes have surely been visited before:
// the meet over all edges in, the join over needs that must have completed.
func (k *compiler) certain() []bitset {
	n := len(k.p.Nodes)
	sets := make([]bitset, n)
	for i := range sets {
		sets[i] = newBitset(n)
		sets[i].fill()
	}
	into := make([][]int, n)
	for i := range k.p.Nodes {
		for _, e := range k.p.Nodes[i].Out {
			into[e.To] = append(into[e.To], i)
		}
	}
	root := map[int]bool{}
	for _, r := range k.p.Roots {
		root[r] = true
	}
	for changed := true; changed; {
		changed = false
		for i := range k.p.Nodes {
			next := newBitset(n)
			switch node := &k.p.Nodes[i]; {
			case root[i]:
			case len(node.Needs) > 0:
				if node.When == WhenSuccess || node.When == WhenCondition {
					for _, j := range node.Needs {
						next.or(sets[j])
						next.set(j)
					}
				}
			case len(into[i]) > 0:
				next.fill()
				for _, j := range into[i] {
					before := sets[j].clone()
					before.set(j)
					next.and(before)
				}
			}
			if !next.equal(sets[i]) {
				sets[i] = next
				changed = true
			}
		}
	}
	return sets
}

// kept finds the nodes whose outputs somebody may still ask for after their own
// settlement; a walk forgets all others.
func (k *compiler) kept() []bool {
	keep := make([]bool, len(k.p.Nodes))
	mark := func(name string) {
		if j, ok := k.p.Index[name]; ok {
			keep[j] = true
		}
	}
	condition := func(c *Condition) {
		nodes, all := c.Nodes()
		for _, name := range nodes {
			mark(name)
		}
		if all {
			for j := range keep {
				keep[j] = true
			}
		}
	}
	for i := range k.p.Nodes {
		n := &k.p.Nodes[i]
		if n.Input != nil {
			for _, ref := range n.Input.References() {
				mark(ref.Node())
			}
		}
		if n.Foreach != nil {
			mark(n.Foreach.Node())
		}
		condition(n.WhenCond)
		for _, e := range n.Out {
			condition(e.Cond)
		}
		if len(n.Dependents) > 0 || k.p.UsesNeeds && len(n.Out) == 0 {
			keep[i] = true
		}
	}
	return keep
}
