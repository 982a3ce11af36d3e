package kairos

import "time"

// RunFilter selects runs; zero fields do not restrict. Lists are newest first.
type RunFilter struct {
	Statuses    []RunStatus
	WaitReasons []WaitReason
	// NeedsAttention: failed, or waiting for a person.
	NeedsAttention bool
	PlanKey        string
	Version        int
	Node           string // the node the headline speaks of
	ErrorCode      string
	Labels         map[string]string
	Actor          string
	Parent         string
	RelatedTo      string // forks and reruns of this run
	IDTail         string // tail or prefix of the id
	Text           string // in the headline
	// Since and Until apply to the end of final runs, to the start of others.
	Since, Until time.Time
	WithDeleted  bool
	Page         Page
}

// Page is a window of a keyset list.
type Page struct {
	// After is the cursor of the last item of the page before (towards older).
	After string
	// Before is the cursor of the first item of the page after (towards newer).
	Before string
	Limit  int // default 50, at most 200
}

// List is one page of a keyset list.
type List[T any] struct {
	Items []T
	Next  string // cursor for Page.After; empty: no older items
	Prev  string // cursor for Page.Before; empty: no newer items
}

// PlanFilter selects plans.
type PlanFilter struct {
	Text     string
	Archived bool
	Page     Page
}

// AuditFilter selects audit events, newest first.
type AuditFilter struct {
	Actor, Action, Run, Object, Result string
	Since, Until                       time.Time
	Page                               Page
}

// ApprovalFilter selects approvals.
type ApprovalFilter struct {
	Status string // default open
	Run    string
	Page   Page
}

// RunCounts are maintained counters per status; NeedsAttention counts failed
// runs and those that wait for a person.
type RunCounts struct {
	ByStatus       map[RunStatus]int64
	NeedsAttention int64
	OpenApprovals  int64
	Held           int64 // wait for a release after a restore
	Total          int64
}
