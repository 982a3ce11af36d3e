package domain

import "time"

// PlanResult is what a step plan's run has come to, in the words of [002].
type PlanResult struct {
	Plan PlanState `json:"plan"`
	// AggregatedResult is the answer that the steps add up to.
	AggregatedResult string        `json:"aggregatedResult"`
	Handoffs         []PlanHandoff `json:"handoffs"`
	Success          bool          `json:"success"`
	Error            string        `json:"error,omitempty"`
}

// PlanState is a step plan and where its steps stand.
type PlanState struct {
	PlanID string          `json:"planId"` // of the stored plan
	Query  string          `json:"query"`
	Status string          `json:"status"` // executing, completed, failed, cancelled
	Steps  []PlanStepState `json:"steps"`
	// CurrentStepIndex is the step that failed, or runs, or comes next; of a completed
	// plan the last one.
	CurrentStepIndex int       `json:"currentStepIndex"`
	Summary          string    `json:"summary,omitempty"`
	FailureReason    string    `json:"failureReason,omitempty"` // "Step 2 failed: …"
	CreatedAt        time.Time `json:"createdAt"`
	UpdatedAt        time.Time `json:"updatedAt"`
	CompletedAt      time.Time `json:"completedAt,omitzero"`
}

// PlanStepState is one step and what it has come to.
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
	// TokenUsage is what the models of the step used.
	TokenUsage *TokenUsage `json:"tokenUsage,omitempty"`
}

// TokenUsage counts the tokens of one step.
type TokenUsage struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
}

// PlanHandoff is a change of the agent from one step to the next.
type PlanHandoff struct {
	HandoffID   string    `json:"handoffId"`
	FromAgentID string    `json:"fromAgentId"`
	ToAgentID   string    `json:"toAgentId"`
	Reason      string    `json:"reason"`
	Explanation string    `json:"explanation"`
	PlanStepID  string    `json:"planStepId"`
	Timestamp   time.Time `json:"timestamp,omitzero"`
}
