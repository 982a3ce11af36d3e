package kairos

import "time"

// PlanResult is what a step plan's run has come to, in the words of [002]
// (ruling 34).
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
	PlanID           string          `json:"planId"`
	Query            string          `json:"query"`
	Status           string          `json:"status"` // executing, completed, failed, cancelled
	Steps            []PlanStepState `json:"steps"`
	CurrentStepIndex int             `json:"currentStepIndex"`
	Summary          string          `json:"summary,omitempty"`
	FailureReason    string          `json:"failureReason,omitempty"`
	CreatedAt        time.Time       `json:"createdAt"`
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
