package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Command is an action outside the machine.
type Command struct {
	// After is the number of the checkpoint that must be durable before the command, or 0. It is
	// not a sequence number, because a checkpoint may have no row.
	After int64
	Task  Task
}

// Task is the action of a command. A task with a result leads to an event.
type Task interface{ task() }

// StopCause is the reason why an attempt must end.
type StopCause int

const (
	StopNone StopCause = iota
	StopShutdown
	StopCancelled
	StopBudget
)

type (
	// TakeSlot requests the slot that a run needs to work. YieldSlot returns it.
	TakeSlot  struct{}
	YieldSlot struct{}
	// PrepareAttempt finds the handler of a step, resolves its input, and determines its
	// side-effect class. It leads to AttemptReady, AttemptRefused, ConsentNeeded, or DryStep.
	// Without a free slot, the step stays queued.
	PrepareAttempt struct{ StepKey }
	// StartAttempt calls the handler. It leads to AttemptDone, AttemptAbandoned, or
	// AttemptNotStarted.
	StartAttempt struct{ Attempt *Attempt }
	// CancelAttempt cancels the context of the handler.
	CancelAttempt struct {
		Attempt *Attempt
		Cause   StopCause
	}
	// FreeCalls starts calls that waited for a higher limit.
	FreeCalls struct{}

	// FindChild finds the version that a plan step runs. It leads to ChildReady or AttemptRefused.
	FindChild struct{ StepKey }
	// StartChild creates a child run if it does not exist. With Resume, it resumes a failed child
	// run of an earlier opening of the step.
	StartChild struct {
		ID, Hash string
		Input    domain.RawJSON
		Parent   domain.ParentRef
		Resume   bool
	}
	// CancelChild cancels a child run. Overdue reports that the timeout of its step has passed.
	CancelChild struct {
		ID      string
		Overdue bool
	}
	// CancelOtherChildren cancels the child runs that have not ended, except those in Needed.
	CancelOtherChildren struct{ Needed []string }

	// FindRoom checks whether the shared budget that the run waits for has room again. It leads to BudgetFreed.
	FindRoom struct{}

	// FindSignal looks for a stored signal that the step waits for. It leads to SignalArrived.
	FindSignal struct{ Name, Key string }

	// AskReplan requests a new version. It leads to ReplanReady.
	AskReplan struct{ StepKey }
	// VersionChanged announces that the run follows another version.
	VersionChanged struct{}

	// ArmTimer sets the time at which the run is due. Zero means never. It leads to TimerDue.
	ArmTimer struct{ At time.Time }
	// ArmDeadline sets the time until DeadlinePassed. 0 disarms it.
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
func (FindRoom) task()            {}
func (FindSignal) task()          {}
func (AskReplan) task()           {}
func (VersionChanged) task()      {}
func (ArmTimer) task()            {}
func (ArmDeadline) task()         {}
func (StatusChanged) task()       {}
