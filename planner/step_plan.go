package planner

// StepPlan is a plan as planners write it: steps with dependencies ([001],
// [002]). It compiles to a [Program] whose nodes are activated by needs.
type StepPlan struct {
	ID          string
	Name        string
	Description string
	Steps       []Step
	// EstimatedDurationMs is the planner's estimate in milliseconds.
	EstimatedDurationMs int64
	// EstimatedCost is the planner's estimate in tokens (ruling 35).
	EstimatedCost float64
	Plan          PlanMetadata

	InputSchema any
	Defaults    Defaults
	Limits      Limits
	OnFailure   string
	Strict      bool

	anonymous string // as in Graph
}

// Step is one planned action. Exactly one of SkillID, AgentID and Tool is set.
type Step struct {
	ID             string
	Order          int
	SkillID        string
	AgentID        string
	Tool           string
	Task           string
	Params         map[string]any
	Dependencies   []string
	Condition      *StepCondition
	Retry          *StepRetry
	ExpectedOutput string
	Timeout        Duration
	OnError        string
}

// StepCondition decides whether a step runs once its dependencies settled.
type StepCondition struct {
	Type string // success (default), failure, always, custom
	Expr string // for custom: an expression
}

// StepRetry is the retry policy of [001]: attempt n waits
// BackoffMs[min(n, len)-1] milliseconds.
type StepRetry struct {
	MaxAttempts int
	BackoffMs   []int64
}

// MetadataPriority is the key of `metadata` under which a step plan says with which
// priority its runs start: low, medium or high. Anything else says nothing.
const MetadataPriority = "priority"

// RunPriority is the priority of runs that a word stands for: low is -10, high is
// 10, anything else 0.
func RunPriority(word string) int {
	switch word {
	case "low":
		return -10
	case "high":
		return 10
	}
	return 0
}

// PlanMetadata says who made a step plan and how sure they were.
type PlanMetadata struct {
	CreatedBy    string
	CreatedAt    string
	Confidence   float64
	Alternatives []any
	// Extra keeps every other key of `metadata` as written.
	Extra map[string]any
}
