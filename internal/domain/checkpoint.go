package domain

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Checkpoint is an atomic, durable step of a run: journal rows, changes of the run, and audit
// records. The store commits all of it or nothing.
type Checkpoint struct {
	Run string
	// Fence is the LastSeq of the run before this checkpoint. Entries continue from it. If the
	// stored run has another LastSeq, another writer was first, and the store rejects the
	// checkpoint with CodeConflict.
	Fence int64
	// Chain, if not nil, is the chain that the checkpoint belongs to.
	Chain   *Chain
	Entries []Entry
	// Patch changes the run. Nil changes only LastSeq.
	Patch *RunPatch
	Audit []AuditRecord
	// Receipts are the receipts of the operations that caused the checkpoint.
	Receipts []Receipt
	Handoffs []Handoff
	// Messages are messages between agents. A message whose ID is stored already is skipped.
	Messages []AgentMessage
	// Memory is the exchange that the run adds to the memory of its session, or nil.
	Memory *Memory
	// SkillRuns are measurements of completed skills.
	SkillRuns []SkillRun
	// Approvals opened or closed by this checkpoint.
	Approvals []Approval
	// Waits for signals that this checkpoint begins or ends. A signal that ends a wait is consumed with it.
	Waits []SignalWait
	// Charges end the reservations of model calls in budgets, and BudgetWait begins or ends the wait of the run for one.
	Charges    []BudgetCharge
	BudgetWait *BudgetWait
	// Uses are agents, tools, and providers that took part. A use that is stored already is
	// skipped.
	Uses []Use
}

// Use is an agent, a tool, or a provider that takes part in a run.
type Use struct{ Kind, Name string }

// Values of [Use.Kind].
const (
	UseAgent    = "agent"
	UseTool     = "tool"
	UseProvider = "provider"
)

// Chain connects checkpoints that were made without waiting for each other. Once the store has
// rejected one, it rejects all later ones of the chain, because they depend on it. Checkpoints
// outside a chain, and of other chains of the run, are checked only against their fence.
type Chain struct {
	broken atomic.Bool
}

// Break marks the chain as broken. The store calls it when it rejects a checkpoint.
func (c *Chain) Break() {
	if c != nil {
		c.broken.Store(true)
	}
}

// Broken reports whether a checkpoint of the chain was rejected.
func (c *Chain) Broken() bool { return c != nil && c.broken.Load() }

// RunPatch holds changes of a run. A field of pointer or slice type that is nil changes nothing.
type RunPatch struct {
	Status      RunStatus // empty means unchanged
	WaitReason  WaitReason
	Headline    *string
	Message     Message // Headline with its arguments kept apart
	Node        *string
	Output      RawJSON
	Error       *RunError
	ClearError  bool
	Hash        string // after a replan
	Version     int
	DueAt       *time.Time // zero means none
	AddUsage    Usage
	AddSteps    int64
	AddPath     string
	Path        *string // replaces Path
	Crashes     *int
	Paused      *bool
	Limits      *Limits
	AddLabels   map[string]string // replace labels with the same key
	StartedAt   *time.Time
	EndedAt     *time.Time // zero if the run was reopened
	RunningTime *time.Duration
	DeletedAt   *time.Time
	// Retrying is the number of attempts so far, if the run waits for a retry.
	Retrying int
	// Silent reports that a running run shows no activity, or shows activity again. Nil means
	// unchanged.
	Silent *bool
}

// Handoff is a handoff of work from one agent to another.
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
var ApprovalStatuses = []string{"pending", "approved", "rejected", "changes_requested", "expired", "cancelled"}

// Answer is an answer that an approval request accepts.
type Answer struct {
	ID    string     `json:"id"`
	Label string     `json:"label"`
	Kind  AnswerKind `json:"kind"`
}

// AnswerKind is the effect of an answer on the step.
type AnswerKind string

const (
	AnswerApprove AnswerKind = "approve" // the step completes
	AnswerReject  AnswerKind = "reject"  // the step fails, unless it has on_reject: continue
	AnswerChoice  AnswerKind = "choice"  // the step completes with this choice
	// AnswerRequestChanges sends the comment to the agent, which continues and may request approval
	// again. It is also the ID of that answer.
	AnswerRequestChanges AnswerKind = "request_changes"
)

// Rejects reports whether the answer rejects the request.
func (a Answer) Rejects() bool { return a.Kind == AnswerReject }

// Answers returns the answers that the request accepts: those that the plan declares, or else
// approve and reject.
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

// Offered returns the answers, and request_changes if an agent requested the approval.
func (a Approval) Offered() []Answer {
	list := a.Answers()
	if a.MayAsk {
		list = append(list, Answer{string(AnswerRequestChanges), "Request changes", AnswerRequestChanges})
	}
	return list
}

// AnswerOf returns the answer that a request selects: the one with its ID, or the first that
// approves or rejects. If there is none, the error has CodeInvalid and lists the valid answers.
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
		"the approval request has no answer %q",
		cmp.Or(r.Answer, string(kind)),
	).Suggest("answers: %s", strings.Join(ids, ", "))
}

// Approval is an approval request of a run.
type Approval struct {
	ID      string
	Run     string
	PlanKey string
	Node    string
	Visit   int
	Item    int
	Message string
	Form    RawJSON // JSON Schema of the requested values, or nil
	// Tool and Arguments are the call that needs approval. They are empty for an approval step.
	// Secrets in them are not resolved.
	Tool      string
	Arguments RawJSON
	// Digest binds the decision to the approved content.
	Digest    string
	Status    string // open, approved, rejected, changes_requested, expired, cancelled
	OnTimeout string // approve, reject, fail
	DueAt     time.Time
	CreatedAt time.Time
	StartedBy string // the person who started the run
	ApprovalDecision
	// Rev is the LastSeq of the run when the approval was opened.
	Rev int64
	// Agent is the agent that requests the approval. It is empty for an approval step. MayAsk
	// reports whether a person can request changes from the agent.
	Agent  string
	MayAsk bool
	// Label describes the risk, from the metadata of the step in the plan.
	Label string
	// Choices are the answers that the plan declares. A label may be empty. See [Approval.Answers].
	Choices []Answer
	// Assignee is the person who should decide. Empty means anyone with the permission.
	Assignee string
}

// ApprovalDecision records how an approval request was closed.
type ApprovalDecision struct {
	DecidedAt time.Time // zero while it is pending
	DecidedBy string
	Answer    string // ID of the chosen answer, or empty
	Comment   string
	// Text is Comment with its arguments kept apart, if kairosd closed the request.
	Text   Message
	Values RawJSON // values of the form
}
