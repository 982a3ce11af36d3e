package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// NoItem is the item of a step without foreach.
const NoItem = -1

// StepKey names a step: one visit of a node, or one item of a foreach visit. Node is
// the node's index in the program.
type StepKey struct {
	walk.VisitKey
	Item int // from 0; NoItem without foreach
}

// Phase is where an open step stands, by the journal alone.
type Phase uint8

const (
	PhaseReady   Phase = iota // nothing recorded is active
	PhaseRunning              // an intent row without its result
	PhaseWaiting              // a wait row without its answer
	PhaseInDoubt              // it is unknown whether the attempt had its effect; a person must resolve it
)

// Step is an open step: ready, running, waiting, or in doubt.
type Step struct {
	StepKey
	Order          int // position in the order of becoming ready
	Phase          Phase
	Attempt        int // number of the last attempt that began, from 1
	FailedAttempts int // failed attempts that count against the retry budget
	Retries        int // retries after errors, over all openings of the step; names child runs
	Crashes        int // crashes while it was open, since the last release

	Reason     domain.WaitReason // while waiting
	Since      time.Time         // when the wait or the doubt began
	Due        time.Time         // when the wait ends automatically; zero: never
	Ref        string            // id of the approval or child run that it waits for
	RequestSeq int64             // sequence number of the wait row
	Binding    string            // digest of what an approval step's request is about
	Input      domain.RawJSON    // of the intent or wait row
	Effect     walk.Effect       // of the attempt in flight or in doubt
	StartedAt  time.Time         // when that attempt began

	Usage   domain.Usage    // recorded for the step so far
	Failure *domain.Failure // of the last attempt
	// Substeps are the recorded responses by number, which the next attempt
	// inherits; see forgetSubsteps.
	Substeps map[int]domain.Entry
	// CallsInFlight are the non-idempotent sub-steps without a recorded outcome, by
	// number. Several may be in flight at once.
	CallsInFlight map[int]domain.OpenCall
	// Consent is the call that a person must allow. Answers are the answers so
	// far by sub-step; 0 is the node's own call.
	Consent *ConsentRequest
	Answers map[int]ConsentAnswer
	// ReplanTarget is the version that a person must accept.
	ReplanTarget *ReplanTarget
	// ReplanAbandoned is set when no new version can be planned, just before the row
	// that settles the step.
	ReplanAbandoned bool
	// Resolution is a person's word on an attempt that was in doubt when the run was
	// cancelled. It takes effect when a resume opens the step again.
	Resolution *Resolution
}

// Resolution is a person's word on a step: on an attempt in doubt, or a result that
// stands in for running it.
type Resolution struct {
	Action string         // ActionHappened, ActionRetry, ActionSkip, ActionFail
	Output domain.RawJSON // of ActionHappened
	// Given is why the result was given before the step began; empty for an attempt in
	// doubt.
	Given string
}

// override replaces limits of a node for one visit; zero fields do not.
type override struct {
	timeout  time.Duration
	attempts int
}

// Doubt is an attempt in doubt of a step that was cancelled since.
type Doubt struct {
	Attempt    int
	Since      time.Time
	Calls      []domain.OpenCall
	Resolution *Resolution // nil: unresolved
}

// Foreach is an open foreach visit.
type Foreach struct {
	walk.VisitKey
	order     int
	Total     int    // number of items; -1 until the list is resolved
	OpenItems int    // items begun and not settled
	BegunAll  bool   // no item is left to begin
	Values    []byte // digest of the values that the approvals of its items are bound to
	// Parked counts the open items that wait or are in doubt. They hold no slot.
	Parked int
}

// Carryover is what a step that did not complete leaves for its next opening.
type Carryover struct {
	Attempt, Retries int
	Substeps         map[int]domain.Entry  // inherited by its next attempt
	Answers          map[int]ConsentAnswer // about these sub-steps
}

// empty reports whether there is nothing that a resume continues from.
func (c Carryover) empty() bool {
	return c.Attempt == 0 && c.Retries == 0 && len(c.Substeps) == 0 && len(c.Answers) == 0
}

// Settled is a settled visit.
type Settled struct {
	Node, Visit int
	Status      domain.NodeStatus
}

// Completion is a completed visit and the sequence number of its row.
type Completion struct {
	visit int
	Seq   int64
}

// State is where a run stands: everything that its journal records. It belongs to one
// goroutine; copies share its maps.
type State struct {
	Program *walk.Program
	Walk    *walk.Walk
	Seq     int64 // of the last row applied
	Request any   // the run's input

	Open    map[StepKey]*Step
	Foreach map[walk.VisitKey]*Foreach
	Doubts  map[StepKey]*Doubt
	Carried map[StepKey]Carryover
	opened  int // steps and foreach visits that became ready so far
	// stopMark is the value of opened when the run began to stop; 0: it does not stop.
	stopMark int
	// NewlyReady lists steps and foreach visits that became ready since the runner
	// cleared it.
	NewlyReady []StepKey

	SettledCount int64
	// History is a digest of everything that settled, in order, and of what resets opened
	// again. It reports whether a run has moved on without keeping its past.
	History uint64
	// begun marks the nodes that began to run; begunBefore names those that began in a
	// version that the run no longer follows.
	begun       []bool
	begunBefore map[string]bool
	// Settled lists settled visits in order: all of them with KeepHistory, otherwise
	// those since ForgetSettled, so that a long run does not grow with its past.
	Settled     []Settled
	KeepHistory bool
	// Completed are the last two completed visits of nodes with an agent, the last one
	// first. A reset may undo the last one.
	Completed map[int][2]Completion
	Agents    map[int]string // the agent that ran a node, by node

	// Only are the visits that a resume is limited to. Once they have settled, the run
	// pauses.
	Only      map[walk.VisitKey]bool
	overrides map[walk.VisitKey]override

	Paused      bool
	Cancelled   bool
	Quarantined bool
	Held        bool
	Budget      *BudgetWait       // the limit that is reached; nil: none
	CleanStop   bool              // the last row records a clean shutdown
	Plans       map[string]string // hashes that plan nodes are pinned to, by plan key
	Memory      any               // the session's memory when the run began; nil: none
	// ReplanCount counts replan rows. redefined is the sequence number of the replan
	// row since which a node of that name does something else.
	ReplanCount int
	redefined   map[string]int64
}
