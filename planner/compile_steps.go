package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// stepNames maps field names of the graph language to those of step plans.
var stepNames = map[string]string{
	"needs":         "dependencies",
	"when":          "condition",
	"input":         "params",
	"agent":         "agentId",
	"type":          "tool",
	"output_schema": "outputSchema",
}

// taskNames is stepNames for a step whose input is a task.
var taskNames = map[string]string{
	"needs":         "dependencies",
	"when":          "condition",
	"input":         "task",
	"agent":         "agentId",
	"type":          "tool",
	"output_schema": "outputSchema",
}

// stepSpecs converts steps to nodes with needs. If no step has dependencies, they run one after the
// other, by order, or else in the order of the document.
func (k *compiler) stepSpecs(s *StepPlan) {
	list := k.d.tree.Get("steps")
	order := make([]int, len(s.Steps))
	k.p.Sequential = true
	for i, st := range s.Steps {
		order[i] = i
		if len(st.Dependencies) > 0 {
			k.p.Sequential = false
		}
	}
	k.lateDependencies(s)
	slices.SortStableFunc(order, func(a, b int) int { return s.Steps[a].Order - s.Steps[b].Order })
	targets, before := ruleTargets(s), ""
	for _, i := range order {
		st := s.Steps[i]
		needs := st.Dependencies
		if k.p.Sequential && !targets[st.ID] {
			if before != "" {
				needs = []string{before}
			}
			before = st.ID
		}
		stepSpec(k, st, list.Items[i], needs, false)
	}
	for i, st := range s.Finally { // in a plan without dependencies, too, they start at once
		stepSpec(k, st, k.d.tree.Get("finally").Items[i], st.Dependencies, true)
	}
}

// stepSpec adds one step.
func stepSpec(k *compiler, st Step, t *source.Tree, needs []string, finally bool) {
	sp := spec{Node: Node{ID: st.ID, Needs: needs, Timeout: st.Timeout, OnError: st.OnError, OnReject: st.OnReject,
		ErrorRules: st.ErrorRules, OutputSchema: st.OutputSchema}, key: st.ID, tree: t, names: stepNames, skill: st.SkillID,
		task: st.Task, expected: st.ExpectedOutput, order: st.Order, step: true, finally: finally}
	k.stepAction(&sp, st)
	stepInput(&sp, st)
	if st.Retry != nil {
		sp.Retry = stepRetry(st.Retry)
	}
	k.stepCondition(&sp, st)
	if st.Undo != nil {
		stepUndo(k, &sp, *st.Undo)
	}
	k.specs = append(k.specs, sp)
}

// lateDependencies warns of steps that depend on a step with a higher order, because dependencies
// decide.
func (k *compiler) lateDependencies(s *StepPlan) {
	orders := map[string]int{}
	for _, st := range s.Steps {
		orders[st.ID] = st.Order
	}
	for i, st := range s.Steps {
		for _, d := range st.Dependencies {
			if before, ok := orders[d]; ok && d != st.ID && before > st.Order {
				k.r.Warn(k.d.tree.Get("steps").Items[i].Get("order"), st.ID, "step.order",
					message.New("give it a higher order than the steps that it depends on"),
					"step %s has order %d, but depends on %s, which has order %d; dependencies decide", jsonvalue.Quote(st.ID), st.Order,
					jsonvalue.Quote(d), before)
			}
		}
	}
}

// stepInput sets the input of a step: its params, or the task of an agent.
func stepInput(sp *spec, st Step) {
	if st.Params != nil {
		sp.Input = st.Params
	}
	if sp.Type != walk.TypeAgent && sp.Type != walk.TypeLLM || st.Task == "" {
		return
	}
	if len(st.Params) == 0 {
		sp.Input, sp.names = st.Task, taskNames
	} else {
		sp.Input = map[string]any{"task": st.Task, "params": st.Params}
	}
}

// stepCondition compiles the condition of a step. A step without dependencies has only success and
// always, because other conditions have no meaning.
func (k *compiler) stepCondition(sp *spec, st Step) {
	c := st.Condition
	if c == nil {
		return
	}
	switch walk.When(c.Type) {
	case walk.WhenSuccess, walk.WhenFailure, walk.WhenAlways:
	default:
		if c.Type != "custom" || c.Expr == "" {
			return // reported when it was read
		}
	}
	if len(sp.Needs) == 0 && (c.Type == string(walk.WhenSuccess) || c.Type == string(walk.WhenAlways)) {
		return
	}
	sp.When = c.Type
	if c.Type == "custom" {
		sp.When, sp.custom, sp.unknown = "", c.Expr, c.Unknown
	}
}

// stepAction resolves the action of a step: exactly one of skill, agent, and tool.
func (k *compiler) stepAction(sp *spec, st Step) {
	given := 0
	for _, s := range []string{st.SkillID, st.AgentID, st.Tool} {
		if s != "" {
			given++
		}
	}
	if sp.tree.Kind != source.Map {
		return // reported when it was read
	}
	if given != 1 && sp.tree.Get("use") == nil {
		count := map[int]message.Message{0: message.New("none"), 2: message.New("two"), 3: message.New("all three")}[given]
		k.r.Error(sp.tree, st.ID, "step.action", message.New("name exactly one of them"), "step %s has %s of skillId, agentId, and tool",
			jsonvalue.Quote(st.ID), count)
	}
	switch {
	case st.AgentID != "":
		sp.Type, sp.Agent = walk.TypeAgent, st.AgentID
	case st.Tool != "" && BuiltinType(st.Tool):
		sp.Type = st.Tool
	case st.Tool != "":
		sp.Type, sp.Tool = walk.TypeTool, st.Tool
	case st.SkillID != "":
		k.skill(sp, st.SkillID)
	}
}

// skill binds a step to the tool or agent that is configured for its skill, or to a tool of that
// name.
func (k *compiler) skill(sp *spec, id string) {
	sp.Type, sp.Tool = walk.TypeTool, id
	if k.c == nil {
		return
	}
	skill, ok := k.c.Skills[id]
	if !ok {
		if _, isTool := k.c.Tools[id]; !isTool {
			k.r.Error(
				sp.tree.Get("skillId"),
				sp.ID,
				"step.skill_unknown",
				k.r.Suggest(
					id,
					func() []string { return keys(k.c.Skills) },
					message.New("configure the skill"),
				),
				"unknown skill %s",
				jsonvalue.Quote(id),
			)
			sp.Type = ""
		}
		return
	}
	switch {
	case skill.Agent != "":
		if sp.OutputSchema == nil && skill.OutputSchema != nil {
			sp.OutputSchema, sp.gateSchema, sp.product = skill.OutputSchema, skill.Gate, skill.Product
		}
		sp.Type, sp.Tool, sp.Agent = walk.TypeAgent, "", skill.Agent
	case BuiltinType(skill.Tool):
		sp.Type, sp.Tool = skill.Tool, ""
	default:
		sp.Tool = skill.Tool
	}
}
