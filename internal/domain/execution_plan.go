package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// ExecutionPlan is the answer to a planning request, with the words of [001], and
// where it is stored.
type ExecutionPlan struct {
	ID          string          `json:"id"` // the plan's own key
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description"`
	Steps       []ExecutionStep `json:"steps"`
	// Estimates in milliseconds and tokens; absent: it is unknown.
	EstimatedDuration int64             `json:"estimatedDuration,omitempty"`
	EstimatedCost     float64           `json:"estimatedCost,omitempty"`
	Metadata          ExecutionMetadata `json:"metadata"`
	// PlanID, Version and Hash name the draft that is stored; Found reports that it
	// was, before this request.
	PlanID  string `json:"planId,omitempty"`
	Version int    `json:"version,omitempty"`
	Hash    string `json:"hash,omitempty"`
	Found   bool   `json:"found,omitempty"`
	// Unsafe are the steps that cannot be repeated.
	Unsafe []string `json:"unsafe,omitempty"`
}

// ExecutionMetadata states who made a plan, and what else could take its place.
type ExecutionMetadata struct {
	CreatedBy    string          `json:"createdBy"`
	CreatedAt    string          `json:"createdAt,omitempty"`
	Confidence   float64         `json:"confidence,omitempty"` // absent: it is unknown
	Alternatives []ExecutionPlan `json:"alternatives,omitempty"`
	// Kind of an alternative: cheaper or faster.
	Kind string `json:"kind,omitempty"`
	// MeasuredSteps are estimated by medians of what was recorded here.
	MeasuredSteps int    `json:"measuredSteps,omitempty"`
	Priority      string `json:"priority,omitempty"`
	// Dropped names skills that would accompany the plan, and that its bounds leave no
	// room for.
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
	// Unknown states what the condition does where its expression has no value.
	Unknown string `json:"unknown,omitempty" enum:"fail,skip"`
}

// StepNames are what the steps do: the skill, or else the agent or the tool of each.
func (p ExecutionPlan) StepNames() []string {
	var out []string
	for _, st := range p.Steps {
		out = append(out, cmp.Or(st.SkillID, st.AgentID, st.Tool))
	}
	return out
}

// Execution is a stored step plan as the answer to a planning request.
func (p AskedPlan) Execution() (ExecutionPlan, error) {
	var out ExecutionPlan
	if err := json.Unmarshal(p.Document, &out); err != nil {
		return out, fmt.Errorf("plan %s: %w", p.Key, err)
	}
	out.PlanID, out.Version, out.Hash, out.Found, out.Unsafe = p.ID, p.Version, p.Hash, p.Found, p.Unsafe
	return out, nil
}
