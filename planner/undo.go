package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// decodeUndo reads the undo of a step of a graph.
func decodeUndo(o *object) *Node {
	f := o.object("undo", "undo")
	if f == nil {
		return nil
	}
	n := &Node{Type: f.text("type"), Tool: f.text("tool"), Agent: f.text("agent"), Plan: f.text("plan"), Input: f.value("input"),
		Metadata: f.strings("metadata"), Retry: decodeRetry(f), Timeout: f.duration("timeout"), Effect: walk.Effect(f.text("effect"))}
	checkEffect(f, string(n.Effect))
	f.finish()
	return n
}

// decodeStepUndo reads the undo of a step of a step plan.
func decodeStepUndo(o *object) *Step {
	f := o.object("undo", "undo")
	if f == nil {
		return nil
	}
	s := &Step{SkillID: f.text("skillId"), AgentID: f.text("agentId"), Tool: f.text("tool"), Task: f.text("task"), Params: decodeParams(f),
		Retry: decodeStepRetry(f), Timeout: f.duration("timeout")}
	f.finish()
	return s
}

// enterUndo adds the undo of a step of a graph to its spec.
func enterUndo(s *spec) {
	if s.Undo == nil {
		return
	}
	u := &spec{Node: *s.Undo, key: s.key, tree: s.tree.Get("undo")}
	u.ID = s.ID
	if u.Type == "" {
		switch {
		case u.Tool != "":
			u.Type = walk.TypeTool
		case u.Agent != "":
			u.Type = walk.TypeAgent
		case u.Plan != "":
			u.Type = walk.TypePlan
		}
	}
	s.undo = u
}

// stepUndo adds the undo of a step of a step plan to its spec.
func stepUndo(k *compiler, sp *spec, undo Step) {
	undo.ID = sp.ID
	u := &spec{Node: Node{ID: sp.ID, Timeout: undo.Timeout}, key: sp.ID, tree: sp.tree.Get("undo"), names: stepNames, skill: undo.SkillID,
		task: undo.Task, step: true}
	k.stepAction(u, undo)
	stepInput(u, undo)
	u.Retry = stepRetry(undo.Retry)
	sp.undo = u
}

// undoTypes are the built-in types that can undo a step.
var undoTypes = []string{walk.TypeTool, walk.TypeAgent, walk.TypePlan, walk.TypeApproval}

// compileUndo compiles the call that undoes a step, and checks that there is something to undo.
func compileUndo(k *compiler, n *walk.ProgramNode, s *spec, defaults Defaults) {
	u := s.undo
	if u == nil || u.tree.Kind != source.Map {
		return
	}
	if u.Type == "" {
		if !s.step { // reported for a step plan when its action was read
			k.r.Error(u.tree, s.ID, "undo.action", message.New("add tool:, agent:, or plan:"), "the undo of step %s calls nothing",
				jsonvalue.Quote(s.ID))
		}
		return
	}
	c := &walk.ProgramNode{ID: s.ID, Index: n.Index, Type: resolveType(u.Type), TypeName: u.Type, Tool: u.Tool, Agent: u.Agent,
		SubPlan: walk.SubPlan{Plan: u.Plan}, Metadata: u.Metadata, MaxVisits: 1, Effect: u.Effect,
		StepFacts: walk.StepFacts{Skill: u.skill, Task: u.task}}
	k.template(c, u)
	k.action(c, u)
	k.attempts(c, u, Defaults{Retry: defaults.Retry, Timeout: defaults.Timeout})
	n.Undo = c
	if builtins[c.Type] != "" && !slices.Contains(undoTypes, c.Type) {
		k.r.Error(u.field("type"), s.ID, "undo.type", message.New("call a tool, an agent, or a plan, or ask a person with an approval"),
			"a step of type %s cannot undo anything", c.Type)
		return
	}
	checkUndone(k, n, s)
	checkUndoReads(k, n, u)
	switch effect := k.c.EffectOf(c); effect {
	case walk.EffectPure, walk.EffectRead:
		k.r.Warn(u.tree, s.ID, "undo.no_effect", message.New("call a tool that changes something"),
			"the undo of step %s has no side effects", jsonvalue.Quote(s.ID))
	case walk.EffectUnsafe:
		if k.c == nil || c.Type == walk.TypeTool && k.c.Tools[c.Tool].Effect == "" {
			return // the class is not known
		}
		k.r.Warn(u.tree, s.ID, "undo.unsafe", message.New("if the called system honors the idempotency key, write effect: idempotent"),
			"the undo of step %s is not idempotent: after a crash during the call, a person must state its outcome",
			jsonvalue.Quote(s.ID))
	}
}

// checkUndone reports an undo of a step without side effects.
func checkUndone(k *compiler, n *walk.ProgramNode, s *spec) {
	effect := k.c.EffectOf(n)
	if n.Type != walk.TypePlan && (effect == walk.EffectPure || effect == walk.EffectRead || effect == walk.EffectControl) {
		k.r.Error(s.undo.tree, s.ID, "undo.nothing", message.New("remove it, or write it on the step with the side effect"),
			"step %s has no side effects to undo: its class is %s", jsonvalue.Quote(s.ID), effect)
	}
}

// checkUndoReads reports references that have no value when a step is undone.
func checkUndoReads(k *compiler, n *walk.ProgramNode, u *spec) {
	if n.Foreach == nil {
		k.itemUse(n.Undo, u)
		return
	}
	if n.Undo.Input == nil {
		return
	}
	for _, ref := range n.Undo.Input.References() {
		if ref.Root == walk.RefOutput && ref.Node() == n.ID {
			k.r.Error(k.insideText(u.field("input").At(ref.At), "${"+ref.Text), u.ID, "undo.item",
				message.New("write %s for the output of the item", "${last}"),
				"a foreach is undone item by item: ${%s} has no value", ref.Text)
		}
	}
}

// undo rewrites the undo of a step as that of a node.
func (k *converter) undo(id string, undo Step) *Node {
	undo.ID = id
	n := k.node(undo, false, false)
	n.ID = ""
	return &n
}
