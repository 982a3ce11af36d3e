package llm

import (
	"context"

	"github.com/kairosd/kairosd/planner/walk"
)

// Tool is a callable function that plans and agents use.
type Tool interface {
	Spec() ToolSpec
	// Call runs the tool. Args have been validated against the schema and are
	// made of nil, bool, string, json.Number, []any and map[string]any. The
	// result is any value that JSON can hold. An error may be or wrap a
	// [*walk.Failure] to say whether retrying can help and whether anything
	// happened.
	Call(ctx context.Context, call ToolCall) (any, error)
}

// ToolSpec describes a tool to validators, models and people.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments object.
	Schema map[string]any
	// Effect is what a call may do when its arguments are not known.
	Effect walk.Effect
	// EffectOf, if set, gives the effect of a call with these arguments.
	EffectOf func(args any) walk.Effect
	// Private says that a call which is not pure reads what an installation keeps to
	// itself: its files, its databases.
	Private bool
	// HostOf, if set, names whom a call with these arguments goes to: one host that
	// fails again and again is then left alone for a while, and the others are not.
	// Empty: nobody can say. Without it the tool is left alone as a whole.
	HostOf func(args any) string
}

// ToolCall is one call of a tool.
type ToolCall struct {
	// Args is what the schema describes, usually a map[string]any.
	Args any
	// IdempotencyKey is the same in all attempts of one visit and item.
	IdempotencyKey string
	// Log adds a line to the attempt's log; never nil.
	Log func(level, message string)
	// Progress reports how far the call is; never nil.
	Progress func(done, total int64, message string)
}
