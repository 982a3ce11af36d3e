package domain

import "time"

// Action is an action of an operator on a run.
type Action string

const (
	ActionResume Action = "resume"
	ActionRerun  Action = "rerun"
	ActionFork   Action = "fork"
	// ActionUndo starts a run that undoes the completed steps of a run, newest first.
	ActionUndo     Action = "undo"
	ActionCancel   Action = "cancel"
	ActionPause    Action = "pause"
	ActionUnpause  Action = "unpause"
	ActionRetryNow Action = "retry-now"
	ActionRelease  Action = "release"
	// ActionStartNow starts a run at once that was scheduled for later.
	ActionStartNow Action = "start-now"
	ActionDelete   Action = "delete"
	ActionLimits   Action = "limits"
	// ActionAcknowledge acknowledges a failed run, and ActionLabel adds labels. The store carries
	// out both, without the engine.
	ActionAcknowledge Action = "acknowledge"
	ActionLabel       Action = "label"
	// ActionBackfill runs past slots of a schedule.
	ActionBackfill Action = "backfill"
	// ActionReplay repeats deliveries to a hook.
	ActionReplay Action = "replay"
)

// StartRequest is a request to start a run.
type StartRequest struct {
	Plan        string // ID or key
	Version     int    // 0 means the newest
	Hash        string // instead of Version
	Profile     string // a profile that the version declares; empty means none
	Input       RawJSON
	Priority    int
	Labels      map[string]string
	Limits      Limits
	Key         string
	StartAt     time.Time
	Concurrency *Concurrency
	Session     string
	Origin      string
	// Slot and Claim are the slot that a schedule starts the run for.
	Slot  RunSlot
	Claim *SlotClaim `json:"-"`
	// Delivery is the delivery to a hook that starts the run.
	Delivery *HookDelivery `json:"-"`
	// Dry skips every step that might have a side effect or call a model.
	Dry bool
	// Offline implies Dry, and also skips steps that read from other systems.
	Offline bool
	// Receipt, if not nil, is stored with the new run.
	Receipt *Receipt `json:"-"`
}

// ActionRequest is a request for an action on a run. The action decides which fields apply. Setting
// any other field is an error with CodeInvalid.
type ActionRequest struct {
	Run    string
	Action Action
	Reason string
	// Rev, if not 0, is the LastSeq of the run that the caller saw. If it differs, the error has
	// CodeStale.
	Rev int64
	// Digest, if not empty, is the digest of a preview. If the preview has changed, the error has
	// CodeStale.
	Digest string

	// Key, if not empty, is the idempotency key of the run that a rerun or a fork starts. A
	// repeated request with the same key returns that run.
	Key string

	// At is the journal position up to which a fork keeps the run. 0 keeps nothing.
	At int64
	// Edits replace the outputs of kept visits, by "node" or "node#visit".
	Edits map[string]RawJSON
	// Instead holds results for steps that a fork does not keep, by "node", "node#visit", or
	// "node#visit[item]". These steps do not run. For a foreach step, an entry for a visit applies
	// to all items without an entry of their own.
	Instead map[string]Override
	// Skip holds the steps that an undo leaves as they are, by "node", "node#visit", or
	// "node#visit[item]".
	Skip []string
	// Only, "node" or "node#visit", limits a resume to one failed step. The run pauses after it.
	Only string
	// Timeout and Attempts, if not 0, apply once to the steps that a resume reopens.
	Timeout  time.Duration
	Attempts int
	// Input, if not nil, replaces the input of the run in a fork or rerun.
	Input RawJSON
	// Version is the version that a fork or rerun follows. 0 means the same version, and -1 the
	// newest.
	Version int
	// Profile, if not nil, is the profile of the new run of a rerun or a fork. Nil keeps that of the run.
	Profile *string
	// Limits replaces the limits whose fields are not zero, for ActionLimits.
	Limits Limits
	// Raise adds its fields to the current limits, for ActionLimits.
	Raise  Limits
	Labels map[string]string
	// Receipt, if not nil, is stored with the result of the action.
	Receipt *Receipt `json:"-"`
}

// Override is a result that a step gets instead of running.
type Override struct {
	// Recorded uses the result that the forked run recorded, and ignores Output.
	Recorded bool `json:"recorded,omitempty"`
	// Output is the result if Recorded is false. Nil means null.
	Output RawJSON `json:"output,omitempty"`
}

// Preview shows what an action would do. The engine computes it with the same code that carries out
// the action.
type Preview struct {
	Run    string `json:"run"`
	Action Action `json:"action"`
	// Allowed is false if the action is not possible now. Refusal then gives the reason.
	Allowed    bool    `json:"allowed"`
	Refusal    Message `json:"refusal,omitzero"`
	Suggestion Message `json:"suggestion,omitzero"`
	Rev        int64   `json:"rev"`
	// Digest identifies the preview. A request for the action may require it.
	Digest string `json:"digest"`
	// Damage describes the damaged part of the run's journal. Nil means that there is none.
	Damage *Damage `json:"damage,omitempty"`
	// At is the fork point. Points lists all fork points.
	At     int64       `json:"seq,omitempty"`
	Points []ForkPoint `json:"points,omitempty"`

	Keep    []PreviewStep `json:"keep"`    // their results are kept
	Again   []PreviewStep `json:"again"`   // they ran before and run again
	New     []PreviewStep `json:"new"`     // they have not started and may run now
	InDoubt []PreviewStep `json:"inDoubt"` // they must be resolved first
	Dropped []PreviewStep `json:"dropped"` // their results are discarded; each has a reason
	// Later holds the steps that wait until the run is continued, because the request is limited to
	// one step. Given holds the steps that get a result without running.
	Later []PreviewStep `json:"later,omitempty"`
	Given []PreviewStep `json:"given,omitempty"`
	// Repeats holds the steps with side effects that the forked run completed and the new run would
	// repeat.
	Repeats []PreviewRepeat `json:"repeats,omitempty"`
	// Decisions holds the predicted decisions, as far as they follow from known values.
	Decisions []PreviewDecision `json:"decisions,omitempty"`
	PreviewOptions
	// Undo holds the calls of an undo, in the order in which they run.
	Undo []PreviewUndo `json:"undo,omitempty"`
	// Effects holds the steps of Again and New that touch other systems.
	Effects []PreviewStep `json:"effects"`

	// Expected is the estimated time and cost, or nil if there are no previous runs. The digest
	// does not cover it.
	Expected *Expected `json:"expected,omitempty"`

	PreviewTarget
}

// PreviewTarget is what the run of a preview follows.
type PreviewTarget struct {
	Hash    string `json:"hash"`              // hash of the version that will run
	Version int    `json:"version"`           // its number
	Profile string `json:"profile,omitempty"` // profile of the new run, if it has one
}

// PreviewOptions are the options of a resume.
type PreviewOptions struct {
	// Only is the only step that runs. Empty means all.
	Only string `json:"only,omitempty"`
	// TimeoutMs and Attempts apply to the steps that run again. 0 means the values of the plan.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	Attempts  int   `json:"attempts,omitempty"`
}

// PreviewStep is one visit in a preview.
type PreviewStep struct {
	Node   string     `json:"node"`
	Visit  int        `json:"visit,omitempty"`
	Type   string     `json:"type"`
	Effect string     `json:"effect"`
	Status NodeStatus `json:"status,omitempty"` // the recorded status
	Items  []int      `json:"items,omitempty"`
	Reason Message    `json:"reason,omitzero"`
}

// ReasonReopened is the reason of a [PreviewStep] that a resume reopens because that step itself
// failed or was cancelled.
const ReasonReopened = "it failed or was cancelled"

// ReasonAskedAgain is the reason of an approval step that a resume reopens.
const ReasonAskedAgain = "a new request is opened; the earlier answer is not used"

// Reopened reports whether a resume reopens the step because the step itself failed or was
// cancelled.
func (s PreviewStep) Reopened() bool {
	return s.Visit > 0 && (s.Reason.Text == ReasonReopened || s.Reason.Text == ReasonAskedAgain)
}

// Reasons of a [PreviewStep] that a cancel ends: it has not begun, it is running, or it is running
// and its effect cannot be undone or repeated.
const (
	ReasonCancelled     = "cancelled with the run"
	ReasonRunning       = "it is active and is stopped"
	ReasonRunningUnsafe = "it is active and may still have its effect; a resume then requires you to state the outcome"
)

// PreviewRepeat is a step whose side effects would be repeated.
type PreviewRepeat struct {
	Node   string `json:"node"`
	Visit  int    `json:"visit"`
	Type   string `json:"type"`
	Effect string `json:"effect"`
	// Given is "recorded" or "stub" if the step gets such a result instead of running. It is empty
	// if the step runs, or if its items differ.
	Given string `json:"given,omitempty"`
	// Items holds the items of a foreach step.
	Items []RepeatItem `json:"items,omitempty"`
	// Unrecorded is set for a foreach step that has only a result as a whole, because the result
	// was edited or belongs to another version. Its items then have no recorded results.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// Doubtful is set if the step may have run in whole or in part, but the record of it is
	// damaged.
	Doubtful bool `json:"doubtful,omitempty"`
}

// RepeatItem is an item of a foreach whose side effects would be repeated.
type RepeatItem struct {
	Item  int    `json:"item"`
	Given string `json:"given,omitempty"` // as in [PreviewRepeat]
}

// PreviewDecision is the predicted decision of a node.
type PreviewDecision struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	To    string `json:"to,omitempty"`        // the next node
	Ended string `json:"endReason,omitempty"` // the reason why there is no next node
	// Was is the recorded next node. It is empty if the node never decided.
	Was       string `json:"was,omitempty"`
	Condition string `json:"condition,omitempty"` // of the edge
}

// RequestedAction is an action on a run that an MCP client asks a person to confirm.
type RequestedAction struct {
	Run    string    `json:"run"`
	Plan   string    `json:"plan"`
	Action Action    `json:"action"`
	Digest string    `json:"digest"`
	Seq    int64     `json:"seq,omitempty"`
	By     string    `json:"by"` // the principal that asks
	At     time.Time `json:"createdAt"`
	// Again, New, and Effects count steps of the preview: those that run again, new ones, and side effects.
	Again   int `json:"again"`
	New     int `json:"new"`
	Effects int `json:"effects"`
}

// ForkPoint is a checkpoint that a fork can start from.
type ForkPoint struct {
	Seq    int64  `json:"seq"`
	Node   string `json:"node,omitempty"`
	Visit  int    `json:"visit,omitempty"`
	Label  string `json:"label"` // "input", "after fetch"
	Closed bool   `json:"closed"`
}

// ResolveRequest is a request to resolve an attempt in doubt.
type ResolveRequest struct {
	Run     string  `json:"-"`
	Node    string  `json:"-"`
	Visit   int     `json:"visit"`
	Item    int     `json:"item"` // -1 outside a foreach
	Attempt int     `json:"attempt"`
	Action  string  `json:"action"` // happened, retry, skip, fail
	Output  RawJSON `json:"output,omitempty"`
	Reason  string  `json:"reason"`
	Rev     int64   `json:"rev,omitempty"`
	// Receipt, if not nil, is stored with the resolution.
	Receipt *Receipt `json:"-"`
}

// DecideRequest is a decision on an approval request.
type DecideRequest struct {
	Approval string `json:"-"`
	// Answer is the ID of one of the answers of the approval. If it is empty, the first answer that
	// approves is used if Approve is set, else the first that rejects.
	Answer  string  `json:"answer,omitempty"`
	Approve bool    `json:"approve"`
	Comment string  `json:"comment"`
	Values  RawJSON `json:"values,omitempty"`
	Digest  string  `json:"digest,omitempty"`
	// RequestChanges sends the comment to the agent that requested the approval, without a decision. The
	// agent continues and may request approval again.
	RequestChanges bool `json:"requestChanges,omitempty"`
	// Receipt, if not nil, is stored with the decision.
	Receipt *Receipt `json:"-"`
}

// Prediction is the predicted result of an answer to an approval request.
type Prediction struct {
	Answer string        `json:"answer"` // the ID of an answer, or request_changes
	Next   []PreviewStep `json:"next"`   // steps that become ready
	// Effects holds the remaining steps that touch other systems.
	Effects []PreviewStep `json:"effects"`
	Ends    RunStatus     `json:"ends,omitempty"` // the status with which the run ends
	Note    string        `json:"note,omitempty"`
}

// RunDetail is a run with everything that its page shows.
type RunDetail struct {
	Run   Run
	Waits []Wait
	// BlockedBy are the active runs that a queued run waits for because they have its concurrency key.
	BlockedBy []string
	// WorkerWaits are the waits of the run and of its steps for workers of Temporal.
	WorkerWaits []WorkerWait
	Journal     []Entry
	// Damage describes the damaged part of the journal, which Journal does not contain. Nil means
	// that there is none.
	Damage *Damage
	// Plan is the result of a step plan. It is nil for a graph.
	Plan *PlanResult
	// Undos are the runs that undo steps of the run, oldest first.
	Undos []UndoRun
}
