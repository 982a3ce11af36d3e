package domain

// PlanExplanation is the planner's explanation of a plan.
type PlanExplanation struct {
	// Reasons holds the reason for each step, by step ID.
	Reasons map[string]StepReason
	// Assumed holds arguments that are not part of the request.
	Assumed []Assumption
	// Unmeasured is the number of steps that are estimated by the configuration instead of recorded
	// runs.
	Unmeasured int
	// Dropped names the skills that were left out because of the constraints.
	Dropped []string
	// Unusable names skills that the request mentions and that cannot be used.
	Unusable []string
	// ModelAssumptions are the assumptions of a model in its own words. Wanted are agents that the
	// model named although it may not use them.
	ModelAssumptions, Wanted []string
}

// StepReason is the reason for a step. By contains the words of the request for ReasonAsked, and a
// quote of the model for ReasonModel. Otherwise, it is a skill or a step.
type StepReason struct{ Kind, By string }

// Values of [StepReason.Kind].
const (
	ReasonAsked   = "asked"
	ReasonNeeded  = "needed"  // another step depends on it
	ReasonImplied = "implied" // another skill implies it
	ReasonGuards  = "guards"  // it checks the result of another skill
	ReasonComplex = "complex" // the request is complex
	ReasonModel   = "model"   // By quotes the planning model
	ReasonAsk     = "ask"     // a person approves before the step By
)

// Assumption is an argument from the configuration of a skill.
type Assumption struct{ Step, Name, Value string }
