package runstate

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// KindApproval marks the row of a wait for an approval step.
const KindApproval = "approval"

const (
	VerbBudget      = "budget"
	VerbBudgetRetry = "budget-retry"
)

const KindConsent = "ask"

// ActionAskedBack is the answer of a person who asks the agent something first.
const ActionAskedBack = "asked_back"

// Answers in resolve rows.
const (
	ActionHappened = "happened"
	ActionGiven    = "given" // a result that stands in for running it
	ActionRetry    = "retry"
	ActionSkip     = "skip"
	ActionFail     = "fail"
	ActionLate     = "late"
	ActionChild    = "child"
	actionDue      = "due"
)

// Payload is what the Decision of a resolve, verb or substep row holds.
type Payload struct {
	Action  string            `json:"action,omitempty"`
	Answer  string            `json:"answer,omitempty"` // the id of an approval's answer
	Verb    string            `json:"verb,omitempty"`
	Plans   map[string]string `json:"plans,omitempty"`
	Nodes   []StepRef         `json:"nodes,omitempty"`
	Limits  *domain.Limits    `json:"limits,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Digest  string            `json:"digest,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	Run     string            `json:"run,omitempty"`
	Tail    *ReplanTarget     `json:"tail,omitempty"`
	Options *ResumeOptions    `json:"options,omitempty"`
	Message string            `json:"message,omitempty"`
	Code    string            `json:"code,omitempty"`
}

// StepRef names work that was open at an unclean death.
type StepRef struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"`
}

func (p Payload) JSON() domain.RawJSON {
	b, err := json.Marshal(p)
	if err != nil {
		panic("engine: payload: " + err.Error())
	}
	return b
}

const KindReplan = "replan"

// ReplanSubstep is the sub-step of the waiting visit that keeps the planner's answer,
// beyond those of any conversation.
const ReplanSubstep = 1 << 30

// PlannerAnswer is that answer.
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
// another version, in which these rows stand as if they had always been of it
// (rulings 9 and 12).
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

// VerbOptions is the verb row of a resume's options.
const VerbOptions = "resume-options"

// ResumeOptions are those of a resume, as its row keeps them.
type ResumeOptions struct {
	Only     *StepRef      `json:"only,omitempty"`
	Reopened []StepRef     `json:"reopened,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// VerbMemory is the row of what a run's session had said before it began: what
// ${memory} is in the run, and in every replay of it (SPEC 4.4).
const VerbMemory = "memory"

// kindModel is the kind of a sub-step that calls a model.
const kindModel = "model"

// SubstepKind is what a sub-step's row records: a model call, a tool call, a handoff.
func SubstepKind(e *domain.Entry) string {
	var p Payload
	if json.Unmarshal(e.Decision, &p) != nil {
		return ""
	}
	return p.Kind
}

// openCall is the call that an intent row of a sub-step announces.
func openCall(e *domain.Entry) domain.OpenCall {
	return domain.OpenCall{Substep: e.Substep, Tool: strings.TrimPrefix(SubstepKind(e), ToolKindPrefix), Arguments: e.Input, Since: e.StartedAt, IdempotencyKey: e.IdempotencyKey}
}

// ToolKindPrefix begins the kind of a sub-step that calls a tool.
const ToolKindPrefix = "tool:"
