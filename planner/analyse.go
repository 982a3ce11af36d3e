package planner

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// analyzer checks the graph as a whole: sources, reachability, which step may read which, and the
// paths of untrusted input.
type analyzer struct{ *compiler }

// analyse checks what needs a view of the whole graph: cycles, token sources,
// reachability, and which node may read which.
func (k analyzer) analyse() {
	if len(k.p.Nodes) == 0 {
		k.unknownReads()
		return
	}
	components := k.components()
	if k.broken {
		k.cycles(components, false)
		k.unknownReads()
		return
	}
	owner := k.tokens()
	k.p.Owner, k.p.Kept = owner, k.kept()
	if k.cycles(components, true); k.broken {
		k.unknownReads()
		return
	}
	k.unreachable(owner)
	k.endings()
	v := newView(k.p, components, owner)
	k.exclusive(v)
	k.shapes()
	k.reads(v)
	k.ruleOfTwo()
}

// components finds strongly connected components over edges and needs, in
// topological order (Tarjan, iterative), and marks nodes on cycles.
func (k analyzer) components() [][]int {
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
			if w, ok := successor(k.p, v, f.next); ok {
				f.next++
				switch {
				case w == walk.End:
				case index[w] == 0:
					frames = append(frames, frame{w, 0})
				case onStack[w]:
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
			selfLoop := slices.ContainsFunc(k.p.Nodes[v].Out, func(e walk.ProgramEdge) bool { return e.To == v })
			k.p.Nodes[v].OnCycle = len(c) > 1 || selfLoop
		}
	}
	return found
}

// successor is the i-th successor of step v in p: first along edges, then along needs. It may be walk.End.
func successor(p *walk.Program, v, i int) (int, bool) {
	n := &p.Nodes[v]
	if i < len(n.Out) {
		return n.Out[i].To, true
	}
	if i -= len(n.Out); i < len(n.Dependents) {
		return n.Dependents[i], true
	}
	return 0, false
}

// tokens finds, for every step, the source whose token reaches it over edges; -1 for none. Two
// sources for one step are an error.
func (k analyzer) tokens() []int {
	owner := make([]int, len(k.p.Nodes))
	for i := range owner {
		owner[i] = -1
	}
	sources := slices.Concat(k.p.Roots, k.p.Finally)
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
				case e.To == walk.End:
				case owner[e.To] < 0:
					owner[e.To] = source
					queue = append(queue, e.To)
				case owner[e.To] != source && !reported[e.To]:
					reported[e.To] = true
					s := &k.specs[e.To]
					k.r.Error(s.tree, s.ID, "graph.two_tokens", message.New("join branches with needs: instead of edges"),
						"step %s is reached from %s and from %s, which run independently", jsonvalue.Quote(s.ID), k.name(owner[e.To]),
						k.name(source))
					k.broken = true
				}
			}
		}
	}
	return owner
}

// cycles reports needs inside a loop or into one. It warns of loops that never end and of loops
// that cannot repeat. If the graph is not complete, it does not warn, because a missing edge could
// leave the loop.
func (k analyzer) cycles(components [][]int, whole bool) {
	in := make([]int, len(k.p.Nodes)) // number of the component, for membership
	for i, c := range components {
		for _, v := range c {
			in[v] = i
		}
	}
	for i, c := range components {
		if !k.p.Nodes[c[0]].OnCycle {
			continue
		}
		inside := func(v int) bool { return v != walk.End && in[v] == i }
		if j := slices.IndexFunc(c, func(v int) bool { return len(k.p.Nodes[v].Needs) > 0 }); j >= 0 {
			s := &k.specs[c[j]]
			k.r.Error(s.field("needs"), s.ID, "needs.cycle", message.New("remove one of the dependencies"), "dependency cycle: %s",
				k.cyclePath(c[j], inside))
			k.broken = true
			continue
		}
		exits := false
		for _, v := range c {
			n := &k.p.Nodes[v]
			for _, d := range n.Dependents {
				o := &k.specs[d]
				k.r.Error(o.field("needs"), o.ID, "needs.on_cycle", message.New("name a step after the loop"),
					"step %s depends on %s, which is in the loop %s", jsonvalue.Quote(o.ID), n.ID, k.cyclePath(v, inside))
				k.broken = true
			}
			exits = exits || !hasFallback(n) || slices.ContainsFunc(n.Out, func(e walk.ProgramEdge) bool { return !inside(e.To) })
		}
		s := &k.specs[c[0]]
		switch {
		case !whole:
		case !exits:
			k.r.Warn(s.tree, s.ID, "graph.cycle", message.New("add an edge with a condition that leaves the loop"),
				"no edge leaves the loop %s; the run fails when max_visits is reached", k.cyclePath(c[0], inside))
		case !k.repeats(c, inside):
			k.r.Warn(s.tree, s.ID, "loop.unbounded", message.New("set max_visits on all steps of the loop"),
				"the loop %s cannot repeat; the run fails when a step exceeds its max_visits", k.cyclePath(c[0], inside))
		}
	}
}

// hasFallback reports whether one of the edges out of a step is always taken.
func hasFallback(n *walk.ProgramNode) bool {
	return slices.ContainsFunc(n.Out, func(e walk.ProgramEdge) bool { return e.Cond.Fallback() })
}

// repeats reports whether a loop can repeat: it has a cycle whose steps may all be visited more
// than once.
func (k analyzer) repeats(c []int, inside func(int) bool) bool {
	state := make(map[int]int, len(c)) // 1: on the path, 2: done
	type frame struct{ v, next int }
	for _, root := range c {
		if state[root] != 0 || k.p.Nodes[root].MaxVisits < 2 {
			continue
		}
		frames := []frame{{root, 0}}
		state[root] = 1
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			out := k.p.Nodes[f.v].Out
			if f.next == len(out) {
				state[f.v] = 2
				frames = frames[:len(frames)-1]
				continue
			}
			w := out[f.next].To
			f.next++
			if !inside(w) || k.p.Nodes[w].MaxVisits < 2 {
				continue
			}
			switch state[w] {
			case 1:
				return true
			case 0:
				state[w] = 1
				frames = append(frames, frame{w, 0})
			}
		}
	}
	return false
}

// cyclePath writes the shortest cycle through v, as "a → b → a".
func (k analyzer) cyclePath(v int, inside func(int) bool) string {
	if k.r.Full() {
		return ""
	}
	from := map[int]int{}
	queue := []int{v}
search:
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for i := 0; ; i++ {
			w, ok := successor(k.p, u, i)
			if !ok {
				break
			}
			if _, seen := from[w]; seen || !inside(w) {
				continue
			}
			from[w] = u
			if w == v {
				break search
			}
			queue = append(queue, w)
		}
	}
	path := []string{k.name(v)}
	for u, ok := from[v]; ok && u != v; u = from[u] {
		path = append(path, k.name(u))
	}
	path = append(path, k.name(v))
	slices.Reverse(path)
	if len(path) > 10 {
		path = slices.Concat(path[:8], []string{"…"}, path[len(path)-1:])
	}
	return strings.Join(path, " → ")
}

func (k analyzer) unreachable(owner []int) {
	for i, o := range owner {
		if s := &k.specs[i]; o < 0 {
			k.r.Warn(s.tree, s.ID, "graph.unreachable", message.New("add an edge to it, or remove it"), "step %s is never reached",
				jsonvalue.Quote(s.ID))
		}
	}
}

// endings warns of nodes where the run ends when no condition matches.
func (k analyzer) endings() {
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		// With only error edges, the run may end here.
		decides := !hasFallback(n) && slices.ContainsFunc(n.Out, func(e walk.ProgramEdge) bool { return !e.Cond.OnFailure() })
		switch {
		case n.EndsOK && !decides:
			k.r.Warn(s.field("ends"), s.ID, "node.ends_unused", message.New("remove it"),
				"ends has no effect, because step %s always has an edge to take, or none at all", jsonvalue.Quote(s.ID))
			continue
		case n.EndsOK || !decides:
			continue
		}
		what := message.New("the run ends")
		if k.p.Strict {
			what = message.New("the run fails")
		}
		k.r.Warn(s.tree, s.ID, "branch.not_total",
			message.New("add an edge with condition: default, or ends: ok if the branch may end there"),
			"all edges from step %s have conditions: %s if none of them holds", jsonvalue.Quote(s.ID), what)
	}
}

// exclusive warns of needs on branches of which only one is taken, because they never all complete.
func (k analyzer) exclusive(v *view) {
	const pairs = 64 // needs that are compared with each other
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if n.When != walk.WhenSuccess {
			continue
		}
		needs := n.Needs[:min(len(n.Needs), pairs)]
	compare:
		for x, a := range needs {
			for _, b := range needs[x+1:] {
				if v.owner[a] >= 0 && v.owner[a] == v.owner[b] && !v.before(a, b) && !v.before(b, a) {
					k.r.Warn(s.field("needs"), s.ID, "needs.exclusive", message.New("write when: any_success, or when: none_failed"),
						"step %s depends on %s and %s, of which only one runs, so it is always skipped", jsonvalue.Quote(s.ID),
						k.name(a), k.name(b))
					break compare
				}
			}
		}
	}
}
