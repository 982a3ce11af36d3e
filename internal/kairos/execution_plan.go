package kairos

import (
	"encoding/json"
	"fmt"
)

// ExecutionPlan is the answer to a planning request, with the words of [001], and
// where it is stored.
type ExecutionPlan struct {
	ID                string          `json:"id"` // the plan's own key
	Name              string          `json:"name,omitempty"`
	Description       string          `json:"description"`
	Steps             []ExecutionStep `json:"steps"`
	EstimatedDuration int64           `json:"estimatedDuration"` // milliseconds
	EstimatedCost     float64         `json:"estimatedCost"`     // tokens
	Metadata          struct {
		CreatedBy    string            `json:"createdBy"`
		CreatedAt    string            `json:"createdAt"`
		Confidence   float64           `json:"confidence"`
		Alternatives []PlanAlternative `json:"alternatives,omitempty"`
		// MeasuredSteps are estimated by medians of what was recorded here.
		MeasuredSteps int    `json:"measuredSteps,omitempty"`
		Priority      string `json:"priority,omitempty"`
	} `json:"metadata"`
	// PlanID, Version and Hash name the draft that is stored; Found says that it
	// was, before this request.
	PlanID  string `json:"planId"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
	Found   bool   `json:"found,omitempty"`
	// Unsafe are the steps that cannot be repeated.
	Unsafe []string `json:"unsafe,omitempty"`
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
}

// PlanAlternative is another plan for the same request, as far as it differs.
type PlanAlternative struct {
	Kind                string   `json:"kind" enum:"cheaper,faster"`
	Skills              []string `json:"skills"`
	EstimatedCost       float64  `json:"estimatedCost"`
	EstimatedDurationMs int64    `json:"estimatedDurationMs"`
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
