package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// NoItem is the item of a visit without foreach.
const NoItem = -1

// StepKey names one piece of work: a visit, or one item of a foreach visit.
type StepKey struct {
	planner.VisitKey
	Item int
}

// phase is where a piece of work stands, by the journal alone.
type phase uint8

const (
	PhaseReady   phase = iota // nothing recorded is under way
	phaseRunning              // an intent row without its result
	PhaseWaiting              // a wait row without its answer
	PhaseInDoubt              // in doubt: a person must say what happened
)

// Step is an open visit or item.
type Step struct {
	StepKey
	Order          int // position in the order of becoming ready
	Phase          phase
	Attempt        int // number of the last attempt that began
	FailedAttempts int // failed attempts that count against the retry budget
	Retries        int // error retries ever; names child runs (ruling 13)
	Crashes        int // unclean deaths while it was open, since the last release

	Reason     domain.WaitReason // while waiting
	Since      time.Time
	Due        time.Time
	Ref        string // approval or child run
	RequestSeq int64  // the row of the wait
	// Binding is the digest of what the request of an approval step is about.
	Binding   string
	Input     domain.RawJSON
	Effect    planner.Effect // of the attempt in flight or in doubt
	StartedAt time.Time      // when that attempt began

	Usage   domain.Usage    // of everything that is recorded of it
	Failure *domain.Failure // of the last attempt
	// Substeps are the recorded responses by number, which the next attempt
	// inherits; see forgetSubsteps.
	Substeps map[int]domain.Entry
	// CallsInFlight are the non-idempotent sub-steps without a recorded outcome, by
	// number: several may be in flight at once.
	CallsInFlight map[int]domain.OpenCall
	// Consent is the call that a person is asked about, grants are the answers
	// so far, by sub-step; 0 is the node's own call.
	Consent *ConsentRequest
	Answers map[int]ConsentAnswer
	// ReplanTarget is the version that a person is asked to accept.
	ReplanTarget *ReplanTarget
	// ReplanAbandoned is set when no new tail is to be had, just before the row that
	// says so.
	ReplanAbandoned bool
	// Resolution is what a person said of an attempt that was in doubt when the
	// run was cancelled; it takes effect when a resume opens the work again.
	Resolution *Resolution
}

// Resolution is a person's word on an attempt in doubt.
type Resolution struct {
	Action string
	Output domain.RawJSON
	// Given is why it was given before the step began; empty for the word on an
	// attempt in doubt.
	Given string
}

// override replaces limits of a node for one visit; zero fields do not.
type override struct {
	timeout  time.Duration
	attempts int
}

// Doubt is an attempt in doubt of a visit that was cancelled meanwhile
// (ruling 15).
type Doubt struct {
	Attempt    int
	since      time.Time
	Calls      []domain.OpenCall
	Resolution *Resolution
}

// Foreach is an open foreach visit.
type Foreach struct {
	planner.VisitKey
	order     int
	Total     int    // -1 until the list is resolved
	OpenItems int    // items begun and not settled
	BegunAll  bool   // no item is left to begin
	Values    []byte // digest of the values that the approvals of its items are bound to
	// Parked counts those of them that wait: they hold no slot (ruling 7).
	Parked int
}

// Carryover is what work that did not complete leaves for its next opening.
type Carryover struct {
	Attempt, Retries int
	Substeps         map[int]domain.Entry  // that its next attempt takes up
	Answers          map[int]ConsentAnswer // of these sub-steps
}

// Settled is one settled visit.
type Settled struct {
	Node, Visit int
	Status      domain.NodeStatus
}

// completion says when a visit completed, by its row.
type completion struct {
	visit int
	Seq   int64
}

// State is where a run stands: everything that its journal says.
type State struct {
	Program *planner.Program
	Walk    *planner.Walk
	Seq     int64
	// Request is the run's input.
	Request any

	Open    map[StepKey]*Step
	Foreach map[planner.VisitKey]*Foreach
	Doubts  map[StepKey]*Doubt
	Carried map[StepKey]Carryover
	opened  int
	// stopMark is how much had become ready when the run began to stop; 0: it
	// does not.
	stopMark int
	// NewlyReady lists work and foreach visits that became ready since the actor
	// looked last.
	NewlyReady []StepKey

	SettledCount int64
	// Settled lists the visits that settled, in order: all of them if history,
	// else those that nobody has taken note of yet, for a run that goes on must not
	// grow with its past.
	Settled     []Settled
	KeepHistory bool
	// Completed are the last two completed visits of nodes with an agent, the
	// last one first: a reset may take that one back.
	Completed map[int][2]completion
	Agents    map[int]string // who ran a node, if an agent did

	// Only are the visits that a resume was asked for; once they have settled, the
	// run pauses. overrides are what visits get instead of what their nodes say.
	Only      map[planner.VisitKey]bool
	overrides map[planner.VisitKey]override

	Paused      bool
	Cancelled   bool
	Quarantined bool
	Held        bool
	Budget      *BudgetWait // a limit is reached; nil: none is
	CleanStop   bool        // the last row says that the run was put down cleanly
	Plans       map[string]string
	Memory      any // what the run's session said before it began; nil: nothing
	// ReplanCount counts replan rows; redefined says since which of them a node of
	// that name does something else.
	ReplanCount int
	redefined   map[string]int64
}
