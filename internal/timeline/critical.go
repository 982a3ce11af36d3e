package timeline

import (
	"slices"
	"time"
)

// Work is one piece of a run's work.
type Work struct {
	Node string
	Span
	// Led is the node that the work led to over an edge. It is "" if it led nowhere, or if edges do
	// not decide.
	Led string
	// Idle work was settled without being done, so that it delays nothing.
	Idle bool
}

// slack is the maximum time by which work may seem to begin before its predecessor has ended,
// because clocks are read one after the other.
const slack = 5 * time.Millisecond

// Critical returns the critical path, latest work last: the work that ended last, the work that it
// waited for longest, and so on. before returns the nodes that a node waits for. Nodes that lead to
// it over an edge count only if they took that edge.
func Critical(work []Work, before func(node string) (needs, edges []string)) []int {
	byNode := map[string][]int{} // sorted by end
	order := make([]int, 0, len(work))
	for i, w := range work {
		if !w.Idle {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return work[a].To.Compare(work[b].To) })
	for _, i := range order {
		byNode[work[i].Node] = append(byNode[work[i].Node], i)
	}
	chain := []int{order[len(order)-1]}
	taken := map[int]bool{chain[0]: true}
	for {
		at := work[chain[len(chain)-1]]
		best := -1
		consider := func(node string, edge bool) {
			list := byNode[node]
			n, _ := slices.BinarySearchFunc(list, at.From.Add(slack), func(i int, t time.Time) int { return work[i].To.Compare(t) })
			for _, i := range slices.Backward(list[:n]) {
				if edge && work[i].Led != "" && work[i].Led != at.Node || taken[i] {
					continue
				}
				if best < 0 || work[i].To.After(work[best].To) {
					best = i
				}
				return
			}
		}
		needs, edges := before(at.Node)
		for _, n := range needs {
			consider(n, false)
		}
		for _, n := range edges {
			consider(n, true)
		}
		if best < 0 {
			slices.Reverse(chain)
			return chain
		}
		taken[best] = true
		chain = append(chain, best)
	}
}
