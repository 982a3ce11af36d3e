package walk

import "slices"

// A race is a node with [WhenFirst]. It starts when the first of the nodes that it needs has completed, which is
// then the winner. The others have lost, also if they complete later.

// reasonLost is why a node does not run that has lost a race before it began.
const reasonLost = "another step of the race completed"

// raceOf returns the race that a node takes part in, or -1. Such a node has no other dependents.
func raceOf(p *Program, node int) int {
	for _, i := range p.Nodes[node].Dependents {
		if p.Nodes[i].When == WhenFirst {
			return i
		}
	}
	return -1
}

// winner returns the node of a race that completed first, or -1. It ignores the nodes in undone.
func winner(w *Walk, race int, undone []bool) int {
	first := -1
	for _, j := range w.p.Nodes[race].Needs {
		n := &w.nodes[j]
		if n.status == Completed && (undone == nil || !undone[j]) && (first < 0 || n.settledAt < w.nodes[first].settledAt) {
			first = j
		}
	}
	return first
}

// Lost reports whether a node cannot win its race because another node has won it. The driver cancels the open
// visit of such a node, and settles it.
func Lost(w *Walk, node int) bool {
	race := raceOf(w.p, node)
	return race >= 0 && w.nodes[node].status != Completed && winner(w, race, nil) >= 0
}

// isLate reports whether a node had not settled when another node won its race. Expressions see it as cancelled,
// so that they do not depend on how fast its cancellation is.
func isLate(w *Walk, node int) bool {
	n := &w.nodes[node]
	race := raceOf(w.p, node)
	if race < 0 || n.open == nil && !n.late {
		return false
	}
	first := winner(w, race, nil)
	return first >= 0 && first != node
}

// losesRace reports whether a failure only ends the part of a node in a race: another one can still complete.
func losesRace(w *Walk, node int) bool {
	race := raceOf(w.p, node)
	return race >= 0 && slices.ContainsFunc(w.p.Nodes[race].Needs, func(j int) bool { return j != node && w.nodes[j].status == "" })
}

// lastFailure returns the latest failure in a race without a winner, or nil if none of its nodes failed, or if
// one of them has failed the run.
func lastFailure(w *Walk, race int) *Failure {
	at, last := 0, (*Failure)(nil)
	for _, j := range w.p.Nodes[race].Needs {
		n := &w.nodes[j]
		if n.unhandled {
			return nil
		}
		if n.status == Failed && n.settledAt > at {
			at, last = n.settledAt, n.failure
		}
	}
	return last
}

// reopensRace reports whether a node runs again because its race does: none of the nodes that have completed is
// kept.
func reopensRace(w *Walk, node int, undone []bool) bool {
	n := &w.nodes[node]
	if n.previous == nil && !n.lostUnvisited {
		return false
	}
	race := raceOf(w.p, node)
	return race >= 0 && winner(w, race, undone) < 0
}
