package planner

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Catalog is what an installation offers to plans. Validation against a nil
// catalog checks no tool, agent or plan name and accepts any node type.
type Catalog struct {
	// Tools holds each tool's effect as far as it is known without arguments.
	Tools map[string]ToolInfo
	// Agents holds configured agents; DefaultAgent acts where a node names none.
	Agents       map[string]AgentInfo
	DefaultAgent string
	// Skills that steps may name by skillId.
	Skills map[string]SkillInfo
	// Types holds node types beyond the built-in ones and the tools' names.
	Types map[string]walk.Effect
}

// Check reports what no plan could use: tools that take the name of a node type,
// and skills that are bound to nothing.
func (c *Catalog) Check() Problems {
	r := &reporter{}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if BuiltinType(name) {
			r.error(
				nil,
				"",
				"tool.name_reserved",
				message.New("rename the tool"),
				"tool %s has the name of a step type",
				jsonvalue.Quote(name),
			)
		}
		if schema := c.Tools[name].Schema; schema != nil {
			if _, err := ParseSchema(schema); err != nil {
				r.error(nil, "", "tool.schema_invalid", message.Message{}, "invalid JSON Schema of tool %s: %s", jsonvalue.Quote(name), err)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Skills)) {
		s := c.Skills[id]
		_, tool := c.Tools[s.Tool]
		_, agent := c.Agents[s.Agent]
		switch {
		case (s.Tool == "") == (s.Agent == ""):
			r.error(
				nil,
				"",
				"skill.binding",
				message.New("give it a tool or an agent"),
				"skill %s needs exactly one of tool and agent",
				jsonvalue.Quote(id),
			)
		case s.Tool != "" && !tool && !BuiltinType(s.Tool):
			r.error(
				nil,
				"",
				"skill.tool_unknown",
				r.suggest(s.Tool, func() []string { return keys(c.Tools) }, message.New("configure the tool")),
				"skill %s: unknown tool %s",
				jsonvalue.Quote(id),
				jsonvalue.Quote(s.Tool),
			)
		case s.Agent != "" && !agent:
			r.error(
				nil,
				"",
				"skill.agent_unknown",
				r.suggest(s.Agent, func() []string { return keys(c.Agents) }, message.New("configure the agent")),
				"skill %s: unknown agent %s",
				jsonvalue.Quote(id),
				jsonvalue.Quote(s.Agent),
			)
		}
	}
	return r.done()
}

// ToolInfo is what validation needs to know of a tool.
type ToolInfo struct {
	Effect walk.Effect
	// EffectOf, if set, gives the effect of a call with these arguments.
	EffectOf func(args any) walk.Effect
	// Schema is the JSON Schema of the arguments, or nil.
	Schema any
	// Denied, if set, says that calls from the plan with this key are refused, Asks
	// that a person is asked before each.
	Denied, Asks func(plan string) bool
	// Untrusted says that what it gives may be what strangers wrote; Private that it
	// reads what an installation keeps to itself, unless a call is pure.
	Untrusted, Private bool
}

// AgentInfo is what validation needs to know of an agent.
type AgentInfo struct {
	Effect walk.Effect
	System bool
	// Models are the models that a plan may name for it; nil: any.
	Models []string
	// Private says that a tool of it is; Changes that a tool of it may change
	// something outside without a person being asked.
	Private, Changes bool
}

// SkillInfo binds a skill to a tool or an agent.
type SkillInfo struct {
	Tool  string
	Agent string
	// OutputSchema is the JSON Schema of what the skill gives; nil: anything. Gate says
	// that it is what a gate needs, and that another answer stands all the same.
	OutputSchema map[string]any
	Gate         bool
	// Product is the only member of OutputSchema, if that is a text which the skill
	// produces.
	Product string
}
