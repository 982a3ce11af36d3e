package planner

import (
	"cmp"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// A run should combine at most two of these: untrusted input, private data of the server, and a way
// to change other systems. If it combines all three, an approval should come between the untrusted
// input and the change. The reason is that text which a model or a tool reads can control what it
// does next.

// untrusted reports whether the output of a step may contain untrusted input. The memory of a
// session counts as untrusted, because it holds unchecked answers of models.
func (c *Catalog) untrusted(n *walk.ProgramNode) bool {
	if n.Input != nil && slices.ContainsFunc(n.Input.References(), func(r walk.TemplateRef) bool { return r.Root == walk.RefMemory }) {
		return true
	}
	switch n.Type {
	case walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeTools, walk.TypeGenerator:
		return true
	case walk.TypeTool:
		return c.Tools[n.Tool].Untrusted
	case walk.TypeWait:
		return n.WaitsForEvent()
	}
	return false
}

// private describes the private data that a step reads: a secret, or data that its tool or a tool
// of its agent reads. It is zero if there is none.
func (c *Catalog) private(n *walk.ProgramNode) message.Message {
	if n.Input != nil {
		for _, ref := range n.Input.References() {
			if name := ref.Secret(); name != "" {
				return message.New("the secret %s", jsonvalue.Quote(name))
			}
		}
	}
	switch n.Type {
	case walk.TypeTool:
		if c.Tools[n.Tool].Private && c.DefaultEffect(n) != walk.EffectPure {
			return message.New("data that step %s reads", jsonvalue.Quote(n.ID))
		}
	case walk.TypeAgent:
		if c.Agents[c.actor(n)].Private {
			return message.New("data that step %s reads", jsonvalue.Quote(n.ID))
		}
	}
	return message.Message{}
}

// changes reports whether a step may change other systems without an approval of that call.
func (c *Catalog) changes(n *walk.ProgramNode, plan string) bool {
	effect := c.DefaultEffect(n)
	if n.Type == walk.TypeTool {
		info := c.Tools[n.Tool]
		return effect != walk.EffectPure && effect != walk.EffectRead && (info.Asks == nil || !info.Asks(plan))
	}
	return n.Type == walk.TypeAgent && c.Agents[c.actor(n)].Changes
}

func (c *Catalog) actor(n *walk.ProgramNode) string {
	if n.Agent == "" {
		return c.DefaultAgent
	}
	return n.Agent
}

// ruleOfTwo warns of steps that may change other systems after the run read untrusted input,
// without an approval between, in a plan with private data.
func (k analyzer) ruleOfTwo() {
	if k.c == nil {
		return
	}
	private := message.Message{}
	for i := range k.p.Nodes {
		if private = k.c.private(&k.p.Nodes[i]); !private.IsZero() {
			break
		}
		if undo := k.p.Nodes[i].Undo; undo != nil {
			if private = k.c.private(undo); !private.IsZero() {
				break
			}
		}
	}
	if private.IsZero() {
		return
	}
	sources := k.untrustedSources()
	for i := range k.p.Nodes {
		n := &k.p.Nodes[i]
		if from := k.undoReadsUntrusted(i, sources); from >= 0 && k.c.changes(n.Undo, walk.PlanOf(k.p.ID)) {
			k.r.warn(k.specs[i].undo.tree, n.ID, "plan.rule_of_two",
				message.New("remove the reference, or set the permission of its tool to ask"),
				"the undo of step %s may change other systems after reading the output of step %s, which may be untrusted input, "+
					"in a run with private data (%s)", jsonvalue.Quote(n.ID), jsonvalue.Quote(k.p.Nodes[from].ID), private)
		}
		if sources[i] < 0 || !k.c.changes(n, walk.PlanOf(k.p.ID)) {
			continue
		}
		from := message.New("the output of step %s, which may be untrusted input", jsonvalue.Quote(k.p.Nodes[sources[i]].ID))
		if sources[i] == i {
			from = message.New("untrusted input")
		}
		k.r.warn(cmp.Or(k.specs[i].keyTree, k.specs[i].tree), n.ID, "plan.rule_of_two",
			message.New("add an approval before it, set the permission of its tool to ask, or remove one of the three"),
			"step %s may change other systems after reading %s, in a run with private data (%s), and no approval comes first",
			jsonvalue.Quote(n.ID), from, private)
	}
}

// undoReadsUntrusted returns a step whose output the undo of a step reads, if that may contain untrusted
// input, and -1 otherwise.
func (k analyzer) undoReadsUntrusted(i int, sources []int) int {
	n := &k.p.Nodes[i]
	if n.Undo == nil {
		return -1
	}
	for _, ref := range n.UndoReferences() {
		from := i
		if ref.Root != walk.RefLast {
			j, ok := k.p.Index[ref.Node()]
			if ref.Root != walk.RefOutput || !ok {
				continue
			}
			from = j
		}
		if k.c.untrusted(&k.p.Nodes[from]) || from != i && sources[from] >= 0 {
			return from
		}
	}
	return -1
}

// untrustedSources finds, for every step, the nearest step whose output may contain untrusted input
// and reaches it without an approval between. A step may be its own source; -1 means none.
func (k analyzer) untrustedSources() []int {
	from := make([]int, len(k.p.Nodes))
	var next []int
	for i := range k.p.Nodes {
		from[i] = -1
		if k.c.untrusted(&k.p.Nodes[i]) || k.c.UntrustedInput && readsInput(k.p, i) {
			from[i] = i
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for i := 0; ; i++ {
			to, ok := successor(k.p, at, i)
			if !ok {
				break
			}
			if from[to] < 0 && k.p.Nodes[to].Type != walk.TypeApproval {
				from[to] = from[at]
				next = append(next, to)
			}
		}
	}
	return from
}

// readsInput reports whether a step reads the input of the run. A first step without an input of its
// own receives it.
func readsInput(p *walk.Program, i int) bool {
	n := &p.Nodes[i]
	switch {
	case n.Type == walk.TypeApproval:
		return false
	case n.Input == nil:
		return slices.Contains(p.Roots, i)
	}
	return slices.ContainsFunc(n.Input.References(), func(r walk.TemplateRef) bool { return r.Root == walk.RefInput })
}
