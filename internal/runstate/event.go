package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Event is something that happened to a run. An event of an attempt that is no longer active
// is ignored.
type Event interface {
	// handle decides what follows. If it returns an error, it has changed nothing.
	handle(m *Machine) error
}

// Events of the runner itself.
type (
	// Recover follows the last row of a journal: what was in flight is settled by its
	// side-effect class.
	Recover struct {
		// Stepped are the nodes in flight that do everything with an effect in sub-steps.
		Stepped map[int]bool
		// Announced is set if a preview said what Recover does.
		Announced bool
	}
	// Advance starts at most one step.
	Advance struct{}
	// Complete ends the checkpoint being put together.
	Complete struct{}
	// PutDown reports that the daemon stops.
	PutDown struct{}
	// TimerDue reports that a wait may have ended.
	TimerDue struct{}
	// DeadlinePassed reports that max_duration may have passed.
	DeadlinePassed struct{}
	// CheckChildren looks for children that ended, or were never created, while no one
	// listened.
	CheckChildren struct{}
	// Silence reports that a node gives no sign of life since a time, or (zero) that all do.
	Silence struct {
		Since time.Time
		Node  string
	}
)

// Attempt is what an attempt began with. The runner may embed it; the machine never
// changes it.
type Attempt struct {
	StepKey
	Spec           *walk.ProgramNode // the node, with the limits of this visit
	Number         int
	Effect         walk.Effect
	Stepped        bool // everything with an effect is a sub-step
	Input          domain.RawJSON
	IdempotencyKey string
	StartedAt      time.Time
}

// Events of attempts.
type (
	// AttemptReady reports that an attempt can begin: it holds a slot.
	AttemptReady struct {
		Attempt *Attempt
		Uses    []domain.Use
	}
	// AttemptRefused reports that a step cannot run.
	AttemptRefused struct {
		StepKey
		Failure *walk.Failure
	}
	// ConsentNeeded reports that a person must allow the node's own call.
	ConsentNeeded struct {
		StepKey
		Request ConsentRequest
	}
	// DryStep completes a step that a dry run does not do.
	DryStep struct {
		StepKey
		Input any
	}

	// AttemptEnding is how an attempt ended, whatever resulted.
	AttemptEnding struct {
		Attempt *Attempt
		Cause   StopCause
		Agent   string // who did it
		Log     domain.RawJSON
		Uses    []domain.Use
		Usage   domain.Usage
		// Unreported is what calls without a row may have used.
		Unreported domain.Usage
		// Limit states which limit ended the attempt, LimitCode what ends the wait for it.
		Limit     domain.Message
		LimitCode string
	}
	// AttemptDone reports that the handler returned: with an output, or with a failure.
	AttemptDone struct {
		AttemptEnding
		Output  any
		Raw     domain.RawJSON // of Output
		Failure *domain.Failure
		// Unstorable is set if the output cannot be stored.
		Unstorable *domain.Failure
		// Asked is the call that a person must allow before the step continues.
		Asked *ConsentRequest
	}
	// AttemptAbandoned reports that the handler ignores the end of its context.
	AttemptAbandoned struct{ AttemptEnding }
	// AttemptNotStarted reports that the handler was never called.
	AttemptNotStarted struct{ AttemptEnding }
	// AttemptLate brings what the handler of an abandoned attempt returned.
	AttemptLate struct {
		Attempt *Attempt
		Output  domain.RawJSON
		Failure *domain.Failure
	}
	// SubstepRecorded brings the row of a sub-step, with what it is stored with.
	SubstepRecorded struct {
		Attempt  *Attempt
		Row      domain.Entry
		Uses     []domain.Use
		Messages []domain.AgentMessage
		Handoff  *domain.Handoff
	}
)

// Events of operators.
type (
	// OperatorAction asks for an action on the run.
	OperatorAction struct {
		Actor   domain.Actor
		Request domain.ActionRequest
		// Reset and Options are what resuming a run that is over opens again.
		Reset   *walk.Reset
		Options *ResumeOptions
		// Unattended is set if no process may be executing the run.
		Unattended bool
	}
	// StepResolved settles an attempt in doubt.
	StepResolved struct {
		Actor   domain.Actor
		Request domain.ResolveRequest
	}
	// ApprovalDecided is a person's answer to an approval request.
	ApprovalDecided struct {
		Actor   domain.Actor
		Request domain.DecideRequest
		Answer  domain.Answer // of the request's; none when the person asks the agent first
		// Approval is the request. It is completed with the answer.
		Approval domain.Approval
		// Version is the version to follow, if that is what was approved.
		Version *NewVersion
	}
)

// Events of child runs.
type (
	// ChildReady states which version a plan step runs.
	ChildReady struct {
		StepKey
		Hash string
	}
	// ChildEnded reports that a child run ended, or cannot be created.
	ChildEnded struct {
		ID    string
		Child domain.Run
		Err   error // it cannot be created or read
		// Refused is why a child that ended cannot be resumed; nil: no one tried.
		Refused error
		// CancelledHere is set if the child was cancelled in the name of this run.
		CancelledHere bool
	}
)

// Events of replanning.
type (
	// ReplanAnswered brings the planner's answer, to be made durable.
	ReplanAnswered struct {
		StepKey
		Answer PlannerAnswer
		Usage  domain.Usage
	}
	// ReplanReady brings a stored version, or states why there is none.
	ReplanReady struct {
		StepKey
		Target  ReplanTarget
		Unsafe  []string // new steps that cannot be repeated: a person must accept
		Usage   domain.Usage
		Failure string      // why there is none
		Again   bool        // nothing resulted, and the planner is to be called again
		Version *NewVersion // to follow, if no one has to accept it
	}
	// NewVersion is a version that the run may follow, with what it keeps of the journal.
	NewVersion struct {
		Program *Compiled
		Facts   Facts
		Journal []domain.Entry // whole, as far as it was applied
		Kept    []KeptRow
		Failure string // why it cannot be followed
	}
)
