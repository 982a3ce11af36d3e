package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Command is something to do outside the machine.
type Command struct {
	// After is the number of the checkpoint that must be durable before; 0: none. Not every
	// checkpoint has a row, so a sequence number would not do.
	After int64
	Task  Task
}

// Task is what a command does. Tasks that report something lead to an event.
type Task interface{ task() }

// StopCause is why an attempt is to end.
type StopCause int

const (
	StopNone StopCause = iota
	StopShutdown
	StopCancelled
	StopBudget
)

type (
	// TakeSlot asks for the slot without which the run may not work, YieldSlot gives it
	// back.
	TakeSlot  struct{}
	YieldSlot struct{}
	// PrepareAttempt finds the handler of a step, resolves its input, and asks for its
	// side-effect class; it leads to AttemptReady, AttemptRefused, ConsentNeeded, or
	// DryStep. Without a slot for it nothing happens: the step stays queued.
	PrepareAttempt struct{ StepKey }
	// StartAttempt calls the handler; it leads to AttemptDone, AttemptAbandoned, or
	// AttemptNotStarted.
	StartAttempt struct{ Attempt *Attempt }
	// CancelAttempt ends the context of the handler.
	CancelAttempt struct {
		Attempt *Attempt
		Cause   StopCause
	}
	// FreeCalls lets calls start that wait for a higher limit.
	FreeCalls struct{}

	// FindChild finds the version that a plan step runs; it leads to ChildReady or
	// AttemptRefused.
	FindChild struct{ StepKey }
	// StartChild creates a child run if it does not exist, and with Resume resumes one that
	// an earlier opening of the step left failed.
	StartChild struct {
		ID, Hash string
		Input    domain.RawJSON
		Parent   domain.ParentRef
		Resume   bool
	}
	// CancelChild cancels a child run.
	CancelChild struct{ ID string }
	// CancelOtherChildren cancels the child runs that are not over, except those in Needed.
	CancelOtherChildren struct{ Needed []string }

	// AskReplan asks for a new version; it leads to ReplanReady.
	AskReplan struct{ StepKey }
	// VersionChanged announces that the run follows another version.
	VersionChanged struct{}

	// ArmTimer makes the run due at a time; the zero time: never. It leads to TimerDue.
	ArmTimer struct{ At time.Time }
	// ArmDeadline leads to DeadlinePassed after a time; 0: not any more.
	ArmDeadline struct{ In time.Duration }

	// StatusChanged announces the run's new status.
	StatusChanged struct{ Status domain.RunStatus }
)

func (TakeSlot) task()            {}
func (YieldSlot) task()           {}
func (PrepareAttempt) task()      {}
func (StartAttempt) task()        {}
func (CancelAttempt) task()       {}
func (FreeCalls) task()           {}
func (FindChild) task()           {}
func (StartChild) task()          {}
func (CancelChild) task()         {}
func (CancelOtherChildren) task() {}
func (AskReplan) task()           {}
func (VersionChanged) task()      {}
func (ArmTimer) task()            {}
func (ArmDeadline) task()         {}
func (StatusChanged) task()       {}
