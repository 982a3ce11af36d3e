package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// NoItem is the item of a step outside a foreach.
const NoItem = -1

// StepKey identifies a step: a visit of a node, or an item of a foreach visit. Node is the index of
// the node in the program.
type StepKey struct {
	walk.VisitKey
	Item int // starts at 0; NoItem outside a foreach
}

// Phase is the phase of an open step according to the journal.
type Phase uint8

const (
	PhaseReady   Phase = iota // no recorded attempt is active
	PhaseRunning              // an intent row without its result
	PhaseWaiting              // a wait row without its answer
	PhaseInDoubt              // it is unknown whether the attempt had its effect, and a person must resolve it
)

// Step is an open step: ready, running, waiting, or in doubt.
type Step struct {
	StepKey
	Order          int // position in the order of becoming ready
	Phase          Phase
	Attempt        int // number of the last attempt, starting at 1
	FailedAttempts int // failed attempts that count against the limit
	Failures       int // attempts that failed, over all openings of the step
	Retries        int // retries after errors, over all openings of the step; part of the ID of child runs
	Crashes        int // crashes while it was open, since the last release

	Reason     domain.WaitReason // if waiting
	Since      time.Time         // when the wait or the doubt began
	Due        time.Time         // when the wait ends automatically; zero means never
	Ref        string            // ID of the approval, the child run, or the wait for a signal
	RequestSeq int64             // sequence number of the wait row
	Binding    string            // digest that an approval step is bound to
	Input      domain.RawJSON    // of the intent or wait row
	Effect     walk.Effect       // of the attempt in flight or in doubt
	StartedAt  time.Time         // when that attempt began

	Usage   domain.Usage    // recorded for the step so far
	Failure *domain.Failure // of the last attempt
	// Substeps holds the recorded responses by number. The next attempt inherits them; see
	// forgetSubsteps.
	Substeps map[int]domain.Entry
	// CallsInFlight holds the non-idempotent sub-steps without a recorded outcome, by number.
	// Several may be in flight.
	CallsInFlight map[int]domain.OpenCall
	// Consent is the call that needs the approval of a person. Answers holds the answers so far by
	// sub-step, where 0 is the call of the node.
	Consent *ConsentRequest
	Answers map[int]ConsentAnswer
	// ReplanTarget is the version that a person must accept.
	ReplanTarget *ReplanTarget
	// ReplanAbandoned is set before the row that settles the step, if no new version can be
	// planned.
	ReplanAbandoned bool
	// Resolution is a person's resolution of an attempt that was in doubt when the run was
	// cancelled. It applies when a resume reopens the step.
	Resolution *Resolution
}

// Resolution is a person's resolution of an attempt in doubt, or a result that a step gets instead
// of running.
type Resolution struct {
	Action string         // ActionHappened, ActionRetry, ActionSkip, ActionFail
	Output domain.RawJSON // of ActionHappened
	// Given is the reason why the result was given before the step began. It is empty for an
	// attempt in doubt.
	Given string
}

// override replaces limits of a node for one visit. Zero fields replace nothing.
type override struct {
	timeout  time.Duration
	attempts int
}

// Doubt is an attempt in doubt of a step that was cancelled later.
type Doubt struct {
	Attempt    int
	Since      time.Time
	Calls      []domain.OpenCall
	Resolution *Resolution // nil means unresolved
}

// Foreach is an open foreach visit.
type Foreach struct {
	walk.VisitKey
	order     int
	Total     int    // number of items, or -1 until the list is resolved
	OpenItems int    // items begun and not settled
	BegunAll  bool   // no item is left to begin
	Values    []byte // digest of the values that approvals of the items are bound to
	// Waiting is the number of open items that wait or are in doubt. They hold no slot. An item that waits for
	// its child run does.
	Waiting int
}

// Carryover is what an uncompleted step leaves for its next opening.
type Carryover struct {
	Attempt, Retries, Failures int
	Substeps                   map[int]domain.Entry  // inherited by its next attempt
	Answers                    map[int]ConsentAnswer // about these sub-steps
}

// empty reports whether there is nothing to continue from.
func (c Carryover) empty() bool {
	return c.Attempt == 0 && c.Retries == 0 && len(c.Substeps) == 0 && len(c.Answers) == 0
}

// Settled is a settled visit.
type Settled struct {
	Node, Visit int
	Status      domain.NodeStatus
}

// Completion is a completed visit with the sequence number of its row.
type Completion struct {
	visit int
	Seq   int64
}

// State is the state of a run as its journal records it. It is not safe for concurrent use, and
// copies share its maps.
type State struct {
	Program *walk.Program
	Walk    *walk.Walk
	Seq     int64 // of the last row applied
	Request any   // the input of the run

	Open    map[StepKey]*Step
	Foreach map[walk.VisitKey]*Foreach
	Doubts  map[StepKey]*Doubt
	Carried map[StepKey]Carryover
	opened  int // steps and foreach visits that became ready so far
	// stopMark is the value of opened when the run began to stop, or 0.
	stopMark int
	// NewlyReady holds steps and foreach visits that became ready since the runner cleared it.
	NewlyReady []StepKey

	SettledCount int64
	// History is a digest of all settled visits, in order, and of what resets reopened. It shows
	// whether a run has changed.
	History uint64
	begun   []bool // by node: whether it began to run
	// Settled holds settled visits in order: all with KeepHistory, otherwise those since
	// ForgetSettled, so that memory does not grow with the length of a run.
	Settled     []Settled
	KeepHistory bool
	// Completed holds the last two completed visits of nodes with an agent, newest first. A reset
	// may undo the newest.
	Completed map[int][2]Completion
	Agents    map[int]string // the agent that ran a node, by node ID

	// Only holds the visits to which a resume is limited. Once they have settled, the run pauses.
	Only      map[walk.VisitKey]bool
	overrides map[walk.VisitKey]override

	Paused      bool
	Cancelled   bool
	Quarantined bool
	Held        bool
	Budget      *BudgetWait       // the reached limit, or nil
	CleanStop   bool              // the last row records a clean shutdown
	Plans       map[string]string // hashes of the versions of plan nodes, by plan key
	Memory      any               // the memory of the session when the run began, or nil
	// resumedAt is when the run was resumed last after its end. Zero means never.
	resumedAt time.Time
	replanned
}

// replanned is what earlier versions of the plan left.
type replanned struct {
	ReplanCount int // number of replan rows
	// redefined holds, by node, the sequence number of the replan row that changed its definition.
	redefined   map[string]int64
	begunBefore map[string]bool // names of the nodes that began in an earlier version
}
