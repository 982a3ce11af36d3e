package domain

import "time"

// PlanResult is the result of a run of a step plan, with the field names of the source
// specification.
type PlanResult struct {
	Plan PlanState `json:"plan"`
	// AggregatedResult is the combined answer of the steps.
	AggregatedResult string        `json:"aggregatedResult"`
	Handoffs         []PlanHandoff `json:"handoffs"`
	Success          bool          `json:"success"`
	Error            string        `json:"error,omitempty"`
}

// PlanState is a step plan with the status of its steps.
type PlanState struct {
	PlanID string          `json:"planId"` // of the stored plan
	Query  string          `json:"query"`
	Status string          `json:"status"` // executing, completed, failed, cancelled
	Steps  []PlanStepState `json:"steps"`
	// CurrentStepIndex is the index of the step that failed, is running, or is next. In a completed
	// plan, it is the last one.
	CurrentStepIndex int       `json:"currentStepIndex"`
	Summary          string    `json:"summary,omitempty"`
	FailureReason    string    `json:"failureReason,omitempty"` // "Step 2 failed: …"
	CreatedAt        time.Time `json:"createdAt"`
	UpdatedAt        time.Time `json:"updatedAt"`
	CompletedAt      time.Time `json:"completedAt,omitzero"`
}

// PlanStepState is a step and its result.
type PlanStepState struct {
	StepID         string    `json:"stepId"`
	StepIndex      int       `json:"stepIndex"`
	AgentID        string    `json:"agentId,omitempty"`
	Task           string    `json:"task"`
	ExpectedOutput string    `json:"expectedOutput,omitempty"`
	Status         string    `json:"status"` // pending, in_progress, completed, failed, skipped, cancelled
	Result         string    `json:"result,omitempty"`
	Error          string    `json:"error,omitempty"`
	StartedAt      time.Time `json:"startedAt,omitzero"`
	CompletedAt    time.Time `json:"completedAt,omitzero"`
	// TokenUsage is the model usage of the step.
	TokenUsage *TokenUsage `json:"tokenUsage,omitempty"`
}

// TokenUsage counts the tokens of a step.
type TokenUsage struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
}

// PlanHandoff is a change of the agent between two steps.
type PlanHandoff struct {
	HandoffID   string    `json:"handoffId"`
	FromAgentID string    `json:"fromAgentId"`
	ToAgentID   string    `json:"toAgentId"`
	Reason      string    `json:"reason"`
	Explanation string    `json:"explanation"`
	PlanStepID  string    `json:"planStepId"`
	Timestamp   time.Time `json:"timestamp,omitzero"`
}
