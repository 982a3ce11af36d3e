package domain

// Complexity is the complexity of a request.
type Complexity string

// Values of [Complexity].
const (
	Simple   Complexity = "simple"
	Moderate Complexity = "moderate"
	Complex  Complexity = "complex"
)

// Classification reports whether a request needs a plan, and which agents can handle it.
type Classification struct {
	Complexity       Complexity `json:"complexity"`
	RequiresPlanning bool       `json:"requiresPlanning"`
	SuggestedAgents  []string   `json:"suggestedAgents"`
	Reasoning        string     `json:"reasoning"`
}

// AskRequest is a request in plain language for a plan and a run of it.
type AskRequest struct {
	// Query is the request. The form `/agentId text` names an agent.
	Query string
	// Agent is the agent that answers directly, without a plan. If it is empty, the classification
	// decides.
	Agent string
	// PlanOnly stores the plan without starting a run.
	PlanOnly bool
	// Accept starts the run even if the plan has non-idempotent steps. Without it, a person must
	// accept such a plan first. If the actor is an author, it also makes a generated version of a
	// plan in use the current one.
	Accept  bool
	Session string
	// Fresh generates a new plan even if an equal request has one.
	Fresh bool
	// Provider is the provider whose model generates the plan. If it is empty, the configuration
	// decides between rules and model.
	Provider string
	// Change describes what should differ from an earlier plan with the steps Before. A planning
	// model also receives the Examples of input.
	Change, Examples string
	Before           []string
	// OnProgress, if not nil, receives the progress of planning until Ask returns.
	OnProgress func(DraftNote)
	// Constraints limit the plan, and set the limits and the priority of its runs. Preferences are
	// parameters of skills.
	Constraints Constraints
	Preferences map[string]any
	// Receipt, if not nil, is stored with the run.
	Receipt *Receipt
}

// PlannerAnswer is the result of an [AskRequest].
type PlannerAnswer struct {
	Classification Classification `json:"classification"`
	// Agent is the agent that answers directly. It is empty if there is a plan.
	Agent  string       `json:"agent,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Plan   *PlannerPlan `json:"plan"`
	// Model is the model that generated the plan, as provider/model. It is empty if no model was
	// used.
	Model string `json:"model,omitempty"`
	// Usage is the model usage of planning. It is also set if planning failed.
	Usage Usage `json:"usage,omitzero"`
	// NeedsAcceptance reports that no run was started because the plan has non-idempotent steps
	// that a person must accept first.
	NeedsAcceptance bool `json:"needsAcceptance,omitempty"`
	// Run is the ID of the started run, or empty.
	Run string `json:"run,omitempty"`
}

// PlannerPlan is the stored plan for a request.
type PlannerPlan struct {
	ID      string `json:"id"`
	Key     string `json:"key"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
	Name    string `json:"name"`
	By      string `json:"by"` // rules, model, person, or direct
	// Found reports that the plan of an earlier, equal request is used.
	Found bool `json:"found,omitempty"`
	// Proposed reports that another version of the plan is in use. This version becomes current
	// when a person accepts it.
	Proposed bool     `json:"proposed,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Steps    []string `json:"steps"`
	Unsafe   []string `json:"unsafe,omitempty"` // non-idempotent steps
	// Usage is the model usage of planning.
	Usage    Usage   `json:"usage,omitzero"`
	Document RawJSON `json:"document"`
}

// PlanError reports why a request could not be planned.
type PlanError struct {
	Code        string   `json:"code"`
	Message     string   `json:"message"`
	Recoverable bool     `json:"recoverable"`
	Suggestion  string   `json:"suggestion"`
	Violations  []string `json:"violations,omitempty"` // IDs of the violated rules
	// Answer is the last answer of the model that could not be used.
	Answer string `json:"answer,omitempty"`
	// Text and Advice are Message and Suggestion with their arguments kept apart.
	Text   Message `json:"-"`
	Advice Message `json:"-"`
}

// Localize returns the message of the error.
func (e *PlanError) Localize() Message {
	if e.Text.IsZero() {
		return Verbatim(e.Message)
	}
	return e.Text
}

// NewPlanError returns a [PlanError] that is not recoverable.
func NewPlanError(code string, text, advice Message) *PlanError {
	return &PlanError{Code: code, Message: text.String(), Suggestion: advice.String(), Text: text, Advice: advice}
}

// Refusal converts e to an [*Error] with a code.
func (e *PlanError) Refusal(code Code) *Error {
	return &Error{Code: code, Reason: e.Code, Message: e.Message, Suggestion: e.Suggestion, text: e.Text, advice: e.Advice}
}

func (e *PlanError) Error() string { return e.Message }
