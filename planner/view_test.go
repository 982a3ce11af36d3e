package planner

import (
	"fmt"
	"testing"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/walk"
	"pgregory.net/rapid"
)

// The view agrees with brute force: `before` with a search over all paths, `surely` with a search
// after removing the node.
func TestView(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "nodes")
		p := &walk.Program{Nodes: make([]walk.ProgramNode, n), Index: map[string]int{}}
		for i := range p.Nodes {
			p.Nodes[i] = walk.ProgramNode{ID: fmt.Sprintf("n%d", i), Index: i, Join: walk.Join{When: walk.WhenSuccess}}
			p.Index[p.Nodes[i].ID] = i
		}
		// Node 0 is a root. Some nodes need lower ones, and the others have edges from any node.
		needing := make([]bool, n)
		for i := 1; i < n; i++ {
			needing[i] = rapid.IntRange(0, 3).Draw(rt, "needing") == 0
			if !needing[i] {
				continue
			}
			if rapid.IntRange(0, 4).Draw(rt, "always") == 0 {
				p.Nodes[i].When = walk.WhenAlways
			}
			for _, j := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 1, min(i, 3), rapid.ID).Draw(rt, "needs") {
				p.Nodes[i].Needs = append(p.Nodes[i].Needs, j)
				p.Nodes[j].Dependents = append(p.Nodes[j].Dependents, i)
			}
		}
		for range rapid.IntRange(0, 2*n).Draw(rt, "edges") {
			from, to := rapid.IntRange(0, n-1).Draw(rt, "from"), rapid.IntRange(0, n-1).Draw(rt, "to")
			if to == 0 || needing[to] {
				continue
			}
			p.Nodes[from].Out = append(p.Nodes[from].Out, walk.ProgramEdge{To: to})
			p.Nodes[to].Incoming++
		}
		p.Roots = []int{0}
		k := analyzer{&compiler{d: &Document{tree: &source.Tree{}}, r: &reporter{}, p: p, specs: make([]spec, n), names: map[string]int{}}}
		for i := range k.specs {
			k.specs[i].tree = &source.Tree{}
		}
		components := k.components()
		owner := k.tokens()
		if k.cycles(components, true); k.broken {
			rt.Skip("not a legal graph")
		}
		v := newView(p, components, owner)
		reach := func(from, without int) []bool { // over edges and needs
			seen := make([]bool, n)
			queue := []int{from}
			for len(queue) > 0 {
				u := queue[0]
				queue = queue[1:]
				for i := 0; ; i++ {
					w, ok := successor(p, u, i)
					if !ok {
						break
					}
					if !seen[w] && w != without {
						seen[w] = true
						queue = append(queue, w)
					}
				}
			}
			return seen
		}
		for a := range n {
			for b, want := range reach(a, -1) {
				if got := v.before(a, b); got != want {
					rt.Fatalf("before(%d, %d) = %v, want %v", a, b, got, want)
				}
			}
		}
		// certain returns, by brute force, the nodes that have completed whenever b starts.
		var certain func(b int) map[int]bool
		certain = func(b int) map[int]bool {
			set := map[int]bool{}
			if source := owner[b]; source < 0 {
				return set
			} else if source != b {
				for a := range n {
					if owner[a] != source || a == b {
						continue
					}
					// Without a, can the token still get from its source to b?
					seen, queue := map[int]bool{source: true}, []int{source}
					for len(queue) > 0 && source != a {
						u := queue[0]
						queue = queue[1:]
						for _, e := range p.Nodes[u].Out {
							if e.To != a && !seen[e.To] {
								seen[e.To] = true
								queue = append(queue, e.To)
							}
						}
					}
					if a == source || !seen[b] {
						set[a] = true
					}
				}
				for x := range certain(source) {
					set[x] = true
				}
				return set
			}
			if p.Nodes[b].When == walk.WhenAlways {
				return set
			}
			for _, need := range p.Nodes[b].Needs {
				set[need] = true
				for x := range certain(need) {
					set[x] = true
				}
			}
			return set
		}
		for b := range n {
			if owner[b] < 0 {
				continue
			}
			want := certain(b)
			for a := range n {
				if got := v.surely(a, b); got != want[a] {
					rt.Fatalf("surely(%d, %d) = %v, want %v", a, b, got, want[a])
				}
			}
		}
	})
}
