package planner

// Catalog is what an installation offers to plans. Validation against a nil
// catalog checks no tool, agent or plan name and accepts any node type.
type Catalog struct {
	// Tools holds each tool's effect as far as it is known without arguments.
	Tools map[string]ToolInfo
	// Agents holds configured agents.
	Agents map[string]AgentInfo
	// Skills that steps may name by skillId.
	Skills map[string]SkillInfo
	// Types holds node types beyond the built-in ones and the tools' names.
	Types map[string]Effect
}

// ToolInfo is what validation needs to know of a tool.
type ToolInfo struct {
	Effect Effect
	// EffectOf, if set, gives the effect of a call with these arguments.
	EffectOf func(args any) Effect
	// Schema is the JSON Schema of the arguments, or nil.
	Schema any
}

// AgentInfo is what validation needs to know of an agent.
type AgentInfo struct {
	Effect Effect
	System bool
}

// SkillInfo binds a skill to a tool or an agent.
type SkillInfo struct {
	Tool  string
	Agent string
}
