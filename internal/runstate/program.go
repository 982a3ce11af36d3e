package runstate

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Compiled is a compiled version of a plan with precomputed facts.
type Compiled struct {
	*walk.Program
	Version     domain.Version // without its source
	HasPlans    bool           // some node runs another plan
	MaxChildren int            // child runs that can run at the same time; 0 means any number
	Replans     bool           // some node requests a new plan when it fails
	Races       bool           // some node is a race
	// Predecessors lists, for each node, the nodes that lead to it over edges and needs.
	Predecessors [][]int
}

// NewCompiled precomputes the facts of a compiled version.
func NewCompiled(compiled *walk.Program, v domain.Version) *Compiled {
	p := &Compiled{Program: compiled, Version: v, Predecessors: make([][]int, len(compiled.Nodes))}
	many := false
	for i := range compiled.Nodes {
		n := &compiled.Nodes[i]
		if n.Type == walk.TypePlan {
			p.HasPlans, many = true, many || n.Foreach != nil
			p.MaxChildren++
		}
		p.Replans = p.Replans || n.Replans()
		p.Races = p.Races || n.When == walk.WhenFirst
		for _, out := range n.Out {
			if out.To != walk.End {
				p.Predecessors[out.To] = append(p.Predecessors[out.To], i)
			}
		}
		p.Predecessors[i] = append(p.Predecessors[i], n.Needs...)
	}
	if many {
		p.MaxChildren = 0
	}
	return p
}

// BoundNodes returns the nodes whose outputs the approval of step i is bound to: those that lead to
// it, and those that later steps read, without the later steps.
func (p *Compiled) BoundNodes(i int) []int {
	after := p.After(i)
	found := map[int]bool{}
	add := func(list []int) {
		for _, n := range list {
			if n != i && !after[n] {
				found[n] = true
			}
		}
	}
	add(p.Predecessors[i])
	add(p.Reads(i))
	for n := range after {
		add(p.Predecessors[n])
		add(p.Reads(n))
	}
	return slices.Sorted(maps.Keys(found))
}

// After returns the set of nodes that a node leads to over edges and needs.
func (p *Compiled) After(i int) map[int]bool {
	seen := map[int]bool{}
	queue := p.Next(i)
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if !seen[n] {
			seen[n] = true
			queue = append(queue, p.Next(n)...)
		}
	}
	return seen
}

// Next returns the nodes that a node leads to directly.
func (p *Compiled) Next(i int) []int {
	var list []int
	for _, e := range p.Nodes[i].Out {
		if e.To != walk.End {
			list = append(list, e.To)
		}
	}
	return append(list, p.Nodes[i].Dependents...)
}

// childVersion returns the hash of the version that a plan step runs, or "" if it is not known yet.
func childVersion(s *State, w *Step) string {
	if b := s.Program.Nodes[w.Node].Block; b != nil {
		return b.Program.Hash
	}
	name, failure := walk.ChildPlan(s.Walk, w.VisitKey, w.Item)
	if failure != nil {
		return ""
	}
	return s.Plans[name]
}

// Builtin reports whether nodes of the type need no handler.
func Builtin(typ string) bool {
	switch typ {
	case walk.TypeSet, walk.TypeLog, walk.TypeNoop, walk.TypeDecision, walk.TypeFail:
		return true
	}
	return false
}
