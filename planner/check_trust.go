package planner

import (
	"cmp"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// What a node is to the rule of two (RELIABILITY S18): whoever writes what a model
// or a tool reads may make it say anything. A run should hold at most two of: words
// of strangers, what an installation keeps to itself, and a way to change something
// outside; or a person should stand between the strangers and the change.

// untrusted reports whether what a node gives may be what strangers wrote. What a
// session remembers are answers of models: nobody has checked them (S22).
func (c *Catalog) untrusted(n *walk.ProgramNode) bool {
	if n.Input != nil && slices.ContainsFunc(n.Input.References(), func(r walk.TemplateRef) bool { return r.Root == walk.RefMemory }) {
		return true
	}
	switch n.Type {
	case walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeTools, walk.TypeGenerator:
		return true
	case walk.TypeTool:
		return c.Tools[n.Tool].Untrusted
	}
	return false
}

// private names what a node has of what the installation keeps to itself: a secret,
// or data that its tool, or a tool of its agent, reads. Empty: nothing.
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

// changes reports whether a node may change something outside without a person
// being asked about that very call.
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

// ruleOfTwo warns of nodes that may change something outside after strangers were
// heard and before a person was asked, in a plan that has private data.
func (k analyzer) ruleOfTwo() {
	if k.c == nil {
		return
	}
	private := message.Message{}
	for i := range k.p.Nodes {
		if private = k.c.private(&k.p.Nodes[i]); !private.IsZero() {
			break
		}
	}
	if private.IsZero() {
		return
	}
	heard := k.heard()
	for i := range k.p.Nodes {
		n := &k.p.Nodes[i]
		if heard[i] < 0 || !k.c.changes(n, k.p.ID) {
			continue
		}
		from := message.New("the output of step %s, which may be untrusted input", jsonvalue.Quote(k.p.Nodes[heard[i]].ID))
		if heard[i] == i {
			from = message.New("untrusted input")
		}
		k.r.warn(
			cmp.Or(k.specs[i].keyTree, k.specs[i].tree),
			n.ID,
			"plan.rule_of_two",
			message.New("add an approval before it, set the permission of its tool to ask, or remove one of the three"),
			"step %s may change other systems after reading %s, in a run with private data (%s), and no approval comes first",
			jsonvalue.Quote(n.ID),
			from,
			private,
		)
	}
}

// heard gives for every node the nearest one by whose words it may be led, itself
// among them, with no approval between; -1 for none.
func (k analyzer) heard() []int {
	from := make([]int, len(k.p.Nodes))
	var next []int
	for i := range k.p.Nodes {
		from[i] = -1
		if k.c.untrusted(&k.p.Nodes[i]) {
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
