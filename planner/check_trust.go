package planner

import (
	"cmp"
	"slices"

	"github.com/kairosd/kairosd/planner/internal/trust"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

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

// trustFacts describes the steps of plans to package trust.
type trustFacts struct {
	*Catalog
	profile string
}

func (f trustFacts) Untrusted(n *walk.ProgramNode) bool            { return f.untrusted(n) }
func (f trustFacts) Private(n *walk.ProgramNode) message.Message   { return f.private(n) }
func (f trustFacts) Changes(n *walk.ProgramNode, plan string) bool { return f.changes(n, plan) }
func (f trustFacts) Plan(name string) *walk.Program {
	if f.Catalog.Plan == nil {
		return nil
	}
	info, _ := f.Catalog.Plan(name, f.profile)
	return info.Program
}

// ruleOfTwo warns of steps that may change other systems after the run read untrusted input, without an
// approval between, in a run with private data. The steps of blocks and of stored sub-plans belong to the
// run.
func (k analyzer) ruleOfTwo() {
	if k.c == nil || k.d.outer != nil {
		return
	}
	for _, f := range trust.RuleOfTwo(k.p, trustFacts{k.c, k.d.Profile}, k.c.UntrustedInput) {
		s, inside := k.specOf(f.Path)
		step, advice := message.New("step %s", jsonvalue.Quote(f.Step().ID)), message.New(
			"add an approval before it, set the permission of its tool to ask, or remove one of the three")
		if !inside {
			step = message.New("step %s of plan %s", jsonvalue.Quote(f.Step().ID), jsonvalue.Quote(f.Plan))
		}
		from, at := message.New("untrusted input"), cmp.Or(s.keyTree, s.tree)
		if n := f.From(); n != nil && (n != f.Step() || f.Undo) {
			from = message.New("the output of step %s, which may be untrusted input", jsonvalue.Quote(n.ID))
		}
		if !f.Undo {
			k.r.Warn(at, s.ID, "plan.rule_of_two", advice,
				"%s may change other systems after reading %s, in a run with private data (%s), and no approval comes first",
				step, from, f.Private)
			continue
		}
		if inside {
			at = s.undo.tree
		}
		k.r.Warn(at, s.ID, "plan.rule_of_two", message.New("remove the reference, or set the permission of its tool to ask"),
			"the undo of %s may change other systems after reading %s, in a run with private data (%s)", step, from, f.Private)
	}
}

// specOf returns the step of the document that leads to a step: the step itself, if the document or one of
// its blocks contains it, or else the step that runs a sub-plan.
func (k analyzer) specOf(path []*walk.ProgramNode) (s *spec, inside bool) {
	in := k.compiler
	for i, n := range path {
		at := in.p.Index[n.ID]
		s = &in.specs[at]
		if n.Block == nil {
			return s, i == len(path)-1
		}
		in = in.blocks[at]
	}
	return s, true
}
