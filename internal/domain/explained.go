package domain

// Explained is what a planner can say of a plan that it made.
type Explained struct {
	// Reasons say why each step is there, by step id.
	Reasons map[string]StepReason
	// Assumed are values that no one asked for.
	Assumed []Assumption
	// Unmeasured steps are estimated by the configuration, not by what ran here.
	Unmeasured int
	// Dropped skills would accompany the plan, and its bounds leave no room for them.
	Dropped []string
	// Unusable skills are named by the request and cannot be used.
	Unusable []string
	// ModelAssumptions is what a model takes for granted, in its own words; Wanted are agents
	// that it named first and may not plan.
	ModelAssumptions, Wanted []string
}

// StepReason is why a step is in a plan: ReasonAsked names the words of the
// request, ReasonModel quotes the model, the others name a skill or a step.
type StepReason struct{ Kind, By string }

// The kinds of a StepReason.
const (
	ReasonAsked   = "asked"
	ReasonNeeded  = "needed"  // another step depends on it
	ReasonImplied = "implied" // another skill implies it
	ReasonGuards  = "guards"  // it checks what another skill makes
	ReasonComplex = "complex" // so complex a request deserves it
	ReasonModel   = "model"   // By quotes the planning model
	ReasonAsk     = "ask"     // a person answers before the step By
)

// Assumption is an argument that a skill's configuration gives.
type Assumption struct{ Step, Name, Value string }
