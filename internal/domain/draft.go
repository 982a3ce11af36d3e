package domain

import "time"

// DraftState is the status of a draft.
type DraftState string

const (
	// DraftPlanning means that the planner is working. A restart continues the work.
	DraftPlanning DraftState = "planning"
	// DraftReady means that the plan is ready for a decision.
	DraftReady DraftState = "ready"
	// DraftFailed means that planning failed. Error gives the reason.
	DraftFailed DraftState = "failed"
	// DraftAccepted means that the plan is in use.
	DraftAccepted DraftState = "accepted"
	// DraftDiscarded means that a person discarded the draft.
	DraftDiscarded DraftState = "discarded"
)

// DraftStates lists all states.
var DraftStates = []DraftState{DraftPlanning, DraftReady, DraftFailed, DraftAccepted, DraftDiscarded}

// DraftRequest is a request to draft a plan.
type DraftRequest struct {
	// Query is the request in plain language. Change describes what should differ from the draft
	// that this one refines.
	Query  string `json:"query"`
	Change string `json:"change,omitempty"`
	// Agent is the agent that answers directly, without a plan. If it is empty, the classification
	// decides.
	Agent string `json:"agent,omitempty"`
	// Provider is the provider whose model generates the plan. If it is empty, the configuration
	// decides between rules and model.
	Provider string `json:"provider,omitempty"`
	// Examples of input for a planning model.
	Examples string `json:"examples,omitempty"`
	// Fresh generates a new plan even if an equal request has one.
	Fresh       bool        `json:"fresh,omitempty"`
	Constraints Constraints `json:"constraints,omitzero"`
	// Preferences are parameters of skills. Every agent of the plan receives them.
	Preferences map[string]any `json:"preferences,omitempty"`
}

// Draft is a generated plan that a person must accept before it can run.
type Draft struct {
	ID string `json:"id"`
	DraftRequest
	Actor  string `json:"actor"`
	Role   Role   `json:"role"`
	Source string `json:"source"`
	// Parent is the draft that this one refines or repeats. Revision starts at 1.
	Parent   string      `json:"parent,omitempty"`
	Revision int         `json:"revision"`
	State    DraftState  `json:"status"`
	Progress []DraftNote `json:"progress"`
	// Begun is the number of processes that started planning.
	Begun int `json:"begun"`
	DraftOutcome
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"` // of planning
}

// DraftOutcome is the result of planning.
type DraftOutcome struct {
	Classification Classification `json:"classification,omitzero"`
	// Plan and Hash identify the stored plan and its version. Direct is the agent that answers
	// without a plan. By is rules, model, or direct.
	Plan   PlanRef `json:"plan,omitzero"`
	Hash   string  `json:"hash,omitempty"`
	Direct string  `json:"direct,omitempty"`
	By     string  `json:"by,omitempty"`
	// Model is the model that generated the plan, as provider/model, or empty.
	Model string `json:"model,omitempty"`
	Found bool   `json:"found,omitempty"` // the plan of an earlier, equal request is used
	// Proposed reports that another version of the plan is in use. This version becomes current
	// when a person accepts it.
	Proposed bool   `json:"proposed,omitempty"`
	Reason   string `json:"reason,omitempty"` // the reason for this plan or agent
	// Alternative is the kind of the accepted alternative, cheaper or faster. It is empty if the
	// proposed plan was accepted.
	Alternative string   `json:"alternative,omitempty"`
	Steps       []string `json:"steps,omitempty"`
	Unsafe      []string `json:"unsafe,omitempty"` // non-idempotent steps
	Usage       Usage    `json:"usage,omitzero"`
	// Error is the reason why planning failed.
	Error *DraftError `json:"error,omitempty"`
}

// DraftError is the reason why planning failed.
type DraftError struct {
	PlanError
	// Unplanned marks an error of a provider or of the store, not of the planner.
	Unplanned bool `json:"unplanned,omitempty"`
}

// Failed returns the reason why planning failed as an error for people. It returns nil if it has
// not failed.
func (d Draft) Failed() error {
	if d.State != DraftFailed || d.Error == nil {
		return nil
	}
	e := d.Error.Refusal(CodeInvalid)
	if d.Error.Unplanned {
		switch code := Code(d.Error.Code); code {
		case CodeInvalid, CodeForbidden, CodeNotFound, CodeConflict, CodeTooLarge:
			e.Code = code
		default: // an error of a provider or the store may be temporary
			e.Code = CodeUnavailable
		}
	} else {
		e.Cause = &d.Error.PlanError
	}
	return e
}

// DraftAcceptance is a request to accept a draft.
type DraftAcceptance struct {
	// Alternative is the kind of an alternative to accept. Empty means the proposed plan.
	Alternative string
	Reason      string
}

// DraftStart is a request to run the plan of a draft.
type DraftStart struct {
	// Accept starts the run even if the plan has non-idempotent steps, and makes a generated
	// version of a plan in use the current one.
	Accept  bool
	Session string
	Reason  string
}

// DraftPhase is a phase of planning.
type DraftPhase string

// The phases in order. Drafting and validating may repeat.
const (
	PhaseUnderstanding DraftPhase = "understanding"
	PhaseChoosing      DraftPhase = "choosing"
	PhaseDrafting      DraftPhase = "drafting"
	PhaseValidating    DraftPhase = "validating"
	PhaseStoring       DraftPhase = "storing"
	// PhaseInterrupted means that the planning process ended and another one continued.
	PhaseInterrupted DraftPhase = "interrupted"
)

// DraftPhases lists all phases.
var DraftPhases = []DraftPhase{PhaseUnderstanding, PhaseChoosing, PhaseDrafting, PhaseValidating, PhaseStoring, PhaseInterrupted}

// DraftNote is an entry of the progress log of planning.
type DraftNote struct {
	At    time.Time  `json:"createdAt"`
	Phase DraftPhase `json:"phase"`
	// Attempt is the number of the model's answer, starting at 1. 0 means that no model is
	// involved.
	Attempt int `json:"attempt,omitempty"`
	// Who is rules or the name of a model. Text describes the current work.
	Who  string `json:"by,omitempty"`
	Text string `json:"text,omitempty"`
	// Problems are the reasons for another attempt.
	Problems []Message `json:"problems,omitempty"`
}

// Limits of a stored draft.
const (
	MaxDraftNotes = 100
	// MaxDraftBegun is the number of processes that may start planning a draft, because a draft
	// could crash each of them.
	MaxDraftBegun = 3
)

// Open reports whether a decision is pending.
func (s DraftState) Open() bool {
	return s == DraftPlanning || s == DraftReady || s == DraftFailed
}
