package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Event is something that happened to a run. The machine ignores events of attempts that are no
// longer active.
type Event interface {
	// handle decides what follows. If it returns an error, nothing has changed.
	handle(m *Machine) error
}

// Events of the runner.
type (
	// Recover follows the last row of a journal. It settles what was in flight according to its
	// side-effect class.
	Recover struct {
		// Stepped holds the nodes in flight whose effects all happen in sub-steps.
		Stepped map[int]bool
		// Announced reports that a preview showed what Recover does.
		Announced bool
	}
	// Advance starts at most one step.
	Advance struct{}
	// Complete ends the current checkpoint.
	Complete struct{}
	// Shutdown reports that the daemon is stopping.
	Shutdown struct{}
	// TimerDue reports that a wait may have ended.
	TimerDue struct{}
	// DeadlinePassed reports that max_duration may have passed.
	DeadlinePassed struct{}
	// CheckChildren looks for child runs that ended or were never created while the run was not
	// active.
	CheckChildren struct{}
	// Silence reports that a node shows no activity since a time. Zero means that all nodes show
	// activity.
	Silence struct {
		Since time.Time
		Node  string
	}
)

// Attempt describes the start of an attempt. The runner may embed it. The machine never changes it.
type Attempt struct {
	StepKey
	Spec           *walk.ProgramNode // the node, with the limits of this visit
	Number         int
	Effect         walk.Effect
	Stepped        bool // all effects happen in sub-steps
	Input          domain.RawJSON
	IdempotencyKey string
	StartedAt      time.Time
}

// Events of attempts.
type (
	// AttemptReady reports that an attempt can begin and holds a slot.
	AttemptReady struct {
		Attempt *Attempt
		Uses    []domain.Use
	}
	// AttemptRefused reports that a step cannot run.
	AttemptRefused struct {
		StepKey
		Failure *walk.Failure
	}
	// ConsentNeeded reports that the call of the node needs the approval of a person.
	ConsentNeeded struct {
		StepKey
		Request ConsentRequest
	}
	// DryStep completes a step that a dry run skips.
	DryStep struct {
		StepKey
		Input any
	}

	// AttemptEnding describes the end of an attempt.
	AttemptEnding struct {
		Attempt *Attempt
		Cause   StopCause
		Agent   string // the agent that ran it
		Log     domain.RawJSON
		Uses    []domain.Use
		Usage   domain.Usage
		// Unreported is the estimated usage of calls without a row, and Provider that of the last of them.
		Unreported domain.Usage
		Provider   string
		// Limit is the limit that ended the attempt. LimitCode is the signal that ends the wait for
		// it.
		Limit     domain.Message
		LimitCode string
		// LimitBudget is the shared budget without room, or nil.
		LimitBudget *BudgetRef
		// Charges end the reservations of calls without a row.
		Charges []domain.BudgetCharge
	}
	// AttemptDone reports that the handler returned an output or a failure.
	AttemptDone struct {
		AttemptEnding
		Output  any
		Raw     domain.RawJSON // of Output
		Failure *domain.Failure
		// Unstorable is set if the output cannot be stored.
		Unstorable *domain.Failure
		// Asked is the call that needs the approval of a person before the step continues.
		Asked *ConsentRequest
	}
	// AttemptAbandoned reports that the handler did not return after its context ended.
	AttemptAbandoned struct{ AttemptEnding }
	// AttemptNotStarted reports that the handler was not called.
	AttemptNotStarted struct{ AttemptEnding }
	// AttemptLost reports that the program that executed the attempt was lost before the attempt ended. The attempt
	// may have had its effect.
	AttemptLost struct {
		Attempt *Attempt
		Charges []domain.BudgetCharge // as in AttemptEnding
	}
	// AttemptLate contains the result of an abandoned attempt.
	AttemptLate struct {
		Attempt *Attempt
		Output  domain.RawJSON
		Failure *domain.Failure
	}
	// SubstepRecorded contains the row of a sub-step, and the data that is stored with it.
	SubstepRecorded struct {
		Attempt  *Attempt
		Row      domain.Entry
		Uses     []domain.Use
		Messages []domain.AgentMessage
		Handoff  *domain.Handoff
		Charges  []domain.BudgetCharge // end the reservations of the call
	}
	// CallOver ends the reservations of a call without a row.
	CallOver struct{ Charge domain.BudgetCharge }
)

// Events of operators.
type (
	// OperatorAction is a request for an action on the run.
	OperatorAction struct {
		Actor   domain.Actor
		Request domain.ActionRequest
		// Reset and Options describe what the resume of an ended run reopens.
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
	// ApprovalDecided contains a person's answer to an approval request.
	ApprovalDecided struct {
		Actor   domain.Actor
		Request domain.DecideRequest
		Answer  domain.Answer // an answer of the request; zero if the person requested changes
		// Approval is the request. The machine adds the answer to it.
		Approval domain.Approval
		// Version is the version to follow, if a version was approved.
		Version *NewVersion
	}
)

// Events of child runs.
type (
	// ChildReady contains the version that a plan step runs.
	ChildReady struct {
		StepKey
		Hash string
	}
	// ChildEnded reports that a child run ended or cannot be created.
	ChildEnded struct {
		ID    string
		Child domain.Run
		Err   error // it cannot be created or read
		// Refused is the reason why an ended child cannot be resumed, or nil.
		Refused error
		// CancelledHere is set if this run cancelled the child. InDoubt is then set if a step of the child is
		// in doubt.
		CancelledHere, InDoubt bool
	}
)

// BudgetFreed reports that a shared budget has room, or does not exist any more.
type BudgetFreed struct{ Budget string } // ID

// SignalArrived is the signal that ends the wait of a step.
type SignalArrived struct {
	Wait   string // ID of the wait
	Signal domain.Signal
}

// Events of replanning.
type (
	// ReplanAnswered contains the planner's answer, which must become durable.
	ReplanAnswered struct {
		StepKey
		Answer PlannerAnswer
		Usage  domain.Usage
	}
	// ReplanReady contains a stored version, or the reason why there is none.
	ReplanReady struct {
		StepKey
		Target  ReplanTarget
		Unsafe  []string // new non-idempotent steps, which a person must accept
		Usage   domain.Usage
		Failure string      // the reason why there is no version
		Again   bool        // there is no result, and the planner must be called again
		Version *NewVersion // version to follow, if it needs no acceptance
	}
	// NewVersion is a version that the run may follow, with the rows that it keeps.
	NewVersion struct {
		Program *Compiled
		Facts   Facts
		Journal []domain.Entry // all rows that were applied
		Kept    []KeptRow
		Failure string // the reason why it cannot be followed
	}
)
