package planner

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Catalog lists what a server offers to plans. Validation against a nil catalog checks no name of a
// tool, agent, or plan, and accepts any node type.
type Catalog struct {
	// Tools holds each tool by its name.
	Tools map[string]ToolInfo
	// Agents holds the configured agents. DefaultAgent runs steps that name no agent.
	Agents       map[string]AgentInfo
	DefaultAgent string
	// Skills that steps may name by skillId.
	Skills map[string]SkillInfo
	// Types holds node types beyond the built-in ones and the tools' names.
	Types map[string]walk.Effect
	// Schedule checks the times of a plan's schedule. Nil accepts any.
	Schedule func(walk.Schedule) error
	// Plan returns what is known of a stored plan with a profile, by key or key@version. A plan without that
	// profile, and an empty one, mean the plan as written. Nil checks no plan.
	Plan func(name, profile string) (PlanInfo, bool)
	// UntrustedInput reports that the input of runs may be untrusted, because other systems send it.
	UntrustedInput bool
}

// Check reports entries that no plan could use: tools with the name of a node type, and skills
// without a tool or agent.
func (c *Catalog) Check() Problems {
	r := &reporter{}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if BuiltinType(name) {
			r.Error(nil, "", "tool.name_reserved", message.New("rename the tool"), "tool %s has the name of a step type",
				jsonvalue.Quote(name))
		}
		if schema := c.Tools[name].Schema; schema != nil {
			if _, err := jsonschema.Parse(schema); err != nil {
				r.Error(nil, "", "tool.schema_invalid", message.Message{}, "invalid JSON Schema of tool %s: %s", jsonvalue.Quote(name), err)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Skills)) {
		s := c.Skills[id]
		_, tool := c.Tools[s.Tool]
		_, agent := c.Agents[s.Agent]
		switch {
		case (s.Tool == "") == (s.Agent == ""):
			r.Error(nil, "", "skill.binding", message.New("set either tool or agent"), "skill %s requires exactly one of tool and agent",
				jsonvalue.Quote(id))
		case s.Tool != "" && !tool && !BuiltinType(s.Tool):
			r.Error(nil, "", "skill.tool_unknown",
				r.Suggest(s.Tool, func() []string { return keys(c.Tools) }, message.New("configure the tool")),
				"skill %s: unknown tool %s", jsonvalue.Quote(id), jsonvalue.Quote(s.Tool))
		case s.Agent != "" && !agent:
			r.Error(nil, "", "skill.agent_unknown",
				r.Suggest(s.Agent, func() []string { return keys(c.Agents) }, message.New("configure the agent")),
				"skill %s: unknown agent %s", jsonvalue.Quote(id), jsonvalue.Quote(s.Agent))
		}
	}
	return r.done()
}

// ToolInfo is what validation uses of a tool.
type ToolInfo struct {
	Effect walk.Effect
	// EffectOf, if set, returns the side-effect class of a call with these arguments.
	EffectOf func(args any) walk.Effect
	// Schema is the JSON Schema of the arguments, or nil.
	Schema any
	// Denied, if set, reports whether calls from the plan with this key are denied. Asks reports
	// whether each call needs an approval.
	Denied, Asks func(plan string) bool
	// Untrusted reports that the tool's output may contain untrusted input. Private reports that
	// calls which are not pure read private data of the server.
	Untrusted, Private bool
}

// PlanInfo is what validation uses of another plan.
type PlanInfo struct {
	Input any // the JSON Schema of its input, or nil
	// Program is the compiled plan. Nil means that its steps are not known.
	Program *walk.Program
}

// AgentInfo is what validation uses of an agent.
type AgentInfo struct {
	Effect walk.Effect
	System bool
	// Models are the models that a plan may set for the agent; nil means any.
	Models []string
	// Private reports that one of its tools is private. Changes reports that one of its tools may
	// change other systems without an approval.
	Private, Changes bool
}

// SkillInfo binds a skill to a tool or an agent.
type SkillInfo struct {
	Tool  string
	Agent string
	// OutputSchema is the JSON Schema of the skill's output; nil means any output. Gate reports
	// that a quality gate uses it, so that an output which does not match is kept.
	OutputSchema map[string]any
	Gate         bool
	// Product is the only member of OutputSchema, if that member is a text that the skill produces.
	Product string
}
