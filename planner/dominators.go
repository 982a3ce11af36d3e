package planner

import "slices"

// dominators returns the immediate dominator of each vertex. Vertices are numbers in depth-first
// order; 0 is the root. parent is the parent of each vertex in the depth-first tree, and before
// lists the predecessors of each vertex.
//
// It finds semi-dominators by path compression, and dominators as nearest common ancestors (Georgiadis
// and Tarjan, "Finding Dominators in Practice", algorithm SNCA).
func dominators(parent []int, before [][]int) []int {
	count := len(parent)
	semi, label, link := make([]int, count), make([]int, count), slices.Clone(parent)
	for i := range semi {
		semi[i], label[i] = i, i
	}
	var path []int
	// evaluate returns the number with the least semi-dominator on the path from u to the first
	// unprocessed number, and compresses the path.
	evaluate := func(u, processed int) int {
		if link[u] < processed {
			return label[u]
		}
		path = path[:0]
		for ; link[u] >= processed; u = link[u] {
			path = append(path, u)
		}
		top, best := u, label[u]
		for i := len(path) - 1; i >= 0; i-- {
			w := path[i]
			link[w] = link[top]
			if semi[best] < semi[label[w]] {
				label[w] = best
			} else {
				best = label[w]
			}
			top = w
		}
		return label[top]
	}
	dominator := slices.Clone(parent)
	for i := count - 1; i > 0; i-- {
		for _, u := range before[i] {
			if u < i {
				semi[i] = min(semi[i], u)
			} else {
				semi[i] = min(semi[i], semi[evaluate(u, i+1)])
			}
		}
	}
	for i := 1; i < count; i++ {
		for dominator[i] > semi[i] {
			dominator[i] = dominator[dominator[i]]
		}
	}
	return dominator
}
