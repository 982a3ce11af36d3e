package planschema

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// undo describes the call that undoes a step of a graph.
func (b builder) undo() object {
	out := closed("The call that undoes a step. References see the values when the step completed, and last is its output.", object{
		"type":     b.types(),
		"input":    anything("The input: any value with references. Default: the output of the step."),
		"tool":     b.tool(),
		"agent":    b.agent(),
		"plan":     text("The plan to run: KEY or KEY@VERSION."),
		"timeout":  duration("The maximum duration of one attempt."),
		"retry":    ref("The attempts of the call.", "retry"),
		"effect":   choice("The side-effect class, if stricter than that of the type.", "pure", "read", "idempotent", "unsafe"),
		"metadata": scalars("Texts.", object{"permission": text("Whether a tool may be called: allow, ask, or deny.")}),
	})
	required := func(key string) any { return object{"required": []string{key}} }
	out["anyOf"] = []any{required("type"), required("tool"), required("agent"), required("plan")}
	out["allOf"] = append([]any{given("type", walk.TypeApproval,
		object{"properties": object{"input": or("The question.", object{"$ref": "#/definitions/approval"})}})},
		b.arguments("input", "tool", "type")...)
	return out
}

// stepUndo describes the call that undoes a step of a step plan.
func (b builder) stepUndo() object {
	var skills []string
	if b.catalog != nil {
		skills = slices.Collect(maps.Keys(b.catalog.Skills))
	}
	out := closed("The call that undoes a step. References see the values when the step completed, and last is its output.", object{
		"skillId": b.names("The skill that the call uses.", skills),
		"agentId": b.agent(),
		"tool":    b.tool(),
		"task":    text("The task of the agent."),
		"params":  object{"description": "The arguments.", "type": "object"},
		"timeout": duration("The maximum duration of one attempt."),
		"retry":   ref("The attempts of the call.", "stepRetry"),
	})
	if arguments := b.arguments("params", "tool"); len(arguments) > 0 {
		out["allOf"] = arguments
	}
	return out
}
