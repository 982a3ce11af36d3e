package domain

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/planner/message"
)

// EntryKind states what a journal row records.
type EntryKind string

const (
	// EntryIntent: an attempt of a node that is not pure is about to run.
	EntryIntent EntryKind = "intent"
	// EntryResult: an attempt ended. With Final, so did its item or visit.
	EntryResult EntryKind = "result"
	// EntryWait: a visit waits durably (timer, approval, child, retry).
	EntryWait EntryKind = "wait"
	// EntryResolve: something from outside answered a wait or an in-doubt
	// attempt: a decision of a person, a child's end, a late result.
	EntryResolve EntryKind = "resolve"
	// EntrySubstep: one model or tool call inside an attempt.
	EntrySubstep EntryKind = "substep"
	// EntryReset: a resume opened failed work again.
	EntryReset EntryKind = "reset"
	// EntryReplan: the run follows another version from here.
	EntryReplan EntryKind = "replan"
	// EntryVerb: pause, continue, cancel, limits, release, quarantine.
	EntryVerb EntryKind = "verb"
)

// Entry is one row of a run's journal. Rows are only ever appended; Seq counts
// from 1 without gaps.
type Entry struct {
	Seq     int64     `json:"seq"`
	Kind    EntryKind `json:"kind"`
	Node    string    `json:"node,omitempty"`
	Visit   int       `json:"visit,omitempty"`   // from 1; 0 for rows about the run
	Item    int       `json:"item"`              // index in a foreach; -1: none
	Attempt int       `json:"attempt,omitempty"` // from 1
	Substep int       `json:"substep,omitempty"` // from 1 inside an attempt; 0: none

	Status NodeStatus `json:"status,omitempty"`
	// Final marks the row that settled its item or visit; only these move the walk.
	Final  bool   `json:"final,omitempty"`
	Effect string `json:"effect,omitempty"`
	// IdempotencyKey is the same for all attempts of one visit and item.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`

	Input  RawJSON `json:"input,omitempty"`
	Output RawJSON `json:"output,omitempty"`
	// Decision is the walk's decision ([walk.Decision] as JSON) of a final
	// row, or the payload of a reset, replan, resolve, wait or verb row.
	Decision RawJSON  `json:"decision,omitempty"`
	Failure  *Failure `json:"failure,omitempty"`
	Usage    Usage    `json:"usage,omitzero"`
	Agent    string   `json:"agent,omitempty"`
	// DueAt is when a wait ends automatically.
	DueAt time.Time `json:"dueAt,omitzero"`
	// Ref names the approval or child run of a wait.
	Ref    string `json:"ref,omitempty"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Log holds what the handler logged, capped.
	Log RawJSON `json:"log,omitempty"`

	StartedAt time.Time `json:"startedAt,omitzero"` // when the attempt began
	At        time.Time `json:"at"`                 // when the row was made
	// Hash is the row's checksum: SHA-256 over its fields, hex. The store fills
	// and verifies it.
	Hash string `json:"hash,omitempty"`
}

// Failure is a failure as the journal keeps it.
type Failure struct {
	Code       string        `json:"code"`
	Message    string        `json:"message"`
	Text       string        `json:"text,omitempty"` // like [walk.Failure.Text]
	Suggestion string        `json:"suggestion,omitempty"`
	Node       string        `json:"node,omitempty"`
	Permanent  bool          `json:"permanent,omitempty"`
	NoEffect   bool          `json:"noEffect,omitempty"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	// Causes are what led to it, from the outside in; Request is what the other side
	// calls the request that failed.
	Causes  []string `json:"causes,omitempty"`
	Request string   `json:"request,omitempty"`
	Stack   string   `json:"stack,omitempty"`
	// Behind is the failure that kept the call from being made, if it was not.
	Behind *Behind `json:"behind,omitempty"`
}

// Behind names a failure that led to another.
type Behind struct {
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
