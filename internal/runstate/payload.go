package runstate

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// This file has one struct per kind of journal row: what its Decision holds. A reset
// row holds a walk.Reset, and a final result row a walk.Decision.

// Verbs of verb rows.
const (
	VerbPause       = "pause"
	VerbUnpause     = "unpause"
	VerbCancel      = "cancel"
	VerbLimits      = "limits"
	VerbRelease     = "release"
	VerbRetryNow    = "retry-now"
	VerbStartNow    = "start-now"
	VerbQuarantine  = "quarantine"
	VerbCrash       = "crash"          // found unfinished after a crash; Nodes were open
	VerbStop        = "stop"           // put down by a clean shutdown
	VerbPlans       = "plans"          // the versions that plan nodes are pinned to
	VerbMemory      = "memory"         // Output is the session's memory: ${memory} in the run and in every replay of it
	VerbOptions     = "resume-options" // follows a reset: which visits the resume is limited to
	VerbBudget      = "budget"         // a limit leaves no room for the next step or call
	VerbBudgetRetry = "budget-retry"   // the wait for budget ends without a higher limit
)

// VerbDecision is the Decision of a verb row: something happened to the run as a whole.
type VerbDecision struct {
	Verb    string            `json:"verb,omitempty"`
	Plans   map[string]string `json:"plans,omitempty"` // VerbPlans: hash by plan key
	Nodes   []StepRef         `json:"nodes,omitempty"` // VerbCrash
	Limits  *domain.Limits    `json:"limits,omitempty"`
	Options *ResumeOptions    `json:"options,omitempty"`
	Message string            `json:"message,omitempty"` // VerbBudget: the limit that is reached
	Text    string            `json:"text,omitempty"`    // VerbBudget: the message with its arguments, as it is stored
	Code    string            `json:"code,omitempty"`    // VerbBudget: what ends the wait, if not a higher limit
}

// JSON encodes the decision for its row.
func (d VerbDecision) JSON() domain.RawJSON { return MustJSON(d) }

// Actions of resolve rows.
const (
	ActionApproved  = "approved"
	ActionRejected  = "rejected"
	ActionExpired   = "expired"
	ActionAskedBack = "asked_back" // the person asks the agent something before answering
	ActionHappened  = "happened"
	ActionGiven     = "given" // a result that stands in for running the step
	ActionRetry     = "retry"
	ActionSkip      = "skip"
	ActionFail      = "fail"
	ActionLate      = "late"  // the result of an abandoned attempt; never used
	ActionChild     = "child" // a child run ended
)

// ResolveDecision is the Decision of a resolve row: something from outside ended a wait
// or a doubt.
type ResolveDecision struct {
	Action string `json:"action,omitempty"`
	Answer string `json:"answer,omitempty"` // id of the approval's answer
	Run    string `json:"run,omitempty"`    // ActionChild: the child run
}

// JSON encodes the decision for its row.
func (d ResolveDecision) JSON() domain.RawJSON { return MustJSON(d) }

// Kinds of approvals in wait rows; KindReplan is also the kind of the substep row that
// keeps the planner's answer.
const (
	KindApproval = "approval" // an approval step
	KindConsent  = "ask"      // the call of a tool
	KindReplan   = "replan"   // a new version of the plan
)

// WaitDecision is the Decision of a wait row that waits for an approval.
type WaitDecision struct {
	Kind   string        `json:"kind,omitempty"`
	Digest string        `json:"digest,omitempty"` // of what is approved
	Tool   string        `json:"tool,omitempty"`   // KindConsent
	Tail   *ReplanTarget `json:"tail,omitempty"`   // KindReplan
}

// JSON encodes the decision for its row.
func (d WaitDecision) JSON() domain.RawJSON { return MustJSON(d) }

// kindModel is the kind of a sub-step that calls a model.
const kindModel = "model"

// ToolKindPrefix begins the kind of a sub-step that calls a tool.
const ToolKindPrefix = "tool:"

// SubstepDecision is the Decision of a substep row, and of the intent row that
// announces one: what was called. Kind is "model", ToolKindPrefix and the tool's name,
// or another name that the handler chose.
type SubstepDecision struct {
	Kind   string `json:"kind,omitempty"`
	Digest string `json:"digest,omitempty"` // of the call's arguments
}

// JSON encodes the decision for its row.
func (d SubstepDecision) JSON() domain.RawJSON { return MustJSON(d) }

// StepRef names a step by its node's id, as rows do. Item is -1 without foreach.
type StepRef struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"`
}

// ResumeOptions are what a resume asked for besides continuing. Only, if set, is the one
// visit that runs. Timeout and Attempts, unless zero, replace those of the Reopened
// visits.
type ResumeOptions struct {
	Only     *StepRef      `json:"only,omitempty"`
	Reopened []StepRef     `json:"reopened,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// ReplanSubstep is the sub-step of the waiting visit that keeps the planner's answer,
// beyond those of any conversation.
const ReplanSubstep = 1 << 30

// PlannerAnswer is the Output of that sub-step's row: a new version of the plan.
type PlannerAnswer struct {
	Source string   `json:"source"`
	Reason string   `json:"reason,omitempty"`
	Unsafe []string `json:"unsafe,omitempty"`
}

// ReplanTarget is a stored version that a run is about to follow.
type ReplanTarget struct {
	Hash    string `json:"hash"`
	Version int    `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

// Replan is what the Decision of a replan row holds: from here the run follows
// another version, in which the kept rows stand as if they had always been of it.
type Replan struct {
	From    string `json:"from"`   // hash of the version before
	Before  int    `json:"before"` // its number
	Hash    string `json:"hash"`
	Version int    `json:"version"`
	Node    string `json:"node"` // the visit that failed
	Visit   int    `json:"visit"`
	// Dropped are other steps that had begun and that the new version does not continue.
	Dropped []string  `json:"dropped,omitempty"`
	Kept    []KeptRow `json:"kept"`
}

// KeptRow names a final row that the new version keeps, with what its plan
// decides there, unless it decides the same.
type KeptRow struct {
	Seq      int64          `json:"seq"`
	Decision domain.RawJSON `json:"decision,omitempty"`
}

// FirstVersion is the hash of the version that a journal begins with; "": that
// of the run.
func FirstVersion(journal []domain.Entry) string { return VersionAt(journal, 0, "") }

// VersionAt is the hash of the version that a run followed after a row; now is the
// one that it follows at the end of its journal.
func VersionAt(journal []domain.Entry, seq int64, now string) string {
	for i := range journal {
		if e := &journal[i]; e.Kind == domain.EntryReplan && e.Seq > seq {
			var r Replan
			if json.Unmarshal(e.Decision, &r) == nil {
				return r.From
			}
		}
	}
	return now
}

// SubstepKind is the kind that a sub-step's row records; "" if it cannot be read.
func SubstepKind(e *domain.Entry) string {
	var d SubstepDecision
	if json.Unmarshal(e.Decision, &d) != nil {
		return ""
	}
	return d.Kind
}

// openCall is the call that an intent row of a sub-step announces.
func openCall(e *domain.Entry) domain.OpenCall {
	return domain.OpenCall{Substep: e.Substep, Tool: strings.TrimPrefix(SubstepKind(e), ToolKindPrefix), Arguments: e.Input,
		Since: e.StartedAt, IdempotencyKey: e.IdempotencyKey}
}

// MustJSON encodes a value of a type that always marshals; it panics otherwise.
func MustJSON(v any) domain.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		panic("runstate: " + err.Error()) // types of this module, all of which marshal
	}
	return b
}
