package runstate

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// This file defines the Decision of each kind of journal row. A reset row has a walk.Reset, and a
// final result row a walk.Decision.

// Actions of action rows.
const (
	RunActionPause       = "pause"
	RunActionUnpause     = "unpause"
	RunActionCancel      = "cancel"
	RunActionLimits      = "limits"
	RunActionRelease     = "release"
	RunActionRetryNow    = "retry-now"
	RunActionStartNow    = "start-now"
	RunActionQuarantine  = "quarantine"
	RunActionCrash       = "crash"          // the run was unfinished after a crash; Nodes were open
	RunActionStop        = "stop"           // a clean shutdown stopped the run
	RunActionPlans       = "plans"          // the versions of plan nodes
	RunActionMemory      = "memory"         // Output is the memory of the session: ${memory} in the run and in every replay
	RunActionOptions     = "resume-options" // follows a reset: the visits to which the resume is limited
	RunActionBudget      = "budget"         // a limit prevents the next step or call
	RunActionBudgetRetry = "budget-retry"   // the wait for budget ends without a higher limit of the run
	RunActionTimeout     = "timeout"        // the run has not ended within the timeout of its plan
)

// RunActionDecision is the Decision of an action row, which is about the whole run.
type RunActionDecision struct {
	Action  string            `json:"action,omitempty"`
	Plans   map[string]string `json:"plans,omitempty"` // RunActionPlans: hash by plan key
	Nodes   []StepRef         `json:"nodes,omitempty"` // RunActionCrash
	Limits  *domain.Limits    `json:"limits,omitempty"`
	Options *ResumeOptions    `json:"options,omitempty"`
	Message string            `json:"message,omitempty"` // RunActionBudget: the reached limit
	Text    string            `json:"text,omitempty"`    // RunActionBudget: Message with its arguments, encoded
	Code    string            `json:"code,omitempty"`    // RunActionBudget: the event that ends the wait, if not a higher limit
	Budget  *BudgetRef        `json:"budget,omitempty"`  // RunActionBudget: the shared budget without room
}

// BudgetRef is the shared budget that a run waits for, with the window that has no room, and the amount that the
// next call needs.
type BudgetRef struct {
	ID    string    `json:"id"`
	Key   string    `json:"key"`
	Start time.Time `json:"start"`
	Until time.Time `json:"until"`
	Least float64   `json:"least"`
}

// JSON encodes the decision for its row.
func (d RunActionDecision) JSON() domain.RawJSON { return MustJSON(d) }

// Actions of resolve rows.
const (
	ActionApproved         = "approved"
	ActionRejected         = "rejected"
	ActionExpired          = "expired"
	ActionChangesRequested = "changes_requested" // the person requested changes instead of deciding
	ActionHappened         = "happened"
	ActionGiven            = "given" // a result that a step gets instead of running
	ActionRetry            = "retry"
	ActionSkip             = "skip"
	ActionFail             = "fail"
	ActionLate             = "late"  // the result of an abandoned attempt; never used
	ActionChild            = "child" // a child run ended
)

// ResolveDecision is the Decision of a resolve row, which ends a wait or a doubt.
type ResolveDecision struct {
	Action string `json:"action,omitempty"`
	Answer string `json:"answer,omitempty"` // ID of the approval's answer
	Run    string `json:"run,omitempty"`    // ActionChild: the child run
}

// JSON encodes the decision for its row.
func (d ResolveDecision) JSON() domain.RawJSON { return MustJSON(d) }

// Kinds of approvals in wait rows. KindReplan is also the kind of the substep row with the
// planner's answer.
const (
	KindApproval = "approval" // an approval step
	KindConsent  = "ask"      // a tool call
	KindReplan   = "replan"   // a new version of the plan
)

// WaitDecision is the Decision of a wait row that waits for an approval.
type WaitDecision struct {
	Kind   string        `json:"kind,omitempty"`
	Digest string        `json:"digest,omitempty"` // of the approved content
	Tool   string        `json:"tool,omitempty"`   // KindConsent
	Tail   *ReplanTarget `json:"tail,omitempty"`   // KindReplan
}

// JSON encodes the decision for its row.
func (d WaitDecision) JSON() domain.RawJSON { return MustJSON(d) }

// kindModel is the kind of a sub-step that calls a model.
const kindModel = "model"

// ToolKindPrefix begins the kind of a sub-step that calls a tool.
const ToolKindPrefix = "tool:"

// SubstepDecision is the Decision of a substep row, and of the intent row that announces it. Kind
// is "model", ToolKindPrefix with the name of the tool, or another name that the handler chose.
type SubstepDecision struct {
	Kind   string `json:"kind,omitempty"`
	Digest string `json:"digest,omitempty"` // of the call's arguments
}

// JSON encodes the decision for its row.
func (d SubstepDecision) JSON() domain.RawJSON { return MustJSON(d) }

// StepRef identifies a step by the ID of its node. Item is -1 outside a foreach.
type StepRef struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"`
}

// ResumeOptions are the options of a resume. If Only is set, only that visit runs. Timeout and
// Attempts, unless zero, replace those of the Reopened visits.
type ResumeOptions struct {
	Only     *StepRef      `json:"only,omitempty"`
	Reopened []StepRef     `json:"reopened,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// ReplanSubstep is the number of the sub-step with the planner's answer. No conversation reaches
// it.
const ReplanSubstep = 1 << 30

// PlannerAnswer is the Output of that sub-step: a new version of the plan.
type PlannerAnswer struct {
	Source string   `json:"source"`
	Reason string   `json:"reason,omitempty"`
	Unsafe []string `json:"unsafe,omitempty"`
}

// ReplanTarget is a stored version that a run may follow.
type ReplanTarget struct {
	Hash    string `json:"hash"`
	Version int    `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

// Replan is the Decision of a replan row. From this row, the run follows another version. The kept
// rows count as rows of that version.
type Replan struct {
	From    string `json:"from"`   // hash of the previous version
	Before  int    `json:"before"` // number of the previous version
	Hash    string `json:"hash"`
	Version int    `json:"version"`
	Node    string `json:"node"` // the visit that failed
	Visit   int    `json:"visit"`
	// Dropped lists other steps that had begun and that the new version does not continue.
	Dropped []string  `json:"dropped,omitempty"`
	Kept    []KeptRow `json:"kept"`
}

// KeptRow identifies a final row that the new version keeps, with the decision of the new version
// if it differs.
type KeptRow struct {
	Seq      int64          `json:"seq"`
	Decision domain.RawJSON `json:"decision,omitempty"`
}

// FirstVersion returns the hash of the version at the beginning of a journal, or "" if it is that
// of the run.
func FirstVersion(journal []domain.Entry) string { return VersionAt(journal, 0, "") }

// VersionAt returns the hash of the version that a run followed after a row. now is the version at
// the end of the journal.
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

// SubstepKind returns the kind of a sub-step's row, or "" if it cannot be read.
func SubstepKind(e *domain.Entry) string {
	var d SubstepDecision
	if json.Unmarshal(e.Decision, &d) != nil {
		return ""
	}
	return d.Kind
}

// openCall returns the call that an intent row of a sub-step announces.
func openCall(e *domain.Entry) domain.OpenCall {
	return domain.OpenCall{Substep: e.Substep, Tool: strings.TrimPrefix(SubstepKind(e), ToolKindPrefix), Arguments: e.Input,
		Since: e.StartedAt, IdempotencyKey: e.IdempotencyKey}
}

// MustJSON encodes a value. It panics if the value cannot be encoded.
func MustJSON(v any) domain.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		panic("runstate: " + err.Error()) // only values of this module, which can always be encoded
	}
	return b
}
