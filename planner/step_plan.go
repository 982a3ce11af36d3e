package planner

import "github.com/kairosd/kairosd/planner/walk"

// StepPlan is a plan as planners write it: steps with dependencies ([001],
// [002]). It compiles to a [walk.Program] whose nodes are activated by needs.
type StepPlan struct {
	ID          string
	Name        string
	Description string
	Steps       []Step
	// EstimatedDurationMs is the planner's estimate in milliseconds.
	EstimatedDurationMs int64
	// EstimatedCost is the planner's estimate in tokens.
	EstimatedCost float64
	Plan          PlanMetadata

	InputSchema any
	Defaults    Defaults
	Limits      walk.Limits
	OnFailure   string
	Strict      bool
	// ContinueOnFailure makes on_error: continue the default of every step that is no
	// approval.
	ContinueOnFailure bool

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
	// OutputSchema is the JSON Schema of the step's output; nil: that of its skill, if
	// it has one.
	OutputSchema any
	Timeout      walk.Duration
	OnError      string
	OnReject     string // of a step that asks a person: see [Node.OnReject]
}

// StepCondition decides whether a step runs once its dependencies settled.
type StepCondition struct {
	Type string // success (default), failure, always, custom
	Expr string // for custom: an expression
	// Unknown says what a custom condition does that reads a value which is missing, or
	// of another type than the expression needs: UnknownFail (default) or UnknownSkip.
	Unknown string
}

// StepRetry is the retry policy of [001]: attempt n waits
// BackoffMs[min(n, len)-1] milliseconds.
type StepRetry struct {
	MaxAttempts int
	BackoffMs   []int64
}

// MetadataPriority is the key of `metadata` under which a step plan says with which
// priority its runs start: low, medium, high or critical. Anything else says nothing.
const MetadataPriority = "priority"

// MetadataPreferences is the key of `metadata` under which a step plan keeps how the
// user likes the answer: an object whose members every agent of the plan is given.
const MetadataPreferences = "preferences"

// RunPriority is the priority of runs that a word stands for: low is -10, high is
// 10, critical is 20, medium and anything else is 0.
func RunPriority(word string) int {
	switch word {
	case "low":
		return -10
	case "high":
		return 10
	case "critical":
		return 20
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
