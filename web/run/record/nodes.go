package record

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
)

// Before returns the dependencies of a step, and the steps with an edge to it.
func (b *Record) Before(node string) (needs, edges []string) {
	i, ok := b.Program.Index[node]
	if !ok {
		return nil, nil
	}
	for _, n := range b.Program.Nodes[i].Needs {
		needs = append(needs, b.Program.Nodes[n].ID)
	}
	return needs, b.sources()[i]
}

// Winner returns the step with the race that a step has or takes part in, and the step that won it. They are "" and
// nil if there is none.
func (b *Record) Winner(node string) (race string, first *Step) {
	i, ok := b.Program.Index[node]
	if !ok {
		return "", nil
	}
	for _, j := range append([]int{i}, b.Program.Nodes[i].Dependents...) {
		if b.Program.Nodes[j].When == walk.WhenFirst {
			race, i = b.Program.Nodes[j].ID, j
		}
	}
	if race == "" {
		return "", nil
	}
	for _, j := range b.Program.Nodes[i].Needs {
		for _, st := range b.StepsOfNode(b.Program.Nodes[j].ID) {
			if st.Final != nil && st.Status == domain.NodeCompleted && (first == nil || st.Final.Seq < first.Final.Seq) {
				first = st
			}
		}
	}
	return race, first
}

// sources returns the ids of the steps with an edge to each step.
func (b *Record) sources() map[int][]string {
	if b.into == nil {
		b.into = map[int][]string{}
		for i := range b.Program.Nodes {
			for _, e := range b.Program.Nodes[i].Out {
				if e.To != walk.End {
					b.into[e.To] = append(b.into[e.To], b.Program.Nodes[i].ID)
				}
			}
		}
	}
	return b.into
}

// Missing returns the steps of the plan that did not start.
func (b *Record) Missing() []string {
	if b.never == nil {
		b.never = []string{}
		seen := map[string]bool{}
		for _, st := range b.Steps {
			seen[st.Node] = true
		}
		for i := range b.Program.Nodes {
			if id := b.Program.Nodes[i].ID; !seen[id] {
				b.never = append(b.never, id)
			}
		}
	}
	return b.never
}

// StepsOfNode returns the executions of a step, in order.
func (b *Record) StepsOfNode(node string) []*Step {
	if b.byNode == nil {
		b.byNode = map[string][]*Step{}
		for _, st := range b.Steps {
			b.byNode[st.Node] = append(b.byNode[st.Node], st)
		}
	}
	return b.byNode[node]
}

// ahead returns the steps that the run may still reach, or could have reached: all steps after
// those that have not completed.
func (b *Record) ahead() map[int]bool {
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
	for _, st := range b.Steps {
		visited[st.Node] = true
	}
	next := func(i int, to string) {
		n := &b.Program.Nodes[i]
		for _, e := range n.Out {
			if e.To != walk.End && (to == "" || b.Program.Nodes[e.To].ID == to) {
				reach(e.To)
			}
		}
		for _, j := range n.Dependents {
			if to := &b.Program.Nodes[j]; to.When != walk.WhenFirst || !visited[to.ID] { // a race does not wait for the others
				reach(j)
			}
		}
	}
	if len(b.Steps) == 0 {
		for _, i := range b.Program.Roots {
			reach(i)
		}
	}
	for _, st := range b.Steps {
		i, ok := b.Program.Index[st.Node]
		switch {
		case !ok || st.Status == domain.NodeSkipped || b.Detail.Run.Status == domain.RunCompleted:
		case st.Status != domain.NodeCompleted:
			next(i, "")
		case st.Led() != "" && !visited[st.Led()]:
			next(i, st.Led())
		case st.Led() == "":
			for _, j := range b.Program.Nodes[i].Dependents {
				if !visited[b.Program.Nodes[j].ID] {
					reach(j)
				}
			}
		}
	}
	if !b.Detail.Run.Status.Final() {
		for _, i := range b.Program.Finally {
			if !visited[b.Program.Nodes[i].ID] {
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

// NoStep returns the state of a step that did not start, as a key of StepStates. It is "failed" if
// the run failed there, Passed if the run went past the step, or Todo if it may still reach it. why
// is the reason, or empty for Todo.
func (b *Record) NoStep(node string) (state, why string) {
	if e := b.Detail.Run.Error; b.Detail.Run.Status == domain.RunFailed && e != nil && e.Node == node {
		return "failed", kit.Escape(kit.Truncate(e.Message, 120))
	}
	if why, not := b.notTaken(node); not {
		return Passed, why
	}
	return Todo, ""
}

// notTaken returns why the run went past a step. It returns false if the run may still reach it, or
// could have reached it.
func (b *Record) notTaken(node string) (string, bool) {
	i, ok := b.Program.Index[node]
	if !ok || b.ahead()[i] {
		return "", false
	}
	_, from := b.Before(node)
	var steps []*Step
	for _, before := range from {
		steps = append(steps, b.StepsOfNode(before)...)
	}
	slices.SortFunc(steps, func(x, y *Step) int { return cmp.Compare(x.Seq, y.Seq) })
	for _, st := range steps {
		if st.Final == nil {
			continue
		}
		for _, e := range st.Decision().Evaluated {
			if e.To == node && e.Result != "true" {
				text := b.T("not taken: %s", e.Condition)
				if e.Saw != "" {
					text = b.T("not taken: %s saw %s", e.Condition, e.Saw)
				}
				return kit.Escape(kit.Truncate(text, 120)), true
			}
		}
		if to := st.Led(); to != "" && to != node {
			return b.T("not taken: %s led to %s", st.Node, to), true
		}
	}
	return "", b.Detail.Run.Status == domain.RunCompleted
}

func (b *Record) Kind(node string) string {
	i, ok := b.Program.Index[node]
	if !ok {
		return ""
	}
	n := &b.Program.Nodes[i]
	switch {
	case n.Tool != "":
		return "tool · " + n.Tool
	case n.Agent != "":
		return n.Type + " · " + n.Agent
	case n.Plan != "":
		return n.Type + " · " + n.Plan
	case n.Block != nil:
		return n.TypeName
	}
	return n.Type
}

// ActionOf returns the tool, the agent, the plan, or the type of a step.
func (b *Record) ActionOf(node string) string {
	i, ok := b.Program.Index[node]
	if !ok {
		return ""
	}
	n := &b.Program.Nodes[i]
	return cmp.Or(n.Tool, n.Agent, n.Plan, n.Type)
}

func (b *Record) TypeOf(node string) string {
	if i, ok := b.Program.Index[node]; ok {
		return b.Program.Nodes[i].Type
	}
	return ""
}

// Conversations reports whether a step calls a model.
func (b *Record) Conversations(node string) bool {
	switch b.TypeOf(node) {
	case walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeGenerator:
		return true
	}
	return false
}

// TargetOf returns what a step called: the host of its URL, or its tool.
func (b *Record) TargetOf(node string) string {
	st := b.LastOf(node)
	if st == nil {
		return ""
	}
	if a := st.Attempt(""); a != nil {
		if v, err := jsonvalue.Decode(a.Input); err == nil {
			if in, ok := v.(map[string]any); ok {
				if text, ok := in["url"].(string); ok {
					if u, err := url.Parse(text); err == nil && u.Host != "" {
						return kit.Escape(kit.Truncate(u.Host, 80))
					}
				}
			}
		}
	}
	if i, ok := b.Program.Index[node]; ok && b.Program.Nodes[i].Tool != "" {
		return kit.Escape(b.Program.Nodes[i].Tool)
	}
	return ""
}

// LastOf returns the newest failed execution of a step, or the newest one if none failed.
func (b *Record) LastOf(node string) *Step {
	var last *Step
	for _, st := range b.Steps {
		if st.Node == node && (last == nil || st.Failed() || !last.Failed()) {
			last = st
		}
	}
	return last
}
