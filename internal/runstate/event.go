package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Event is something that happened to a run. An event of an attempt that is no longer under
// way is ignored.
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
	// PutDown says that the daemon stops.
	PutDown struct{}
	// TimerDue says that a wait may have ended.
	TimerDue struct{}
	// DeadlinePassed says that max_duration may have passed.
	DeadlinePassed struct{}
	// CheckChildren looks for children that ended, or were never created, while nobody
	// listened.
	CheckChildren struct{}
	// Silence says that a node gives no sign of life since a time, or (zero) that all do.
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
	// AttemptReady says that an attempt can begin: it holds a slot.
	AttemptReady struct {
		Attempt *Attempt
		Uses    []domain.Use
	}
	// AttemptRefused says that a step cannot run.
	AttemptRefused struct {
		StepKey
		Failure *walk.Failure
	}
	// ConsentNeeded says that a person must allow the node's own call.
	ConsentNeeded struct {
		StepKey
		Request ConsentRequest
	}
	// DryStep completes a step that a dry run does not do.
	DryStep struct {
		StepKey
		Input any
	}

	// AttemptEnding is how an attempt ended, whatever came of it.
	AttemptEnding struct {
		Attempt *Attempt
		Cause   StopCause
		Agent   string // who did it
		Log     domain.RawJSON
		Uses    []domain.Use
		Usage   domain.Usage
		// Unreported is what calls without a row may have used.
		Unreported domain.Usage
		// Limit says which limit ended the attempt, LimitCode what ends the wait for it.
		Limit     domain.Message
		LimitCode string
	}
	// AttemptDone says that the handler returned: with an output, or with a failure.
	AttemptDone struct {
		AttemptEnding
		Output  any
		Raw     domain.RawJSON // of Output
		Failure *domain.Failure
		// Unstorable is set if the output cannot be stored.
		Unstorable *domain.Failure
		// Asked is the call that a person must allow before the step goes on.
		Asked *ConsentRequest
	}
	// AttemptAbandoned says that the handler ignores the end of its context.
	AttemptAbandoned struct{ AttemptEnding }
	// AttemptNotStarted says that the handler was never called.
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
		Answer  domain.Answer // of the request's; none when the agent is asked back
		// Approval is the request. It is completed with the answer.
		Approval domain.Approval
		// Version is the version to follow, if that is what was approved.
		Version *NewVersion
	}
)

// Events of child runs.
type (
	// ChildReady says which version a plan step runs.
	ChildReady struct {
		StepKey
		Hash string
	}
	// ChildEnded says that a child run ended, or cannot be created.
	ChildEnded struct {
		ID    string
		Child domain.Run
		Err   error // it cannot be created or read
		// Refused is why a child that ended cannot be resumed; nil: nobody tried.
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
	// ReplanReady brings a stored version, or says why there is none.
	ReplanReady struct {
		StepKey
		Target  ReplanTarget
		Unsafe  []string // new steps that cannot be repeated: a person is asked
		Usage   domain.Usage
		Failure string      // why there is none
		Again   bool        // nothing came of it, and it is to be asked again
		Version *NewVersion // to follow, if nobody is asked
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
