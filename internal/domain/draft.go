package domain

import "time"

// DraftState is where the making of a plan stands.
type DraftState string

const (
	// DraftPlanning: a planner is at it. A restart takes it up again.
	DraftPlanning DraftState = "planning"
	// DraftReady: there is a plan, and no decision was made.
	DraftReady DraftState = "ready"
	// DraftFailed: there is no plan; Error states why.
	DraftFailed DraftState = "failed"
	// DraftAccepted: its plan is in use.
	DraftAccepted DraftState = "accepted"
	// DraftDiscarded: no one wants it.
	DraftDiscarded DraftState = "discarded"
)

// DraftStates lists them all.
var DraftStates = []DraftState{DraftPlanning, DraftReady, DraftFailed, DraftAccepted, DraftDiscarded}

// DraftRequest asks for the draft of a plan.
type DraftRequest struct {
	// Query is the intent; Change is what should be different from the draft that
	// this one refines.
	Query  string `json:"query"`
	Change string `json:"change,omitempty"`
	// Agent answers directly, without a plan; empty: as the query needs.
	Agent string `json:"agent,omitempty"`
	// Provider is the one whose model plans; empty: rules or model, as configured.
	Provider string `json:"provider,omitempty"`
	// Examples of input are shown to a planning model.
	Examples string `json:"examples,omitempty"`
	// Fresh plans again where an equal request has a plan already.
	Fresh       bool        `json:"fresh,omitempty"`
	Constraints Constraints `json:"constraints,omitzero"`
	// Preferences fill parameters of skills, and every agent of the plan is given them.
	Preferences map[string]any `json:"preferences,omitempty"`
}

// Draft is the making of a plan of an intent, and what resulted. It is stored,
// and nothing of it runs before someone accepts it.
type Draft struct {
	ID string `json:"id"`
	DraftRequest
	Actor   string `json:"actor"`
	Role    Role   `json:"role"`
	Surface string `json:"surface"`
	// Parent is the draft that this one refines, or tries again; Revision counts
	// from 1.
	Parent   string      `json:"parent,omitempty"`
	Revision int         `json:"revision"`
	State    DraftState  `json:"status"`
	Progress []DraftNote `json:"progress"`
	// Begun counts the processes that began to make it.
	Begun int `json:"begun"`
	DraftOutcome
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"` // of planning
}

// DraftOutcome is what planning came to.
type DraftOutcome struct {
	Classification Classification `json:"classification,omitzero"`
	// Plan and Hash name the stored plan and its version. Direct is the agent that
	// answers without one; By is rules, model or direct.
	Plan   PlanRef `json:"plan,omitzero"`
	Hash   string  `json:"hash,omitempty"`
	Direct string  `json:"direct,omitempty"`
	By     string  `json:"by,omitempty"`
	// Model is the model that planned, as provider/model; empty: none did.
	Model string `json:"model,omitempty"`
	Found bool   `json:"found,omitempty"` // an equal request had been planned before
	// Proposed reports that the plan is in use in another version: this one takes its
	// place when it is accepted.
	Proposed bool   `json:"proposed,omitempty"`
	Reason   string `json:"reason,omitempty"` // why this plan, or this agent
	// Alternative was accepted in place of the proposed plan: cheaper or faster.
	Alternative string   `json:"alternative,omitempty"`
	Steps       []string `json:"steps,omitempty"`
	Unsafe      []string `json:"unsafe,omitempty"` // steps that cannot be repeated
	Usage       Usage    `json:"usage,omitzero"`
	// Error states why there is no plan.
	Error *DraftError `json:"error,omitempty"`
}

// DraftError is why there is no plan.
type DraftError struct {
	PlanError
	// Unplanned is an error that is not the planner's: of a provider, or of the
	// store.
	Unplanned bool `json:"unplanned,omitempty"`
}

// Failed is why there is no plan, as an error that people can act on; nil: there is
// one, or planning continues.
func (d Draft) Failed() error {
	if d.State != DraftFailed || d.Error == nil {
		return nil
	}
	e := d.Error.Refusal(CodeInvalid)
	if d.Error.Unplanned {
		switch code := Code(d.Error.Code); code {
		case CodeInvalid, CodeForbidden, CodeNotFound, CodeConflict, CodeTooLarge:
			e.Code = code
		default: // a provider, or the store: it may go well another time
			e.Code = CodeUnavailable
		}
	} else {
		e.Cause = &d.Error.PlanError
	}
	return e
}

// DraftAcceptance states which draft is accepted, and why.
type DraftAcceptance struct {
	// Alternative is the kind of an alternative that takes the place of the proposed
	// plan; empty: the proposed plan.
	Alternative string
	Reason      string
}

// DraftStart asks for a run of the plan of a draft.
type DraftStart struct {
	// Accept starts also a plan with steps that cannot be repeated, and takes one
	// into use that a planner made of a plan in use.
	Accept  bool
	Session string
	Reason  string
}

// DraftPhase is a part of planning.
type DraftPhase string

// The phases, in order; drafting and validating may come again.
const (
	PhaseUnderstanding DraftPhase = "understanding"
	PhaseChoosing      DraftPhase = "choosing"
	PhaseDrafting      DraftPhase = "drafting"
	PhaseValidating    DraftPhase = "validating"
	PhaseStoring       DraftPhase = "storing"
	// PhaseInterrupted: the process that planned ended, and another one continued.
	PhaseInterrupted DraftPhase = "interrupted"
)

// DraftNote is one entry of the progress log of planning.
type DraftNote struct {
	At    time.Time  `json:"createdAt"`
	Phase DraftPhase `json:"phase"`
	// Attempt counts answers of a model, from 1; 0: no model took part.
	Attempt int `json:"attempt,omitempty"`
	// Who does it: rules, or a model; Text names its current work.
	Who  string `json:"who,omitempty"`
	Text string `json:"text,omitempty"`
	// Problems are why there is another attempt.
	Problems []Message `json:"problems,omitempty"`
}

// Bounds of what is kept of a draft.
const (
	MaxDraftNotes = 100
	// MaxDraftBegun is how often a draft is picked up: one that ends the process
	// each time is not begun for ever.
	MaxDraftBegun = 3
)

// Open reports whether a decision is still needed.
func (s DraftState) Open() bool {
	return s == DraftPlanning || s == DraftReady || s == DraftFailed
}
