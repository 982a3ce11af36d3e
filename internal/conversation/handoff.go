package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// HandoffTool is the name of the tool with which an agent hands off work to another.
const HandoffTool = "handoff"

// Codes of rejected handoffs, in the order of the checks.
const (
	CodeHandoffUnknown    = "handoff_unknown_target"
	CodeHandoffSelf       = "handoff_self"
	CodeHandoffSystem     = "handoff_system_target"
	CodeHandoffLoop       = "handoff_loop"
	CodeHandoffCapability = "handoff_missing_capability"
)

// Limits of repeated handoffs.
const (
	handoffWindow = 5 // number of recent handoffs that are checked
	handoffRepeat = 2 // maximum number of times that they reached one agent
)

// supervisorID is the agent that may hand off to system agents.
const supervisorID = "supervisor"

// handoffReasons are the valid reasons of a handoff.
var handoffReasons = []any{"plan_step", "capability_match", "user_request", "error_recovery", "clarification"}

// HandoffSpec returns the description of the tool for models.
var HandoffSpec = llm.ToolSpec{
	Name:        HandoffTool,
	Description: "Pass work on to another agent. With returnControl you get its answer and continue; without, its answer is the final one.",
	Effect:      walk.EffectIdempotent, // the other agent's calls have their own classes
	Schema: map[string]any{
		"type":                 "object",
		"required":             []any{"targetAgentId", "reason", "explanation"},
		"additionalProperties": false,
		"properties": map[string]any{
			"targetAgentId": map[string]any{"type": "string", "minLength": 1},
			"reason":        map[string]any{"type": "string", "enum": handoffReasons},
			"explanation":   map[string]any{"type": "string", "minLength": 1, "description": "What the other agent shall do, and why it."},
			"capability":    map[string]any{"type": "string", "description": "A capability that the other agent must have."},
			"payload":       map[string]any{"description": "Data for the other agent."},
			"returnControl": map[string]any{"type": "boolean"},
		},
	},
}

// Handoff is a request to hand off work.
type Handoff struct {
	Target, Reason, Explanation string
	// Capability, if set, is a capability that the target must have.
	Capability string
	Payload    any
	// ReturnControl returns the answer to the caller. Otherwise, it is the answer of the
	// conversation.
	ReturnControl bool
}

// ParseHandoff parses the arguments of the handoff tool.
func ParseHandoff(args any) (Handoff, error) {
	schema, err := jsonschema.Parse(HandoffSpec.Schema)
	if err != nil {
		return Handoff{}, fmt.Errorf("schema of %s: %w", HandoffTool, err)
	}
	if problems := schema.Validate(args); len(problems) > 0 {
		return Handoff{}, (&walk.Failure{
			Code:      walk.CodeInvalidInput,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("arguments of %s: %s", HandoffTool, problems[0])
	}
	m, _ := args.(map[string]any)
	text := func(key string) string { s, _ := m[key].(string); return s }
	back, _ := m["returnControl"].(bool)
	return Handoff{
		Target:        text("targetAgentId"),
		Reason:        text("reason"),
		Explanation:   text("explanation"),
		Capability:    text("capability"),
		Payload:       m["payload"],
		ReturnControl: back,
	}, nil
}

// Task returns the task for the other agent.
func (h Handoff) Task() string {
	if h.Payload == nil {
		return h.Explanation
	}
	return h.Explanation + "\n\nData: " + jsonvalue.Text(h.Payload)
}

// HandoffTarget contains the properties of an agent that the rules check.
type HandoffTarget struct {
	System       bool
	Capabilities []string
}

// Check rejects a handoff, in this order: to an agent that does not exist, to itself, to a system
// agent unless from the supervisor, to an agent that the last five handoffs reached twice, and to
// an agent without the requested capability. reached lists the targets of earlier handoffs, newest
// last. The error is a [*walk.Failure].
func (h Handoff) Check(from string, agents map[string]HandoffTarget, reached []string) error {
	target, known := agents[h.Target]
	recent := reached[max(0, len(reached)-handoffWindow):]
	times := 0
	for _, id := range recent {
		if id == h.Target {
			times++
		}
	}
	refuse := func(code, format string, args ...any) error {
		return (&walk.Failure{Code: code, Permanent: true, NoEffect: true}).WithMessage(format, args...)
	}
	switch {
	case !known:
		return refuse(CodeHandoffUnknown, "agent %q not found", h.Target)
	case h.Target == from:
		return refuse(CodeHandoffSelf, "agent %s cannot hand work to itself", from)
	case target.System && from != supervisorID:
		return refuse(CodeHandoffSystem, "%s is a system agent; only the supervisor can hand work to it", h.Target)
	case times >= handoffRepeat:
		return refuse(CodeHandoffLoop, "agent %s was reached %d times in the last %d handoffs", h.Target, times, len(recent))
	case h.Capability != "" && !slices.ContainsFunc(target.Capabilities, func(c string) bool { return strings.EqualFold(c, h.Capability) }):
		return refuse(CodeHandoffCapability, "agent %s does not have the capability %q", h.Target, h.Capability)
	}
	return nil
}
