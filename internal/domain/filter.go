package domain

import "time"

// RunFilter selects runs; zero fields do not restrict. Lists are newest first.
type RunFilter struct {
	Statuses    []RunStatus
	WaitReasons []WaitReason
	// WaitingFor: of the runs that wait, only those that wait for one of these;
	// it does not concern others.
	WaitingFor []WaitReason
	// NeedsAttention: failed and no one acknowledged it, waiting for a person, tried
	// again and again, or at work without a sign of life.
	NeedsAttention bool
	PlanKey        string
	Version        int
	Node           string // the node the headline speaks of
	ErrorCode      string
	// Fingerprint: it failed with a message like these, see FailureRef.
	Fingerprint string
	Labels      map[string]string
	Actor       string
	Parent      string
	RelatedTo   string // forks and reruns of this run
	IDTail      string // tail or prefix of the id
	// Text stands in the headline or the labels: these words, one after the other,
	// the last of which may be only begun.
	Text string
	// Word is a plan's key where there is such a plan, else text in the headline.
	Word string
	// Choices: one of them will do. They stand beside the fields for one value.
	PlanKeys, Nodes, Actors, Origins []string
	// Agents, Tools and Providers took part in the run; one of each will do.
	Agents, Tools, Providers []string
	// MinAttempts: some step took more attempts.
	MinAttempts int64
	// Acknowledged: it failed, and someone acknowledged that.
	Acknowledged bool
	// Since and Until apply to the end of final runs, to the start of others.
	Since, Until time.Time
	// Deleted selects deleted runs, which other lists leave out.
	Deleted bool
	// Origin is through what it was started: ui, api, cli, …
	Origin string
	// Bulk is a bulk operation that the run was part of.
	Bulk string
	// ErrorCodes, if not empty, is a choice of codes.
	ErrorCodes []string
	// Exactly these runs; nil: no restriction.
	IDs []string
	// Took, Cost and Steps bound the elapsed time, the cost and the steps.
	MinTook, MaxTook   time.Duration
	MinCost, MaxCost   float64
	MinSteps, MaxSteps int64
	// HasFork, HasApproval, HasParent: it was forked from another, has asked a
	// person, is a child.
	HasFork, HasApproval, HasParent bool
	// HasNote: someone wrote a note on it.
	HasNote bool
	// HasCrash: the daemon crashed while a step of it was in flight.
	HasCrash bool
	// Exclude: none of these.
	Exclude RunExclusion
	// WithDry lists dry runs too. Otherwise they are left out, unless the filter
	// asks for them by origin, id, label, kin or bulk.
	WithDry bool
	// Query is the filter as it was written, for the API; the store does not read it.
	Query string
	Page  Page
}

// RunExclusion is what must not be so of a run.
type RunExclusion struct {
	PlanKeys, Nodes, ErrorCodes, Actors []string
	Origins, Agents, Tools, Providers   []string
	WaitReasons                         []WaitReason
	Labels                              map[string]string
}

// Page is a window of a keyset list.
type Page struct {
	// After is the cursor of the last item of the page before (towards older).
	After string
	// Before is the cursor of the first item of the page after (towards newer).
	Before string
	// Oldest begins with the oldest items instead of the newest; the page is in
	// the list's order all the same.
	Oldest bool
	Limit  int // default 50, at most 200
}

// List is one page of a keyset list.
type List[T any] struct {
	Items []T
	Next  string // cursor for Page.After; empty: no older items
	Prev  string // cursor for Page.Before; empty: no newer items
	// Stopped is how old the items are at which a search stopped, because a request
	// reads a limited number of rows; zero: it read all. Next, or Prev, continues there.
	Stopped time.Time
}

// PlanFilter selects plans.
type PlanFilter struct {
	Text     string
	Archived bool
	// Stage is one stage; empty: all but trials. [PlansUsed] are those in use.
	Stage string
	// Paused selects plans of which no run starts, whatever their stage; they are on one
	// page.
	Paused bool
	// Facts are all true of the plan.
	Facts []PlanFact
	// Query is the filter as it was written, for the API; the store does not read it.
	Query string
	Page  Page
}

// PlansUsed as a Stage selects plans that are neither drafts nor trials.
const PlansUsed = "used"

// AuditFilter selects audit events, newest first.
type AuditFilter struct {
	Actor, Action, Run, Object, Result string
	// Choices: one of them will do. They stand beside the fields for one value. A
	// value of Actions or Objects that ends with a star stands for all that begin
	// with what is before it.
	Actors, Actions, Objects, Results []string
	// Surfaces, Addresses and Requests are doors, where from, and by which request.
	Surfaces, Addresses, Requests []string
	// Exclude: none of these.
	Exclude      AuditExclusion
	Since, Until time.Time
	// Query is the filter as it was written, for the API; the store does not read it.
	Query string
	Page  Page
}

// AuditExclusion is what must not be so of an audit event.
type AuditExclusion struct {
	Actors, Actions, Objects, Results, Surfaces, Addresses, Requests []string
}

// ApprovalFilter selects approvals. Open ones come in the order of the inbox:
// deadline, then age; others newest first.
type ApprovalFilter struct {
	Status  string // default open
	Decided bool   // all that are not open, instead of a status
	Run     string
	Plan    string // its key
	Agent   string // that asks
	Node    string // with Plan: what this step asks
	Tool    string // with Node: about calls of this tool
	// For: what this person is to answer, or anyone permitted. Assignee: what only they are to.
	For, Assignee string
	// NotFor: what others than this person are to answer.
	NotFor string
	// Overdue: past its deadline at this time, or without one and asked a day before.
	Overdue time.Time
	Page    Page
}

// StubbornAttempts is how many attempts of a step must have failed for its retries
// to need attention.
const StubbornAttempts = 3

// SilentAfter is how long what a run works at may give no sign of life (start,
// log, progress, text, part of a step) before that needs attention.
const SilentAfter = time.Minute

// RunCounts are maintained counters per status; NeedsAttention counts failed
// runs that no one acknowledged and those that wait for a person.
type RunCounts struct {
	ByStatus       map[RunStatus]int64
	Waiting        map[WaitReason]int64 // of those that wait
	NeedsAttention int64
	Acknowledged   int64 // failed, and acknowledged
	Stubborn       int64 // wait for a retry after StubbornAttempts
	Silent         int64 // work without a sign of life
	OpenApprovals  int64
	Held           int64 // wait for a release after a restore
	Total          int64
}

// SavedView is a name for a query of the run list; an empty owner means
// everybody's.
type SavedView struct{ Owner, Name, Query string }

// RunSort is what a list of runs may be sorted by besides age.
type RunSort string

// The orders of a list of runs; each begins with the most.
const (
	SortTook  RunSort = "took"
	SortCost  RunSort = "cost"
	SortEnded RunSort = "ended"
)

// SortWindow is the set of runs among which a list was sorted: a number of the newest
// runs, back to a time; Whole: all there are.
type SortWindow struct {
	Runs  int64
	Since time.Time
	Whole bool
}
