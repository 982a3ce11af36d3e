// Package wire defines the values in the histories of workflows: inputs, results, signals, and updates. Old histories
// contain them, so a field keeps its meaning.
package wire

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// Names in histories.
const (
	RunWorkflow     = "kairosd.run"
	PrepareActivity = "kairosd.prepare"
	AttemptActivity = "kairosd.attempt"
	ReportActivity  = "kairosd.report"
	ChildActivity   = "kairosd.child"   // reads a child run from kairosd's record
	RowsActivity    = "kairosd.rows"    // reads rows from kairosd's record
	ReplanActivity  = "kairosd.replan"  // requests a new version of the plan from kairosd
	ReserveActivity = "kairosd.reserve" // reserves the usage of a model call from the shared budgets

	RecallActivity = "kairosd.recall" // reads the memory of a session

	SubstepSignal = "substep" // the row of a sub-step that has ended
	CancelSignal  = "cancel"  // from the parent run
	HoldSignal    = "hold"    // maintenance begins or ends
	AdmitSignal   = "admit"   // the concurrency key of a child run is free

	IntentUpdate  = "intent" // a non-idempotent sub-step is about to start
	ActUpdate     = "act"
	ResolveUpdate = "resolve"
	DecideUpdate  = "decide"
	EventUpdate   = "event"   // a signal of a plan ends a wait
	ReserveUpdate = "reserve" // a model call asks whether it may start
	FreedUpdate   = "freed"   // a shared budget has room

	RecallUpdate = "recall" // a step reads the memory of its session

	RunQuery       = "run"
	JournalQuery   = "journal"
	ApprovalsQuery = "approvals"
	ReservedQuery  = "reserved" // the answer to a reserve update that was pending
)

// RunsOf returns the task queue of runs that follow a version of the driver. Workers with an older driver do not work on it.
func RunsOf(queue string, driver int) string {
	if driver <= 1 {
		return queue
	}
	return fmt.Sprintf("%s@%d", queue, driver)
}

// QueueOf returns the task queue of a queue that a plan names. Without a name, it is that of runs.
func QueueOf(runs, name string) string {
	if name == "" {
		return runs
	}
	return runs + "." + name
}

// BudgetsOf returns the task queue on which kairosd receives questions about shared budgets. They may wait for long, and must not
// delay reports.
func BudgetsOf(control string) string { return control + "-budgets" }

// Input starts the workflow of a run.
type Input struct {
	// Driver is the version of the driver that the run follows.
	Driver int
	Run    domain.Run
	// Versions are the versions of the run and of its sub-plans, with their sources, by hash.
	Versions map[string]domain.Version
	// Plans names the versions of all sub-plans that the run or its descendants may start, by the name in the plan.
	Plans map[string]string
	// Journal holds the rows so far: those of a new run, or all rows if the run continues. If they are large, it is empty, and
	// Rows is their number: the workflow reads them from kairosd's record.
	Journal []domain.Entry
	Rows    int64
	Options runstate.Options
	// Key is the key from which idempotency keys are derived.
	Key []byte
	// Signer is the key that verifies the signatures of requests. If it is empty, requests are not signed. Nonces are those of
	// the accepted requests.
	Signer []byte
	Nonces []string
	// Depth is the number of ancestors of the run.
	Depth int
	// LostAfter is the time after which a worker that does not respond counts as lost. Zero means the default.
	LostAfter time.Duration
	// Report sends each checkpoint to kairosd.
	Report bool
	// Control is the task queue of kairosd. If it is empty, kairosd uses the queue of the run.
	Control string
	// Known reports that kairosd has the run and its rows so far.
	Known bool
	// Reopen reports that the workflow was started for a request to a run that may have ended. It waits for the request.
	Reopen bool
	// Resumed reports that the run was resumed after its end, so that child runs may exist in kairosd's record.
	Resumed bool
	// Callback is the callback address of the run, if its plan uses it.
	Callback string
	// Keys are the concurrency keys of the ancestors of the run. A child run with one of them does not wait for it.
	Keys []string
	// Admitted reports that the run does not wait for its concurrency key. A child run with a key waits for AdmitSignal otherwise.
	Admitted bool
	// Next is the last version that kairosd has stored for the run, which may wait for a person, or nil.
	Next *Next `json:",omitempty"`
	// Hold is the maintenance in which the run is.
	Hold Hold
	// Begin is an action that is carried out first, or nil.
	Begin *Action
	// Budgets are the scopes of all shared budgets, from kairosd's last answer.
	Budgets budget.Scopes
	// Elapsed is the reading of the monotonic clock at the start, if the run continues.
	Elapsed time.Duration
}

// Waits reports whether the run waits for its concurrency key before it begins.
func (in *Input) Waits() bool {
	return in.Report && !in.Admitted && in.Run.Parent != nil && in.Run.Concurrency != nil && in.Run.Concurrency.Key != ""
}

// Position is the number of rows of the run so far.
func (in *Input) Position() int64 { return max(in.Rows, int64(len(in.Journal))) }

// Rows are rows of a run, from First to at most Last.
type Rows struct {
	Run         string
	First, Last int64
}

// Next is a version that a run may follow. The other fields are those of the run when it follows the version.
type Next struct {
	Hash     string
	Agents   []string `json:",omitempty"` // of its steps
	Callback string   `json:",omitempty"` // address of the run, if the version uses it
}

// Replan is a run that waits for a plan at a position.
type Replan struct {
	Run string
	Seq int64
}

// Replanned is the answer; see the engine's type with the same name.
type Replanned struct {
	Answer  *runstate.PlannerAnswer `json:",omitempty"`
	Usage   domain.Usage
	Target  runstate.ReplanTarget
	Unsafe  []string `json:",omitempty"`
	Failure string   `json:",omitempty"`
	Again   bool     `json:",omitempty"`
	// Versions are those of Target and of the sub-plans that it names. Plans names the sub-plans.
	Versions map[string]domain.Version `json:",omitempty"`
	Plans    map[string]string         `json:",omitempty"`
	Next     *Next                     `json:",omitempty"`
}

// Proposal is a step that is about to run.
type Proposal struct {
	Version        domain.Version
	Profile        string `json:",omitempty"`
	Node           string
	Run, PlanKey   string
	Dry, Offline   bool
	Answers        map[int]runstate.ConsentAnswer
	Input, Secrets domain.RawJSON // Secrets is the input with marks in place of secrets, if it has any
	Mark           string
	Callback       string `json:",omitempty"`
}

// Prepared is the answer to a proposal; see the engine's type with the same name.
type Prepared struct {
	Effect  string                   `json:",omitempty"`
	Stepped bool                     `json:",omitempty"`
	Refused *domain.Failure          `json:",omitempty"`
	Consent *runstate.ConsentRequest `json:",omitempty"`
	Skip    bool                     `json:",omitempty"`
}

// Attempt is an attempt that a worker executes.
type Attempt struct {
	Workflow, WorkflowRun string
	Version               domain.Version
	Profile               string `json:",omitempty"`
	Node                  string
	Key                   runstate.StepKey
	Number                int
	Effect                string
	Stepped               bool
	IdempotencyKey        string
	StartedAt             time.Time
	Timeout               time.Duration `json:",omitempty"`

	Run, PlanKey, Owner, Session string
	Priority                     int            `json:",omitempty"`
	Input, Last, Request         domain.RawJSON `json:",omitempty"`
	// Mark begins the marks of secrets in Input, or is empty.
	Mark     string                         `json:",omitempty"`
	Callback string                         `json:",omitempty"` // address of the run
	Plain    domain.RawJSON                 `json:",omitempty"` // Input with references to secrets in place of marks
	Previous []Previous                     `json:",omitempty"`
	Substeps []domain.Entry                 `json:",omitempty"`
	Answers  map[int]runstate.ConsentAnswer `json:",omitempty"`
	Limits   domain.Limits
	Spent    runstate.Spent
	// Budgets are those that can cover calls of the run.
	Budgets budget.Scopes
}

// Previous is a completed step for context messages.
type Previous struct {
	Number            int
	Node, Task, Agent string
	Output            domain.RawJSON
}

// Ending is the end of an attempt. Its events have no Attempt, and no Output beside Raw.
type Ending struct {
	Done       *runstate.AttemptDone       `json:",omitempty"`
	Abandoned  *runstate.AttemptAbandoned  `json:",omitempty"`
	NotStarted *runstate.AttemptNotStarted `json:",omitempty"`
}

// Substep is the row of a sub-step.
type Substep struct {
	Key    runstate.StepKey
	Number int
	Row    runstate.SubstepRecorded // without Attempt
	// Unreported means that the provider of a model call did not report its usage.
	Unreported bool `json:",omitempty"`
	// Lost is set in place of a row if a call ended without one.
	Lost *Lost `json:",omitempty"`
}

// Lost is a call that ended without a row.
type Lost struct {
	Substep int
	Spent   bool // it may have used something
}

// Reserve asks whether a model call of an attempt may start. ID identifies the question, so that it may be repeated.
type Reserve struct {
	ID     string
	Key    runstate.StepKey
	Number int
	Ask    runledger.Ask
}

// Action is an action of an operator.
type Action struct {
	Actor   domain.Actor
	Request domain.ActionRequest
	// Reset and Options describe what the resume of an ended run reopens.
	Reset   *walk.Reset             `json:",omitempty"`
	Options *runstate.ResumeOptions `json:",omitempty"`
}

// Resolution settles an attempt in doubt. Node and Receipt are those of the request, whose JSON lacks them.
type Resolution struct {
	Actor   domain.Actor
	Node    string
	Request domain.ResolveRequest
	Receipt *domain.Receipt `json:",omitempty"`
}

// Decision answers an approval request. Approval and Receipt are those of the request, whose JSON lacks them.
type Decision struct {
	Actor    domain.Actor
	Approval string
	Request  domain.DecideRequest
	Receipt  *domain.Receipt `json:",omitempty"`
}

// Event is a signal that ends the wait of a step.
type Event struct {
	Wait   string
	Signal domain.Signal
}

// Recall asks for the memory of a session. The workflow sets Owner and Session.
type Recall struct {
	Owner, Session, Text string
	Limit                int // of each part
}

// Recalled is the answer to Recall. Busy means that too many steps wait for theirs, and that the worker asks again.
type Recalled struct {
	Memory []domain.Memory
	Busy   bool `json:",omitempty"`
}

// Hold begins or ends maintenance for a run. An older one than the last one has no effect.
type Hold struct {
	On bool
	At time.Time
}

// Freed reports that a shared budget has room, or does not exist any more.
type Freed struct{ Budget string }

// Child is a child run in kairosd's record. Its fields are empty if it has none.
type Child struct {
	Run     domain.Run
	Journal []domain.Entry
	Rows    int64 // as in Input
	// Resume resumes the run if it has failed or was cancelled. Refused is the reason why it cannot be resumed.
	Resume  *Action `json:",omitempty"`
	Refused string  `json:",omitempty"`
	// Callback is the callback address of the run, or empty. It is set for a run that the record lacks, too.
	Callback string `json:",omitempty"`
}

// Report contains checkpoints in order. The last fence plus its entries is the position of the run.
type Report struct {
	// Created is the run as it was created, in its first report.
	Created *domain.Run
	Journal []domain.Entry  // rows of Created
	Version *domain.Version // of Created, if it is a block
	// Versions are those that the run follows since its last report.
	Versions    []domain.Version `json:",omitempty"`
	Checkpoints []domain.Checkpoint
	// Run is the run after the last checkpoint, without its input and output.
	Run domain.Run
	// Budgets is the digest of the budgets in kairosd's last answer.
	Budgets string
}

// Reported is the answer to a report.
type Reported struct {
	// Budgets are the scopes of all shared budgets, if they have changed.
	Budgets *budget.Scopes
}
