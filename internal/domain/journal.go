package domain

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/planner/message"
)

// EntryKind is the kind of a journal row.
type EntryKind string

const (
	// EntryIntent means that an attempt of a node that is not pure is about to start.
	EntryIntent EntryKind = "intent"
	// EntryResult means that an attempt ended. If Final is set, its item or visit ended too.
	EntryResult EntryKind = "result"
	// EntryWait means that a visit waits for a timer, an approval, a child run, or a retry.
	EntryWait EntryKind = "wait"
	// EntryResolve means that a decision of a person, the end of a child run, or a late result
	// ended a wait or an attempt in doubt.
	EntryResolve EntryKind = "resolve"
	// EntrySubstep records a model call or tool call inside an attempt.
	EntrySubstep EntryKind = "substep"
	// EntryReset means that a resume reopened failed work.
	EntryReset EntryKind = "reset"
	// EntryReplan means that the run follows another version from here.
	EntryReplan EntryKind = "replan"
	// EntryAction records an action on the run: pause, continue, cancel, limits, release, quarantine.
	EntryAction EntryKind = "action"
)

// Entry is a row of a run's journal. Rows are only appended. Seq starts at 1 and has no gaps.
type Entry struct {
	Seq     int64     `json:"seq"`
	Kind    EntryKind `json:"kind"`
	Node    string    `json:"node,omitempty"`
	Visit   int       `json:"visit,omitempty"`   // starts at 1; 0 for rows about the run
	Item    int       `json:"item"`              // index in a foreach, or -1
	Attempt int       `json:"attempt,omitempty"` // starts at 1
	Substep int       `json:"substep,omitempty"` // starts at 1 in each attempt; 0 if none

	Status NodeStatus `json:"status,omitempty"`
	// Final marks the row that settled its item or visit. Only these rows advance the walk.
	Final  bool   `json:"final,omitempty"`
	Effect string `json:"effect,omitempty"`
	// IdempotencyKey is the same for all attempts of a visit or item.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`

	Input  RawJSON `json:"input,omitempty"`
	Output RawJSON `json:"output,omitempty"`
	// Decision is the [walk.Decision] of a final row as JSON, or the data of a reset, replan,
	// resolve, wait, or action row.
	Decision RawJSON  `json:"decision,omitempty"`
	Failure  *Failure `json:"failure,omitempty"`
	Usage    Usage    `json:"usage,omitzero"`
	Agent    string   `json:"agent,omitempty"`
	// Provider answered the model call of a new row. The journal does not store it; the sums of spend do.
	Provider string `json:"-"`
	// DueAt is the time at which a wait ends automatically.
	DueAt time.Time `json:"dueAt,omitzero"`
	// Ref is the ID of the approval or child run of a wait.
	Ref    string `json:"ref,omitempty"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Log holds the log of the handler, up to a limit.
	Log RawJSON `json:"log,omitempty"`

	StartedAt time.Time `json:"startedAt,omitzero"` // start of the attempt
	At        time.Time `json:"at"`                 // time of the row
	// Hash is the checksum of the row: the hex SHA-256 over its fields. The store sets and verifies
	// it.
	Hash string `json:"hash,omitempty"`
}

// Failure is a failure as the journal stores it.
type Failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Text       string `json:"text,omitempty"` // like [walk.Failure.Text]
	Suggestion string `json:"suggestion,omitempty"`
	Node       string `json:"node,omitempty"`
	Permanent  bool   `json:"permanent,omitempty"`
	NoEffect   bool   `json:"noEffect,omitempty"`
	RetryAfter Millis `json:"retryAfterMs,omitzero"`
	Detail     string `json:"detail,omitempty"`
	// Causes are the wrapped errors, outermost first. Request is the ID that the other system gave
	// to the failed request.
	Causes  []string `json:"causes,omitempty"`
	Request string   `json:"request,omitempty"`
	Stack   string   `json:"stack,omitempty"`
	// FailureCause is set if the call was not made because earlier calls had failed with that failure.
	CausedBy *FailureCause `json:"causedBy,omitempty"`
}

// FailureCause is a failure that caused another one.
type FailureCause struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Text    string `json:"text,omitempty"`
}

func (f *Failure) Error() string { return f.Message }

// WithMessage sets the message of f and returns f, like [walk.Failure.WithMessage].
func (f *Failure) WithMessage(format string, args ...any) *Failure {
	f.Message, f.Text = fmt.Sprintf(format, args...), message.New(format, args...).Encode()
	return f
}

// Localize returns the message with its arguments.
func (f *Failure) Localize() Message { return message.Decode(f.Text, f.Message) }
