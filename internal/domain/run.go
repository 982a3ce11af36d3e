package domain

import "time"

// Run is one execution of one plan version with one input.
type Run struct {
	ID      string
	PlanID  string
	PlanKey string
	// Version and Hash name the version the run is pinned to (after a re-plan:
	// the one it now follows).
	Version int
	Hash    string

	Status     RunStatus
	WaitReason WaitReason // only while waiting
	// Headline states where the run stands in one line: the failing node and its
	// message, the node that runs, the question that waits.
	Headline string
	// StatusMessage is Headline with its arguments kept apart.
	StatusMessage Message
	// Node is the node that Headline speaks of.
	Node string

	Input  RawJSON
	Output RawJSON
	// Damaged are the parts that cannot be read as they were written; they are left
	// out. Lists, which have no input and output, say nothing of those.
	Damaged []DamagedPart
	Error   *RunError
	// Fingerprint is of the error's message, as the function Fingerprint gives it; empty unless
	// the run failed.
	Fingerprint string
	// Attention: it needs a person's attention, and no one has acknowledged that.
	Attention bool

	// Lineage.
	Parent     *ParentRef // the run and visit this is a child of
	ForkedFrom string
	ForkSeq    int64 // journal position in ForkedFrom
	RerunOf    string

	Actor    string // who started it
	Origin   string // "api", "cli", "ui", "child", "rerun", "fork", "ask", "dry"
	Session  string
	Priority int // higher runs first; default 0
	Labels   map[string]string
	Limits   Limits
	// Key makes POST /runs idempotent: one run per key.
	Key         string
	Concurrency *Concurrency
	StartAt     time.Time // zero: at once

	// LastSeq is the journal's last sequence number; it is also the revision
	// that operators' acts are checked against.
	LastSeq int64
	// Steps counts settled visits and items; MaxSteps of the limits bounds it.
	Steps int64
	// Path is a compact strip of the run's shape for lists: one letter per
	// node visit in completion order (c completed, f failed, s skipped, x
	// cancelled, d in doubt), at most 64.
	Path string
	// DueAt is when the earliest timer, retry or deadline fires.
	DueAt     time.Time
	Usage     Usage
	Crashes   int // crashes while the run was in flight
	Paused    bool
	CreatedAt time.Time
	StartedAt time.Time
	EndedAt   time.Time
	// RunningTime is how long the run has been running, waits not counted.
	RunningTime time.Duration
	Removal
}

// Removal is what was removed of a run; zero times: nothing.
type Removal struct {
	DeletedAt time.Time
	// PurgedAt is when retention removed its journal, input, and output.
	PurgedAt time.Time
}

// OriginDry marks dry runs: what might change something is not done in them. They
// need no one's attention and stand in no statistics.
const OriginDry = "dry"

// Dry reports whether the run is a dry run.
func (r *Run) Dry() bool { return r.Origin == OriginDry }

// RunError is why a run failed.
type RunError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Text is Message with its arguments kept apart; zero: it has none.
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

// ParentRef names the visit of a parent run that a child run serves.
type ParentRef struct {
	Run     string `json:"run"`
	Node    string `json:"node"`
	Visit   int    `json:"visit"`
	Item    int    `json:"item"` // -1: none
	Attempt int    `json:"attempt"`
}

// Limits bound one run; zero fields are unlimited.
type Limits struct {
	MaxSteps    int64         `json:"maxSteps,omitempty"`
	MaxDuration time.Duration `json:"maxDuration,omitempty"` // of running time
	MaxTokens   int64         `json:"maxTokens,omitempty"`
	MaxCost     float64       `json:"maxCost,omitempty"`
	// Offline keeps the steps of a dry run from reading outside kairosd.
	Offline bool `json:"offline,omitempty"`
}

// Concurrency bounds how many runs with one key are active at once.
type Concurrency struct {
	Key        string `json:"key"`
	Limit      int    `json:"limit"`
	OnConflict string `json:"onConflict"` // queue, skip, cancel_oldest
}

// NewRun is what creating a run needs; see [Run] for the fields' meaning.
type NewRun struct {
	ID          string // empty: a new one
	PlanID      string
	Hash        string
	Input       RawJSON
	Status      RunStatus // RunQueued, or RunWaiting for a held fork
	Parent      *ParentRef
	ForkedFrom  string
	ForkSeq     int64
	RerunOf     string
	Actor       string
	Origin      string
	Session     string
	Priority    int
	Labels      map[string]string
	Limits      Limits
	Key         string
	Concurrency *Concurrency
	StartAt     time.Time
	// Entries is the journal that a fork starts with, renumbered from 1.
	Entries []Entry
	Audit   []AuditRecord
	// Receipt, if not nil, is of the operation that makes the run, which is its object.
	Receipt *Receipt
}

// Wait is one thing that a run waits for.
type Wait struct {
	Node   string     `json:"node,omitempty"`
	Visit  int        `json:"visit,omitempty"`
	Item   int        `json:"item"` // -1: none
	Reason WaitReason `json:"reason"`
	Since  time.Time  `json:"since"`
	Due    time.Time  `json:"dueAt,omitzero"`
	// Approval or child run, if that is what is waited for.
	Approval string `json:"approval,omitempty"`
	Child    string `json:"child,omitempty"`
	Message  string `json:"message,omitempty"`
	// Text is Message with its arguments kept apart; zero: it is shown as it is.
	Text Message `json:"-"`
	// Calls are the calls inside an attempt in doubt whose outcome is not known;
	// none: the step's own call.
	Calls []OpenCall `json:"calls,omitempty"`
}

// OpenCall is a non-idempotent tool call that was sent, or about to be, and whose
// outcome is not recorded.
type OpenCall struct {
	Substep        int       `json:"substep"`
	Tool           string    `json:"tool"`
	Arguments      RawJSON   `json:"arguments,omitempty"`
	Since          time.Time `json:"since"`
	IdempotencyKey string    `json:"idempotencyKey,omitempty"`
}
