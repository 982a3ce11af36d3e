package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// ExecutionPlan is the response to a planning request, with the field names of the source
// specification.
type ExecutionPlan struct {
	ID          string          `json:"id"` // key of the plan
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description"`
	Steps       []ExecutionStep `json:"steps"`
	// Estimates in milliseconds and tokens. They are absent if unknown.
	EstimatedDuration int64             `json:"estimatedDuration,omitempty"`
	EstimatedCost     float64           `json:"estimatedCost,omitempty"`
	Metadata          ExecutionMetadata `json:"metadata"`
	// PlanID, Version, and Hash identify the stored draft. Found reports that it was stored before
	// this request.
	PlanID  string `json:"planId,omitempty"`
	Version int    `json:"version,omitempty"`
	Hash    string `json:"hash,omitempty"`
	Found   bool   `json:"found,omitempty"`
	// Unsafe lists the non-idempotent steps.
	Unsafe []string `json:"unsafe,omitempty"`
}

// ExecutionMetadata describes the planner of a plan, and the alternatives.
type ExecutionMetadata struct {
	CreatedBy    string          `json:"createdBy"`
	CreatedAt    string          `json:"createdAt,omitempty"`
	Confidence   float64         `json:"confidence,omitempty"` // absent if unknown
	Alternatives []ExecutionPlan `json:"alternatives,omitempty"`
	// Kind is cheaper or faster.
	Kind string `json:"kind,omitempty"`
	// MeasuredSteps is the number of steps that are estimated by medians of recorded runs.
	MeasuredSteps int    `json:"measuredSteps,omitempty"`
	Priority      string `json:"priority,omitempty"`
	// Dropped names the skills that were left out because of the constraints.
	Dropped []string `json:"dropped,omitempty"`
}

// ExecutionStep is a step of an [ExecutionPlan].
type ExecutionStep struct {
	ID           string         `json:"id"`
	Order        int            `json:"order"`
	SkillID      string         `json:"skillId,omitempty"`
	AgentID      string         `json:"agentId,omitempty"`
	Tool         string         `json:"tool,omitempty"`
	Task         string         `json:"task,omitempty"`
	Params       map[string]any `json:"params,omitempty"`
	Dependencies []string       `json:"dependencies,omitempty"`
	Condition    *ExecutionWhen `json:"condition,omitempty"`
	OutputSchema map[string]any `json:"outputSchema,omitempty"`
	Retry        *struct {
		MaxAttempts int     `json:"maxAttempts"`
		BackoffMs   []int64 `json:"backoffMs,omitempty"`
	} `json:"retry,omitempty"`
	ExpectedOutput string `json:"expectedOutput,omitempty"`
}

// ExecutionWhen is the condition of a step.
type ExecutionWhen struct {
	Type string `json:"type" enum:"success,failure,always,custom"`
	Expr string `json:"expr,omitempty"`
	// Unknown is the behavior of a condition whose expression reads an unusable value.
	Unknown string `json:"unknown,omitempty" enum:"fail,skip"`
}

// StepNames returns the skill of each step, or else its agent or tool.
func (p ExecutionPlan) StepNames() []string {
	var out []string
	for _, st := range p.Steps {
		out = append(out, cmp.Or(st.SkillID, st.AgentID, st.Tool))
	}
	return out
}

// Execution converts a stored step plan to the response of a planning request.
func (p PlannerPlan) Execution() (ExecutionPlan, error) {
	var out ExecutionPlan
	if err := json.Unmarshal(p.Document, &out); err != nil {
		return out, fmt.Errorf("plan %s: %w", p.Key, err)
	}
	out.PlanID, out.Version, out.Hash, out.Found, out.Unsafe = p.ID, p.Version, p.Hash, p.Found, p.Unsafe
	return out, nil
}
