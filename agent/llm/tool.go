package llm

import (
	"context"

	"github.com/kairosd/kairosd/planner/walk"
)

// Tool is a callable function that plans and agents use.
type Tool interface {
	Spec() ToolSpec
	// Call runs the tool. Its arguments match the schema and consist of nil, bool, string,
	// json.Number, []any, and map[string]any. The result is any value that encoding/json can
	// encode. If the error wraps a [*walk.Failure], that failure states whether a retry can help
	// and whether the call may have had its effect.
	Call(ctx context.Context, call ToolCall) (any, error)
}

// ToolSpec describes a tool to validation, models, and people.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments object.
	Schema map[string]any
	// Effect is the side-effect class of a call whose arguments are not known.
	Effect walk.Effect
	// EffectOf, if set, returns the side-effect class of a call with these arguments.
	EffectOf func(args any) walk.Effect
	// Private reports that calls which are not pure read private data of the server, such as its
	// files and databases.
	Private bool
	// HostOf, if set, returns the host that a call with these arguments uses, or "" if it is not
	// known. Each host then has its own circuit breaker. Without HostOf, the tool has one circuit
	// breaker.
	HostOf func(args any) string
}

// ToolCall is one call of a tool.
type ToolCall struct {
	// Args are arguments that match the schema, usually a map[string]any.
	Args any
	// IdempotencyKey is the same in all attempts of one iteration of a step and, in a foreach, of
	// one item.
	IdempotencyKey string
	// Log adds a line to the log of the attempt. It is never nil.
	Log func(level, message string)
	// Progress reports how much of the call is done. total is 0 if it is not known. Progress is
	// never nil.
	Progress func(done, total int64, message string)
}
