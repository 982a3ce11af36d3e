package domain

// Complexity of a query.
type Complexity string

// How much a query asks for.
const (
	Simple   Complexity = "simple"
	Moderate Complexity = "moderate"
	Complex  Complexity = "complex"
)

// Classification reports whether a query needs a plan and who may answer it (SPEC
// 7.1).
type Classification struct {
	Complexity       Complexity `json:"complexity"`
	RequiresPlanning bool       `json:"requiresPlanning"`
	SuggestedAgents  []string   `json:"suggestedAgents"`
	Reasoning        string     `json:"reasoning"`
}

// AskRequest is an intent that becomes a plan and a run.
type AskRequest struct {
	// Query is the request; `/agentId text` names the agent.
	Query string
	// Agent answers directly, without a plan; empty: as the query needs.
	Agent string
	// PlanOnly makes and stores the plan, and starts nothing.
	PlanOnly bool
	// Accept starts also a plan with steps that cannot be repeated, which
	// otherwise waits until a person has seen it. Of an author it also
	// takes a version into use that was made of a plan in use.
	Accept  bool
	Session string
	// Fresh plans again where an equal request has a plan already.
	Fresh bool
	// Provider is the one whose model plans; empty: rules or model, as configured.
	Provider string
	// Change is what should be different from an earlier plan, whose steps Before
	// are. Examples of input are shown to a planning model.
	Change, Examples string
	Before           []string
	// OnProgress receives the progress of planning, while Ask is active; nil: no one does.
	OnProgress func(DraftNote)
	// Constraints bound the plan, and become limits and priority of its runs.
	// Preferences fill parameters of skills.
	Constraints Constraints
	Preferences map[string]any
	// Receipt, if not nil, is stored with the run.
	Receipt *Receipt
}

// Asked is what became of an intent.
type Asked struct {
	Classification Classification `json:"classification"`
	// Agent answers directly; empty: the plan does.
	Agent  string     `json:"agent,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Plan   *AskedPlan `json:"plan"`
	// Model is the one that made the plan, as provider/model; empty: none.
	Model string `json:"model,omitempty"`
	// Usage is what that took, also where no plan resulted.
	Usage Usage `json:"usage,omitzero"`
	// NeedsAcceptance reports that nothing was started: the plan has steps that
	// cannot be repeated, and a person has to see it first.
	NeedsAcceptance bool `json:"needsAcceptance,omitempty"`
	// Run is the id of the run that was started; empty: none.
	Run string `json:"run,omitempty"`
}

// AskedPlan is the stored plan that answers an intent.
type AskedPlan struct {
	ID      string `json:"id"`
	Key     string `json:"key"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
	Name    string `json:"name"`
	By      string `json:"by"` // rules, model, person, or direct
	// Found reports that an equal request had been planned before.
	Found bool `json:"found,omitempty"`
	// Proposed reports that the plan is in use in another version: this one is not
	// current before a person accepts it.
	Proposed bool     `json:"proposed,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Steps    []string `json:"steps"`
	Unsafe   []string `json:"unsafe,omitempty"` // steps that cannot be repeated
	// Usage is what making the plan took of a model.
	Usage    Usage   `json:"usage,omitzero"`
	Document RawJSON `json:"document"`
}

// PlanError states why there is no plan for an intent, with the codes of [001].
type PlanError struct {
	Code        string   `json:"code"`
	Message     string   `json:"message"`
	Recoverable bool     `json:"recoverable"`
	Suggestion  string   `json:"suggestion"`
	Violations  []string `json:"violations,omitempty"` // rule ids
	// Answer is the last answer of a model that could not be used.
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

// NewPlanError makes a [PlanError] that is not recoverable.
func NewPlanError(code string, text, advice Message) *PlanError {
	return &PlanError{Code: code, Message: text.String(), Suggestion: advice.String(), Text: text, Advice: advice}
}

// Refusal is the error of a request that cannot be planned.
func (e *PlanError) Refusal(code Code) *Error {
	return &Error{Code: code, Reason: e.Code, Message: e.Message, Suggestion: e.Suggestion, text: e.Text, advice: e.Advice}
}

func (e *PlanError) Error() string { return e.Message }
