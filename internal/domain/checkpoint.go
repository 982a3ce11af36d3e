package domain

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Checkpoint is one atomic, durable step of a run: journal rows, what becomes
// of the run, what the audit log records of it. All of it is stored, or none.
type Checkpoint struct {
	Run string
	// Fence is the run's LastSeq before this checkpoint; Entries continue from
	// there. If the stored run is elsewhere, a second writer was first, and the
	// checkpoint is rejected with CodeConflict.
	Fence int64
	// Chain, if any, is what the checkpoint is a link of.
	Chain   *Chain
	Entries []Entry
	// Patch changes the run; nil leaves all but LastSeq as it is.
	Patch *RunPatch
	Audit []AuditRecord
	// Receipts are of the operations whose effect the checkpoint is.
	Receipts []Receipt
	Handoffs []Handoff
	// Messages between agents; one whose ID is stored already is left as it is.
	Messages []AgentMessage
	// Remember is what the run's session keeps of it; nil: nothing.
	Remember *Memory
	// Measured are skills that were done.
	Measured []SkillRun
	// Approvals opened or closed by this checkpoint.
	Approvals []Approval
	// Uses are agents, tools and providers that took part; one that is known
	// already is left as it is.
	Uses []Use
}

// Use is something that takes part in a run.
type Use struct{ Kind, Name string }

// The kinds of a Use.
const (
	UseAgent    = "agent"
	UseTool     = "tool"
	UseProvider = "provider"
)

// Chain ties together checkpoints that were made one upon the other without
// waiting: once the store has refused one, it refuses every later one of the
// chain, for they build on what never happened. Checkpoints outside
// a chain, and those of other chains of the same run, are judged by their fence
// alone.
type Chain struct {
	broken atomic.Bool
}

// Break is called by the store when it refuses a link.
func (c *Chain) Break() {
	if c != nil {
		c.broken.Store(true)
	}
}

// Broken reports whether a link was refused.
func (c *Chain) Broken() bool { return c != nil && c.broken.Load() }

// RunPatch holds what changes on a run. Zero fields of pointer and slice type
// mean "unchanged".
type RunPatch struct {
	Status      RunStatus // empty: unchanged
	WaitReason  WaitReason
	Headline    *string
	Message     Message // Headline with its arguments kept apart
	Node        *string
	Output      RawJSON
	Error       *RunError
	ClearError  bool
	Hash        string // after a re-plan
	Version     int
	DueAt       *time.Time // zero time: none
	AddUsage    Usage
	AddSteps    int64
	AddPath     string
	Path        *string // replaces Path
	Crashes     *int
	Paused      *bool
	Limits      *Limits
	AddLabels   map[string]string // in place of those with the same key
	StartedAt   *time.Time
	EndedAt     *time.Time // zero time: open again
	RunningTime *time.Duration
	DeletedAt   *time.Time
	// Retrying, with the status waiting for a retry, is how many attempts were made
	// of what is tried again.
	Retrying int
	// Silent reports that a run that works gives no sign of life, or gives one again.
	Silent *bool
}

// Handoff is work passing from one agent to another.
type Handoff struct {
	ID      string    `json:"id"`
	Run     string    `json:"run"`
	Seq     int64     `json:"seq"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Node    string    `json:"node"`
	Reason  string    `json:"reason"` // plan_step, capability_match, user_request, error_recovery, clarification
	Context string    `json:"context"`
	At      time.Time `json:"createdAt"`
}

// ApprovalStatuses lists the statuses of approval requests.
var ApprovalStatuses = []string{"open", "approved", "rejected", "asked_back", "expired", "cancelled"}

// Answer is an answer that a request accepts.
type Answer struct {
	ID    string     `json:"id"`
	Label string     `json:"label"`
	Kind  AnswerKind `json:"kind"`
}

// AnswerKind is what an answer does to the step that asks.
type AnswerKind string

const (
	AnswerApprove AnswerKind = "approve" // the step completes
	AnswerReject  AnswerKind = "reject"  // the step fails, unless it continues after a rejection
	AnswerChoice  AnswerKind = "choice"  // the step completes with that choice
	// AnswerRequestChanges gives the comment to the agent, which continues and may request
	// approval again. Its id is the same.
	AnswerRequestChanges AnswerKind = "request_changes"
)

// Rejects reports whether the answer rejects the request.
func (a Answer) Rejects() bool { return a.Kind == AnswerReject }

// Answers are the answers that the request takes, called as the plan calls them: those
// that it declares, or else to approve and to reject.
func (a Approval) Answers() []Answer {
	list := slices.Clone(a.Choices)
	if len(list) == 0 {
		list = []Answer{{"approve", "", AnswerApprove}, {"reject", "", AnswerReject}}
	}
	for i := range list {
		if list[i].Label == "" {
			list[i].Label = map[string]string{"approve": "Approve", "reject": "Reject"}[list[i].ID]
		}
		list[i].Label = cmp.Or(list[i].Label, list[i].ID)
	}
	return list
}

// Offered are the answers, and request_changes where an agent requests the approval.
func (a Approval) Offered() []Answer {
	list := a.Answers()
	if a.MayAsk {
		list = append(list, Answer{string(AnswerRequestChanges), "Request changes", AnswerRequestChanges})
	}
	return list
}

// AnswerOf finds the answer that a request gives: the one with its id, or the first
// that approves or rejects. CodeInvalid names the answers that there are.
func (a Approval) AnswerOf(r DecideRequest) (Answer, error) {
	kind := AnswerReject
	if r.Approve {
		kind = AnswerApprove
	}
	var ids []string
	for _, x := range a.Answers() {
		if ids = append(ids, x.ID); x.ID == r.Answer || r.Answer == "" && x.Kind == kind {
			return x, nil
		}
	}
	return Answer{}, Errorf(
		CodeInvalid,
		"the approval does not take the answer %q",
		cmp.Or(r.Answer, string(kind)),
	).Suggest("answers: %s", strings.Join(ids, ", "))
}

// Approval is a question that a run puts to a person.
type Approval struct {
	ID      string
	Run     string
	PlanKey string
	Node    string
	Visit   int
	Item    int
	Message string
	Form    RawJSON // JSON Schema of the values asked for, or nil
	// Tool and Arguments are the call that needs an answer; empty for the question
	// of an approval node. Secrets in them are unresolved.
	Tool      string
	Arguments RawJSON
	// Digest binds the decision to exactly what is approved.
	Digest    string
	Status    string // open, approved, rejected, asked_back, expired, cancelled
	OnTimeout string // approve, reject, fail
	DueAt     time.Time
	CreatedAt time.Time
	StartedBy string // who started the run
	ApprovalDecision
	// Rev is the run's LastSeq when the approval was opened.
	Rev int64
	// Agent asks; empty: the plan does. MayAsk: a person can ask it first, and continues
	// with the answer.
	Agent  string
	MayAsk bool
	// Label states what is at stake, in the plan's words: the node's metadata risk.
	Label string
	// Choices are the answers as the plan declares them; see [Approval.Answers]. A label
	// may be empty.
	Choices []Answer
	// Assignee is who is to answer; empty: anyone permitted.
	Assignee string
}

// ApprovalDecision is how an approval request was closed.
type ApprovalDecision struct {
	DecidedAt time.Time // zero: it is open
	DecidedBy string
	Answer    string // id of the chosen answer; empty: none
	Comment   string
	// Text is Comment with its arguments kept apart, if the system closed the request.
	Text   Message
	Values RawJSON // of the form
}
