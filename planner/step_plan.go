package planner

import "github.com/kairosd/kairosd/planner/walk"

// StepPlan is a plan of steps with dependencies, the form that planners generate. It compiles to a
// [walk.Program] whose nodes are activated by needs.
type StepPlan struct {
	ID          string
	Name        string
	Description string
	Steps       []Step
	// Finally are steps that run when all others have ended, whatever the outcome is.
	Finally []Step
	// EstimatedDurationMs is the planner's estimate in milliseconds.
	EstimatedDurationMs int64
	// EstimatedCost is the planner's estimate in tokens.
	EstimatedCost float64
	Plan          PlanMetadata

	InputSchema any
	Defaults    Defaults
	Limits      walk.Limits
	RunSettings
	OnFailure string
	Strict    *bool // see [Graph.Strict]
	// ContinueOnFailure makes on_error: continue the default of every step that is not an approval.
	ContinueOnFailure bool

	anonymous string // as in Graph
}

// Step is one planned action. Exactly one of SkillID, AgentID, and Tool is set.
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
	// OutputSchema is the JSON Schema of the step's output. Nil means the schema of its skill, if
	// it has one.
	OutputSchema any
	Timeout      walk.Duration
	OnError      string
	ErrorRules   []ErrorRule // see [Node.ErrorRules]
	OnReject     string      // of a step of type approval: see [Node.OnReject]
	// Undo is the call that undoes the step after it completed, or nil. It has only SkillID, AgentID,
	// Tool, Task, Params, Retry, and Timeout.
	Undo *Step
}

// StepCondition decides whether a step runs after its dependencies have settled.
type StepCondition struct {
	Type string // success (default), failure, always, custom
	Expr string // for custom: an expression
	// Unknown decides what a custom condition does if it reads a value that is missing or has
	// another type than the expression needs: UnknownFail (default) or UnknownSkip.
	Unknown string
}

// StepRetry is the retry policy of a step. Attempt n waits BackoffMs[min(n, len)-1] milliseconds.
type StepRetry struct {
	MaxAttempts int
	BackoffMs   []int64
}

// MetadataPriority is the key of `metadata` for the priority of the plan's runs: low, medium, high,
// or critical. Other values have no effect.
const MetadataPriority = "priority"

// MetadataPreferences is the key of `metadata` for the user's preferences about answers. It is an
// object whose members are passed to every agent of the plan.
const MetadataPreferences = "preferences"

// RunPriority returns the priority of runs for a word: -10 for low, 10 for high, 20 for critical,
// and 0 for medium and any other word.
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

// PlanMetadata records who made a step plan, and their confidence.
type PlanMetadata struct {
	CreatedBy    string
	CreatedAt    string
	Confidence   float64
	Alternatives []any
	// Extra keeps all other keys of `metadata` unchanged.
	Extra map[string]any
}
