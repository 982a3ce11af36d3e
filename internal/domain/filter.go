package domain

import "time"

// RunFilter selects runs. Zero fields do not restrict. Lists are sorted by age, newest first.
type RunFilter struct {
	Statuses    []RunStatus
	WaitReasons []WaitReason
	// WaitingFor restricts waiting runs to those that wait for one of these reasons. It does not
	// affect other runs.
	WaitingFor []WaitReason
	// NeedsAttention selects runs that failed and were not acknowledged, wait for a person, retry
	// repeatedly, or run without activity.
	NeedsAttention bool
	PlanKey        string
	Version        int
	Node           string // the node of the status message
	ErrorCode      string
	// Fingerprint selects failures with this fingerprint; see FailureRef.
	Fingerprint string
	Labels      map[string]string
	Actor       string
	Parent      string
	RunCause
	RelatedTo string // forks and reruns of this run
	IDTail    string // suffix or prefix of the ID
	// Text searches the status message and the labels for these words in order. The last word may
	// be a prefix.
	Text string
	// Word is the key of a plan if such a plan exists, else a text to search for in the status
	// message.
	Word string
	// Each list selects runs with one of its values, in addition to the fields for a single value.
	PlanKeys, Nodes, Actors, Origins []string
	// Agents, Tools, and Providers select runs in which one of the values took part.
	Agents, Tools, Providers []string
	// MinAttempts selects runs with a step that took more attempts.
	MinAttempts int64
	// Acknowledged selects failed runs that were acknowledged.
	Acknowledged bool
	// Since and Until apply to the end of final runs and to the start of other runs.
	Since, Until time.Time
	// Deleted selects deleted runs, which are otherwise left out.
	Deleted bool
	// Origin is the interface or operation that started the run: ui, api, cli, …
	Origin string
	// Bulk selects the runs of a bulk operation.
	Bulk string
	// ErrorCodes, if not empty, selects runs with one of these codes.
	ErrorCodes []string
	// IDs, if not nil, selects exactly these runs.
	IDs []string
	// Limits of the elapsed time, the cost, and the number of steps.
	MinTook, MaxTook   time.Duration
	MinCost, MaxCost   float64
	MinSteps, MaxSteps int64
	// HasFork, HasApproval, and HasParent select runs that were forked from another run, requested
	// an approval, or are child runs.
	HasFork, HasApproval, HasParent bool
	// HasNote selects runs with a note.
	HasNote bool
	// HasCrash selects runs with a step that was in flight when kairosd crashed.
	HasCrash bool
	// Exclude leaves out matching runs.
	Exclude RunExclusion
	// Query is the filter as text, for the API. The store does not read it.
	Query string
	Page  Page
}

// RunCause selects runs by how they were started.
type RunCause struct {
	Schedule string // the key of the schedule that started it
	Profile  string
	Profiles []string // any of them
}

// RunExclusion leaves out runs that match one of its fields.
type RunExclusion struct {
	PlanKeys, Nodes, ErrorCodes, Actors []string
	Origins, Agents, Tools, Providers   []string
	Profiles                            []string
	WaitReasons                         []WaitReason
	Labels                              map[string]string
}

// Page selects a page of a keyset list.
type Page struct {
	// After is the cursor of the last item of the previous page, for older items.
	After string
	// Before is the cursor of the first item of the next page, for newer items.
	Before string
	// Oldest starts with the oldest items instead of the newest. The order within the page is the
	// same.
	Oldest bool
	Limit  int // default 50, at most 200
}

// List is one page of a keyset list.
type List[T any] struct {
	Items []T
	Next  string // cursor for Page.After; empty if there are no older items
	Prev  string // cursor for Page.Before; empty if there are no newer items
	// Stopped is the age of the items at which a search stopped, because a request reads a limited
	// number of rows. Zero means that it read all. Next or Prev continues there.
	Stopped time.Time
}

// PlanFilter selects plans.
type PlanFilter struct {
	Text     string
	Archived bool
	// Stage is a stage, or [PlansUsed]. Empty means all except trials and blocks.
	Stage string
	// Paused selects paused plans of any stage. They are on one page.
	Paused bool
	// Facts must all apply to the plan.
	Facts []PlanFact
	// Query is the filter as text, for the API. The store does not read it.
	Query string
	Page  Page
}

// PlansUsed, as a Stage, selects plans that are not drafts, trials, or blocks.
const PlansUsed = "used"

// AuditFilter selects audit events. Lists are sorted by age, newest first.
type AuditFilter struct {
	Actor, Action, Run, Object, Result string
	// Each list selects events with one of its values, in addition to the fields for a single
	// value. In Actions and Objects, a value that ends with a star is a prefix.
	Actors, Actions, Objects, Results []string
	// Sources are interfaces, Addresses are addresses of clients, and Requests are request IDs.
	Sources, Addresses, Requests []string
	// Exclude leaves out matching events.
	Exclude      AuditExclusion
	Since, Until time.Time
	// Query is the filter as text, for the API. The store does not read it.
	Query string
	Page  Page
}

// AuditExclusion leaves out events that match one of its fields.
type AuditExclusion struct {
	Actors, Actions, Objects, Results, Sources, Addresses, Requests []string
}

// ApprovalFilter selects approval requests. Pending ones are sorted by deadline, then by age.
// Others are sorted by age, newest first.
type ApprovalFilter struct {
	Status  string // default open
	Decided bool   // all that are not pending, instead of a status
	Run     string
	Plan    string // key of the plan
	Agent   string // the agent that requested the approval
	Node    string // with Plan, requests of this step
	Tool    string // with Node, requests about calls of this tool
	// For selects requests that this person can answer. Assignee selects requests that are assigned
	// to this person.
	For, Assignee string
	// NotFor selects requests that are assigned to other persons.
	NotFor string
	// Overdue selects requests whose deadline is before this time. A request without a deadline is
	// overdue after one day.
	Overdue time.Time
	Page    Page
}

// StubbornAttempts is the number of failed attempts of a step after which its retries need
// attention.
const StubbornAttempts = 3

// SilentAfter is the time without activity (start, log, progress, text, part of a step) after which
// a running run needs attention.
const SilentAfter = time.Minute

// RunCounts counts runs by status. NeedsAttention counts failed runs that were not acknowledged,
// and runs that wait for a person.
type RunCounts struct {
	ByStatus       map[RunStatus]int64
	Waiting        map[WaitReason]int64 // waiting runs by reason
	NeedsAttention int64
	Acknowledged   int64 // failed, and acknowledged
	Stubborn       int64 // waiting for a retry after StubbornAttempts
	Silent         int64 // running without activity
	OpenApprovals  int64
	Held           int64 // waiting for a release after a restore
	Total          int64
}

// SavedView is a saved filter of the run list. An empty owner means that it is shared.
type SavedView struct{ Owner, Name, Query string }

// RunSort is a sort order of the run list other than age.
type RunSort string

// Sort orders of the run list. All are descending.
const (
	SortTook  RunSort = "took"
	SortCost  RunSort = "cost"
	SortEnded RunSort = "ended"
)

// SortWindow describes the runs that were sorted: a number of the newest runs, back to a time.
// Whole reports that these are all runs.
type SortWindow struct {
	Runs  int64
	Since time.Time
	Whole bool
}
