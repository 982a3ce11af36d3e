package run

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
)

// This file describes the nodes of a run by its plan: what leads to them, and whether the run may still reach
// them.

// before names what a node waits for, and what leads to it.
func (b *record) before(node string) (needs, edges []string) {
	i, ok := b.program.Index[node]
	if !ok {
		return nil, nil
	}
	for _, n := range b.program.Nodes[i].Needs {
		needs = append(needs, b.program.Nodes[n].ID)
	}
	return needs, b.sources()[i]
}

// sources are the nodes with an edge to each node.
func (b *record) sources() map[int][]string {
	if b.into == nil {
		b.into = map[int][]string{}
		for i := range b.program.Nodes {
			for _, e := range b.program.Nodes[i].Out {
				if e.To != walk.End {
					b.into[e.To] = append(b.into[e.To], b.program.Nodes[i].ID)
				}
			}
		}
	}
	return b.into
}

// missing are the nodes with no step.
func (b *record) missing() []string {
	if b.never == nil {
		b.never = []string{}
		seen := map[string]bool{}
		for _, st := range b.steps {
			seen[st.node] = true
		}
		for i := range b.program.Nodes {
			if id := b.program.Nodes[i].ID; !seen[id] {
				b.never = append(b.never, id)
			}
		}
	}
	return b.never
}

// stepsOfNode are the steps of a node, in order.
func (b *record) stepsOfNode(node string) []*step {
	if b.byNode == nil {
		b.byNode = map[string][]*step{}
		for _, st := range b.steps {
			b.byNode[st.node] = append(b.byNode[st.node], st)
		}
	}
	return b.byNode[node]
}

// ahead are the nodes that the run may still come to, or could have: all behind
// what is not over, or did not go well.
func (b *record) ahead() map[int]bool {
	if b.front != nil {
		return b.front
	}
	b.front = map[int]bool{}
	var queue []int
	reach := func(i int) {
		if !b.front[i] {
			b.front[i] = true
			queue = append(queue, i)
		}
	}
	visited := map[string]bool{}
	for _, st := range b.steps {
		visited[st.node] = true
	}
	next := func(i int, to string) {
		n := &b.program.Nodes[i]
		for _, e := range n.Out {
			if e.To != walk.End && (to == "" || b.program.Nodes[e.To].ID == to) {
				reach(e.To)
			}
		}
		for _, j := range n.Dependents {
			reach(j)
		}
	}
	if len(b.steps) == 0 {
		for _, i := range b.program.Roots {
			reach(i)
		}
	}
	for _, st := range b.steps {
		i, ok := b.program.Index[st.node]
		switch {
		case !ok || st.status == domain.NodeSkipped || b.d.Run.Status == domain.RunCompleted:
		case st.status != domain.NodeCompleted:
			next(i, "")
		case st.led() != "" && !visited[st.led()]:
			next(i, st.led())
		case st.led() == "":
			for _, j := range b.program.Nodes[i].Dependents {
				if !visited[b.program.Nodes[j].ID] {
					reach(j)
				}
			}
		}
	}
	if !b.d.Run.Status.Final() {
		for _, i := range b.program.Finally {
			if !visited[b.program.Nodes[i].ID] {
				reach(i)
			}
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		next(i, "")
	}
	return b.front
}

// noStep is what became of a node without a step, as the key of a word: the run failed there before a step
// began, went past it, or may still come there. why is empty for the last.
func (b *record) noStep(node string) (state, why string) {
	if e := b.d.Run.Error; b.d.Run.Status == domain.RunFailed && e != nil && e.Node == node {
		return "failed", kit.Visible(kit.Cut(e.Message, 120))
	}
	if why, not := b.notTaken(node); not {
		return passed, why
	}
	return todo, ""
}

// notTaken reports why the run went past a node; false: it may still come there, or
// could have.
func (b *record) notTaken(node string) (string, bool) {
	i, ok := b.program.Index[node]
	if !ok || b.ahead()[i] {
		return "", false
	}
	_, from := b.before(node)
	var steps []*step
	for _, before := range from {
		steps = append(steps, b.stepsOfNode(before)...)
	}
	slices.SortFunc(steps, func(x, y *step) int { return cmp.Compare(x.seq, y.seq) })
	for _, st := range steps {
		if st.final == nil {
			continue
		}
		for _, e := range st.decision().Evaluated {
			if e.To == node && e.Result != "true" {
				text := b.T("not taken: %s", e.Condition)
				if e.Saw != "" {
					text = b.T("not taken: %s saw %s", e.Condition, e.Saw)
				}
				return kit.Visible(kit.Cut(text, 120)), true
			}
		}
		if to := st.led(); to != "" && to != node {
			return b.T("not taken: %s led to %s", st.node, to), true
		}
	}
	return "", b.d.Run.Status == domain.RunCompleted
}

func (b *record) kind(node string) string {
	i, ok := b.program.Index[node]
	if !ok {
		return ""
	}
	n := &b.program.Nodes[i]
	switch {
	case n.Tool != "":
		return "tool · " + n.Tool
	case n.Agent != "":
		return n.Type + " · " + n.Agent
	case n.Plan != "":
		return n.Type + " · " + n.Plan
	}
	return n.Type
}

// does is what a node does, in a word: its tool, its agent, or its type.
func (b *record) does(node string) string {
	i, ok := b.program.Index[node]
	if !ok {
		return ""
	}
	n := &b.program.Nodes[i]
	return cmp.Or(n.Tool, n.Agent, n.Plan, n.Type)
}

func (b *record) typeOf(node string) string {
	if i, ok := b.program.Index[node]; ok {
		return b.program.Nodes[i].Type
	}
	return ""
}

// conversations reports whether a node asks a model.
func (b *record) conversations(node string) bool {
	switch b.typeOf(node) {
	case walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeGenerator:
		return true
	}
	return false
}

// target is what a step called: the host of its address, else its tool.
func (b *record) target(node string) string {
	st := b.lastOf(node)
	if st == nil {
		return ""
	}
	if a := st.attempt(""); a != nil {
		if v, err := jsonvalue.Decode(a.input); err == nil {
			if in, ok := v.(map[string]any); ok {
				if text, ok := in["url"].(string); ok {
					if u, err := url.Parse(text); err == nil && u.Host != "" {
						return kit.Visible(kit.Cut(u.Host, 80))
					}
				}
			}
		}
	}
	if i, ok := b.program.Index[node]; ok && b.program.Nodes[i].Tool != "" {
		return kit.Visible(b.program.Nodes[i].Tool)
	}
	return ""
}

// lastOf is the newest failed step of a node, else its newest.
func (b *record) lastOf(node string) *step {
	var last *step
	for _, st := range b.steps {
		if st.node == node && (last == nil || st.failed() || !last.failed()) {
			last = st
		}
	}
	return last
}
