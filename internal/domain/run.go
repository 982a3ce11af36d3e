package domain

import (
	"strings"
	"time"
)

// Run is one execution of a plan version with an input.
type Run struct {
	ID      string
	PlanID  string
	PlanKey string
	// Version and Hash identify the version that the run follows. A replan changes it. Profile stays.
	Version int
	ProgramRef

	Status     RunStatus
	WaitReason WaitReason // set if Status is RunWaiting
	// Headline is the status message in one line, such as the failed node and its error, the
	// running node, or the pending approval.
	Headline string
	// StatusMessage is Headline with its arguments kept apart.
	StatusMessage Message
	// Node is the node that Headline mentions.
	Node string

	Input  RawJSON
	Output RawJSON
	// Damaged holds the damaged parts of the row, which are left out. Lists do not read the input
	// and the output, and do not check them.
	Damaged []DamagedPart
	Error   *RunError
	// Fingerprint is the fingerprint of the error message. It is empty unless the run failed.
	Fingerprint string
	// Attention reports that the run needs a person's attention and was not acknowledged.
	Attention bool

	// Related runs.
	Parent *ParentRef // set if this is a child run
	Lineage

	Actor    string // the person or token that started it
	Origin   string // "api", "cli", "ui", "mcp", "schedule", "child", "rerun", "fork", "undo", "ask", "dry", "block"
	Session  string
	Priority int // higher runs first; default 0
	Labels   map[string]string
	Limits   Limits
	// Key is the idempotency key of POST /runs. There is one run per key.
	Key         string
	Concurrency *Concurrency
	StartAt     time.Time // zero means at once
	// Slot is the slot of a schedule that the run belongs to. Reruns, forks, and child runs have it too.
	Slot RunSlot

	// LastSeq is the number of the last journal row. It is also the revision that operators'
	// actions are checked against.
	LastSeq int64
	// Steps is the number of settled visits and items. Limits.MaxSteps limits it.
	Steps int64
	// Path is the path summary for lists: one letter per visit in completion order (c completed, f
	// failed, s skipped, x cancelled, d in doubt), at most 64.
	Path string
	// DueAt is the time of the earliest timer, retry, or deadline.
	DueAt     time.Time
	Usage     Usage
	Crashes   int // crashes while the run was running
	Paused    bool
	CreatedAt time.Time
	StartedAt time.Time
	EndedAt   time.Time
	// RunningTime is the time for which the run has been running, without waits.
	RunningTime time.Duration
	Removal
}

// ProgramRef identifies a compiled plan: a version, with the settings of one of its profiles.
type ProgramRef struct {
	Hash string
	// Profile is the name of a profile. If it is empty, or the version does not declare it, the plan is compiled as
	// written. The plan of a child run may not declare the profile of its parent.
	Profile string
}

// AsWritten identifies a version without a profile.
func AsWritten(hash string) ProgramRef { return ProgramRef{Hash: hash} }

// ProfileError is the error of a profile that a plan does not declare.
func ProfileError(profile string, known []string) *Error {
	if len(known) == 0 {
		return Errorf(CodeInvalid, "the plan has no profile %q, because it declares none", profile).Suggest("leave the profile out")
	}
	return Errorf(CodeInvalid, "the plan has no profile %q; it declares %s", profile, strings.Join(known, ", ")).
		Suggest("use one of these, or leave the profile out")
}

// Lineage is the run that a run was made from, by its ID. Empty fields do not apply.
type Lineage struct {
	ForkedFrom string
	ForkSeq    int64 // position in the journal of ForkedFrom
	RerunOf    string
	Undoes     string // the run whose steps this one undoes
}

// Removal records what was deleted of a run. Zero times mean nothing.
type Removal struct {
	DeletedAt time.Time
	// PurgedAt is the time at which retention deleted the journal, the input, and the output.
	PurgedAt time.Time
}

// OriginDry marks dry runs, which skip everything that might have a side effect. They need no
// attention, and statistics leave them out.
const OriginDry = "dry"

// OriginSchedule marks runs that a schedule started.
const OriginSchedule = "schedule"

// Dry reports whether the run is a dry run.
func (r *Run) Dry() bool { return r.Origin == OriginDry }

// RunError is the reason why a run failed.
type RunError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Text is Message with its arguments kept apart, or zero.
	Text Message `json:"-"`
	Node string  `json:"node,omitempty"`
}

// Localize returns the message with its arguments.
func (e *RunError) Localize() Message {
	if e.Text.IsZero() {
		return Verbatim(e.Message)
	}
	return e.Text
}

// ParentRef identifies the visit of a parent run that started a child run.
type ParentRef struct {
	Run     string `json:"run"`
	Node    string `json:"node"`
	Visit   int    `json:"visit"`
	Item    int    `json:"item"` // -1 outside a foreach
	Attempt int    `json:"attempt"`
}

// Limits limit a run. Zero fields mean no limit.
type Limits struct {
	MaxSteps    int64         `json:"maxSteps,omitempty"`
	MaxDuration time.Duration `json:"maxDuration,omitempty"` // of running time, without waits
	MaxTokens   int64         `json:"maxTokens,omitempty"`
	MaxCost     float64       `json:"maxCost,omitempty"`
	// Offline skips the steps of a dry run that read from other systems.
	Offline bool `json:"offline,omitempty"`
}

// Concurrency limits the number of active runs with the same key.
type Concurrency struct {
	Key        string `json:"key"`
	Limit      int    `json:"limit"`
	OnConflict string `json:"onConflict"` // queue, skip, cancel_oldest
	// Cancels are the IDs of the runs that the new run cancels. The store sets it.
	Cancels []string `json:"cancels,omitempty" readOnly:"true"`
}

// ReasonConcurrency is the reason of a run that is not created because of its concurrency rule.
const ReasonConcurrency = "concurrency"

// Admit applies the rule of a new run to the active runs with its key, oldest first. It returns the
// IDs of the runs to cancel, or an error if the run is not created.
func (c Concurrency) Admit(active []string) (cancel []string, err error) {
	over := len(active) - max(c.Limit, 1) + 1
	switch {
	case over <= 0:
	case c.OnConflict == "skip":
		return nil, &Error{Code: CodeConflict, Reason: ReasonConcurrency,
			Message: "skipped: run " + ShortID(active[0]) + " with concurrency key " + c.Key + " is still active"}
	case c.OnConflict == "cancel_oldest":
		return active[:over], nil
	}
	return nil, nil
}

// NewRun is a request to create a run. See [Run] for the meaning of the fields.
type NewRun struct {
	ID      string // empty means a new ID
	PlanID  string
	Hash    string
	Profile string
	Input   RawJSON
	Status  RunStatus // RunQueued, or RunWaiting for a fork that is held
	Parent  *ParentRef
	Lineage
	Actor       string
	Origin      string
	Session     string
	Priority    int
	Labels      map[string]string
	Limits      Limits
	Key         string
	Concurrency *Concurrency
	StartAt     time.Time
	Slot        RunSlot
	// Claim, if not nil, is the slot that the run is started for.
	Claim *SlotClaim
	// Delivery, if not nil, is the delivery to a hook that starts the run. It is stored with the run.
	Delivery *HookDelivery
	// CreatedAt is the time of the creation. Zero means now.
	CreatedAt time.Time
	// Entries is the journal that a fork starts with, numbered from 1.
	Entries []Entry
	Audit   []AuditRecord
	// Receipt, if not nil, is the receipt of the operation that creates the run. The run is its
	// object.
	Receipt *Receipt
}

// Wait is something that a run waits for.
type Wait struct {
	Node   string     `json:"node,omitempty"`
	Visit  int        `json:"visit,omitempty"`
	Item   int        `json:"item"` // -1 outside a foreach
	Reason WaitReason `json:"reason"`
	Since  time.Time  `json:"startedAt"`
	Due    time.Time  `json:"dueAt,omitzero"`
	// IDs of the approval or child run, if the run waits for one.
	Approval string `json:"approval,omitempty"`
	Child    string `json:"child,omitempty"`
	// Event and Key name the signal that the step waits for.
	Event   string `json:"event,omitempty"`
	Key     string `json:"key,omitempty"`
	Budget  string `json:"budget,omitempty" doc:"The key of the shared budget that the run waits for."`
	Code    string `json:"code,omitempty" doc:"What a wait for budget needs: price if a price must be configured; otherwise empty."`
	Message string `json:"message,omitempty"`
	// Text is Message with its arguments kept apart. If it is zero, Message is not translated.
	Text Message `json:"-"`
	// Calls holds the calls of an attempt in doubt whose outcome is unknown. It is empty if the
	// step itself is the call.
	Calls []OpenCall `json:"calls,omitempty"`
}

// CodePrice is the code of a wait for budget that ends when a price is configured and the run is resumed.
const CodePrice = "price"

// OpenCall is a non-idempotent tool call without a recorded outcome. It may or may not have been
// sent.
type OpenCall struct {
	Substep        int       `json:"substep"`
	Tool           string    `json:"tool"`
	Arguments      RawJSON   `json:"arguments,omitempty"`
	Since          time.Time `json:"startedAt"`
	IdempotencyKey string    `json:"idempotencyKey,omitempty"`
}
