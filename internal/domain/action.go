package domain

import "time"

// Action is what an operator may do with a run.
type Action string

const (
	ActionResume   Action = "resume"
	ActionRerun    Action = "rerun"
	ActionFork     Action = "fork"
	ActionCancel   Action = "cancel"
	ActionPause    Action = "pause"
	ActionUnpause  Action = "unpause"
	ActionRetryNow Action = "retry-now"
	ActionRelease  Action = "release"
	// ActionStartNow lets a run that was to start at a later time start at once.
	ActionStartNow Action = "start-now"
	ActionDelete   Action = "delete"
	ActionLimits   Action = "limits"
	// ActionAcknowledge acknowledges a failed run, ActionLabel gives a run labels; the
	// store does both, not the engine.
	ActionAcknowledge Action = "acknowledge"
	ActionLabel       Action = "label"
)

// StartRequest asks for a new run.
type StartRequest struct {
	Plan        string // id or key
	Version     int    // 0: newest
	Hash        string // instead of Version
	Input       RawJSON
	Priority    int
	Labels      map[string]string
	Limits      Limits
	Key         string
	StartAt     time.Time
	Concurrency *Concurrency
	Session     string
	Origin      string
	// Dry leaves undone whatever might change something or ask a model.
	Dry bool
	// Offline is Dry, and leaves undone what reads from outside as well.
	Offline bool
	// Receipt, if not nil, is kept with the new run.
	Receipt *Receipt `json:"-"`
}

// ActionRequest asks for an act on a run. Which fields matter depends on the
// action; the others are refused with CodeInvalid when they are set.
type ActionRequest struct {
	Run    string
	Action Action
	Reason string
	// Rev, if not 0, is the run's LastSeq that the caller saw; CodeStale if
	// the run has moved on.
	Rev int64
	// Digest is the preview's; CodeStale if what would happen has changed.
	Digest string

	// Key, if not empty, is the idempotency key of the run that a rerun or a fork
	// starts: a repeat with the same key returns that run.
	Key string

	// Fork: At is the journal position to keep (0: keep nothing).
	At int64
	// Edits replace outputs of kept visits: "node" or "node#visit" → value.
	Edits map[string]RawJSON
	// Instead states of steps that a fork does not keep what stands in for running
	// them: "node", "node#visit" or "node#visit[item]" → its result. Nothing of them
	// is called. Of a node that runs once per item, a visit stands for all of its
	// items that are not named themselves.
	Instead map[string]Override
	// Only, "node" or "node#visit", makes a resume run that one failed step and
	// pause the run after it.
	Only string
	// Timeout and Attempts, if not 0, are what the steps that a resume opens again
	// get, this once.
	Timeout  time.Duration
	Attempts int
	// Input, if not nil, replaces the run's input (fork, rerun).
	Input RawJSON
	// Version to follow: 0 the same, -1 the newest (fork, rerun).
	Version int
	// Limits for ActionLimits: replaces non-zero fields.
	Limits Limits
	// Raise for ActionLimits: adds its non-zero fields to the limits that there are.
	Raise  Limits
	Labels map[string]string
	// Receipt, if not nil, is kept with what the action does.
	Receipt *Receipt `json:"-"`
}

// Override is a result that is given to a step instead of running it.
type Override struct {
	// Recorded takes the result that the forked run recorded, whatever Output is.
	Recorded bool `json:"recorded,omitempty"`
	// Output is the result otherwise; none is null.
	Output RawJSON `json:"output,omitempty"`
}

// Preview states what a verb would do, computed by the engine itself.
type Preview struct {
	Run    string `json:"run"`
	Action Action `json:"action"`
	// Allowed is false with Refusal set when the verb is not possible now.
	Allowed    bool    `json:"allowed"`
	Refusal    Message `json:"refusal,omitzero"`
	Suggestion Message `json:"suggestion,omitzero"`
	Rev        int64   `json:"rev"`
	// Digest names exactly this preview; acts may demand it.
	Digest string `json:"digest"`
	// Damage is what of the run's journal cannot be trusted; nil: it can.
	Damage *Damage `json:"damage,omitempty"`
	// At is the fork point; Points lists all that can be chosen.
	At     int64       `json:"seq,omitempty"`
	Points []ForkPoint `json:"points,omitempty"`

	Keep    []PreviewStep `json:"keep"`    // not repeated
	Again   []PreviewStep `json:"again"`   // ran before, run again
	New     []PreviewStep `json:"new"`     // never started, may run now
	InDoubt []PreviewStep `json:"inDoubt"` // must be resolved first
	Dropped []PreviewStep `json:"dropped"` // kept by nothing, with the reason
	// Later are the steps that wait until the run is continued, because the request
	// names only one; Given those that get a result without being run.
	Later []PreviewStep `json:"later,omitempty"`
	Given []PreviewStep `json:"given,omitempty"`
	// Repeats are the steps with side effects that the forked run completed and
	// the new one would do a second time.
	Repeats []PreviewRepeat `json:"repeats,omitempty"`
	// Decisions are predicted as far as they follow from what is known already.
	Decisions []PreviewDecision `json:"decisions,omitempty"`
	PreviewOptions
	// Effects are the steps of Again and New that touch other systems.
	Effects []PreviewStep `json:"effects"`

	// Expected is what it will probably take and cost; nil: there was no run. The digest
	// does not cover it.
	Expected *Expected `json:"expected,omitempty"`

	Hash    string `json:"hash"`    // version that will run
	Version int    `json:"version"` // its number
}

// PreviewOptions are the options of a resume.
type PreviewOptions struct {
	// Only is the one step that runs; empty: all.
	Only string `json:"only,omitempty"`
	// TimeoutMs and Attempts apply to the steps that run again; 0: those of the plan.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	Attempts  int   `json:"attempts,omitempty"`
}

// PreviewStep is one visit in a preview.
type PreviewStep struct {
	Node   string     `json:"node"`
	Visit  int        `json:"visit,omitempty"`
	Type   string     `json:"type"`
	Effect string     `json:"effect"`
	Status NodeStatus `json:"status,omitempty"` // what is recorded of it
	Items  []int      `json:"items,omitempty"`
	Reason Message    `json:"reason,omitzero"`
}

// ReasonReopened is the reason of a [PreviewStep] that a resume opens again
// because of itself, and not because of a step before it.
const ReasonReopened = "it failed or was cancelled"

// ReasonAskedAgain is the reason of an approval step that a resume opens again.
const ReasonAskedAgain = "a new request is opened; the old answer does not count"

// Reopened reports whether a resume opens the step again because of itself.
func (s PreviewStep) Reopened() bool {
	return s.Visit > 0 && (s.Reason.Text == ReasonReopened || s.Reason.Text == ReasonAskedAgain)
}

// Reasons of a [PreviewStep] that a cancel does not keep: it has not begun, it is at
// work, or it is at work and what it does cannot be taken back or repeated.
const (
	ReasonCancelled  = "cancelled with the run"
	ReasonAtWork     = "it is active and its context ends"
	ReasonUnsafeWork = "it is at work and may have its effect all the same; a resume first asks whether it had"
)

// PreviewRepeat is a step whose side effects would happen a second time.
type PreviewRepeat struct {
	Node   string `json:"node"`
	Visit  int    `json:"visit"`
	Type   string `json:"type"`
	Effect string `json:"effect"`
	// Given states what stands in for it: "recorded", "stub" or "": it runs, or not
	// all of its items have the same.
	Given string `json:"given,omitempty"`
	// Items are those of a step that runs once per item.
	Items []RepeatItem `json:"items,omitempty"`
	// Unrecorded reports that a step which runs once per item has a result as a whole
	// only, edited or of another version: no recorded ones can stand in for it.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// Doubtful reports that it may have been done, in whole or in part: what would tell
	// is damaged.
	Doubtful bool `json:"doubtful,omitempty"`
}

// RepeatItem is one item of a foreach whose side effects would happen again.
type RepeatItem struct {
	Item  int    `json:"item"`
	Given string `json:"given,omitempty"` // as in [PreviewRepeat]
}

// PreviewDecision is where the run would go at a node.
type PreviewDecision struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	To    string `json:"to,omitempty"`        // the node that it leads to
	Ended string `json:"endReason,omitempty"` // why it leads nowhere
	// Was is where it led in the run as recorded; empty if it never decided.
	Was       string `json:"was,omitempty"`
	Condition string `json:"condition,omitempty"` // of the edge
}

// ForkPoint is a checkpoint that a fork can start from.
type ForkPoint struct {
	Seq    int64  `json:"seq"`
	Node   string `json:"node,omitempty"`
	Visit  int    `json:"visit,omitempty"`
	Label  string `json:"label"` // "input", "after fetch"
	Closed bool   `json:"closed"`
}

// ResolveRequest settles an in-doubt attempt.
type ResolveRequest struct {
	Run     string  `json:"-"`
	Node    string  `json:"-"`
	Visit   int     `json:"visit"`
	Item    int     `json:"item"` // -1: none
	Attempt int     `json:"attempt"`
	Action  string  `json:"action"` // happened, retry, skip, fail
	Output  RawJSON `json:"output,omitempty"`
	Reason  string  `json:"reason"`
	Rev     int64   `json:"rev,omitempty"`
	// Receipt, if not nil, is kept with the resolution.
	Receipt *Receipt `json:"-"`
}

// DecideRequest answers an approval.
type DecideRequest struct {
	Approval string `json:"-"`
	// Answer is the id of one of the approval's answers. Empty: the first that approves,
	// if Approve is set, or the first that rejects.
	Answer  string  `json:"answer,omitempty"`
	Approve bool    `json:"approve"`
	Comment string  `json:"comment"`
	Values  RawJSON `json:"values,omitempty"`
	Digest  string  `json:"digest,omitempty"`
	// AskBack gives the comment to the agent that asks, instead of an answer: it
	// continues, and may ask again.
	AskBack bool `json:"askBack,omitempty"`
	// Receipt, if not nil, is kept with the answer.
	Receipt *Receipt `json:"-"`
}

// Prediction is what an answer to an approval leads to, as far as it is known.
type Prediction struct {
	Answer string        `json:"answer"` // the id of an answer, or ask_back
	Next   []PreviewStep `json:"next"`   // steps that become ready
	// Effects are the steps ahead that touch other systems.
	Effects []PreviewStep `json:"effects"`
	Ends    RunStatus     `json:"ends,omitempty"` // the run ends so
	Note    string        `json:"note,omitempty"`
}

// RunDetail is a run with everything that its page shows.
type RunDetail struct {
	Run     Run
	Waits   []Wait
	Journal []Entry
	// Damage reports that the journal cannot be trusted whole, and from where on; nil: it
	// can. Journal then ends before it.
	Damage *Damage
	// Plan is the result of a step plan's run; nil for a graph.
	Plan *PlanResult
}
