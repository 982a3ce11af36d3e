package domain

// RunStatus is the status of a run.
type RunStatus string

const (
	// RunQueued means that the run waits for a slot, for start_at, or for its concurrency key.
	RunQueued RunStatus = "queued"
	// RunRunning means that a node is ready or running.
	RunRunning RunStatus = "running"
	// RunWaiting means that nothing runs. WaitReason gives the reason.
	RunWaiting RunStatus = "waiting"
	// RunCompleted, RunFailed, and RunCancelled are final. A resume can reopen the last two.
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// RunStatuses lists all run statuses in the order in which a run has them.
var RunStatuses = []RunStatus{RunQueued, RunRunning, RunWaiting, RunCompleted, RunFailed, RunCancelled}

// Final reports whether the run has ended.
func (s RunStatus) Final() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}

// RunChanged returns the error of an action on a run that has changed since. expected and found are
// revisions: numbers of the last journal row.
func RunChanged(expected, found int64) *Error {
	return Errorf(CodeStale, "the run has changed: expected revision %d, found %d", expected, found).Suggest("reload it and try again")
}

// RunIs returns a sentence with the status of a run. The sentences are complete, because languages
// inflect the status.
func RunIs(s RunStatus, reason WaitReason) Message {
	switch s {
	case RunQueued:
		return Messagef("the run is queued")
	case RunRunning:
		return Messagef("the run is running")
	case RunCompleted:
		return Messagef("the run is completed")
	case RunFailed:
		return Messagef("the run is failed")
	case RunCancelled:
		return Messagef("the run is cancelled")
	}
	switch reason {
	case WaitQuarantined:
		return Messagef("the run is waiting (quarantined)")
	case WaitHeld:
		return Messagef("the run is waiting (held)")
	case WaitPaused:
		return Messagef("the run is waiting (paused)")
	case WaitInDoubt:
		return Messagef("the run is waiting (in_doubt)")
	case WaitBudget:
		return Messagef("the run is waiting (budget)")
	case WaitApproval:
		return Messagef("the run is waiting (approval)")
	case WaitReplan:
		return Messagef("the run is waiting (replan)")
	case WaitChild:
		return Messagef("the run is waiting (child)")
	case WaitSignal:
		return Messagef("the run is waiting (signal)")
	case WaitRetry:
		return Messagef("the run is waiting (retry)")
	case WaitTimer:
		return Messagef("the run is waiting (timer)")
	}
	return Messagef("the run is waiting")
}

// WaitReason is the reason why a run waits. If there are several, the first of WaitReasons applies.
type WaitReason string

const (
	WaitQuarantined WaitReason = "quarantined"
	WaitHeld        WaitReason = "held"
	WaitPaused      WaitReason = "paused"
	WaitInDoubt     WaitReason = "in_doubt"
	WaitBudget      WaitReason = "budget"
	WaitApproval    WaitReason = "approval"
	WaitReplan      WaitReason = "replan"
	WaitChild       WaitReason = "child"
	WaitSignal      WaitReason = "signal"
	WaitRetry       WaitReason = "retry"
	WaitTimer       WaitReason = "timer"
)

// WaitReasons lists all reasons by precedence.
var WaitReasons = []WaitReason{WaitQuarantined, WaitHeld, WaitPaused, WaitInDoubt, WaitBudget,
	WaitApproval, WaitReplan, WaitChild, WaitSignal, WaitRetry, WaitTimer}

// NeedsPerson reports whether only a person can end the wait.
func (r WaitReason) NeedsPerson() bool {
	switch r {
	case WaitQuarantined, WaitHeld, WaitPaused, WaitInDoubt, WaitBudget, WaitApproval:
		return true
	}
	return false
}

// NodeStatus is the status of an attempt, item, or visit of a node.
type NodeStatus string

const (
	NodePending   NodeStatus = "pending"
	NodeRunning   NodeStatus = "running"
	NodeWaiting   NodeStatus = "waiting"
	NodeInDoubt   NodeStatus = "in_doubt"
	NodeCompleted NodeStatus = "completed"
	NodeFailed    NodeStatus = "failed"
	NodeSkipped   NodeStatus = "skipped"
	NodeCancelled NodeStatus = "cancelled"
)

// NodeStatuses lists all statuses.
var NodeStatuses = []NodeStatus{NodePending, NodeRunning, NodeWaiting, NodeInDoubt, NodeCompleted, NodeFailed, NodeSkipped, NodeCancelled}

// runMoves lists the valid status changes of a run. A trigger of the database has the same table.
var runMoves = map[RunStatus][]RunStatus{
	RunQueued:    {RunRunning, RunWaiting, RunCancelled, RunFailed, RunCompleted},
	RunRunning:   {RunQueued, RunWaiting, RunCompleted, RunFailed, RunCancelled},
	RunWaiting:   {RunQueued, RunRunning, RunCompleted, RunFailed, RunCancelled},
	RunFailed:    {RunQueued, RunRunning, RunWaiting},
	RunCancelled: {RunQueued, RunRunning, RunWaiting},
	RunCompleted: {},
}

// CanMove reports whether a run may change from one status to another. Keeping the status is always
// valid.
func CanMove(from, to RunStatus) bool {
	if from == to {
		return true
	}
	for _, s := range runMoves[from] {
		if s == to {
			return true
		}
	}
	return false
}

// PathLetter returns the letter of a settled visit in [Run.Path].
func PathLetter(s NodeStatus) byte {
	switch s {
	case NodeCompleted:
		return 'c'
	case NodeFailed:
		return 'f'
	case NodeSkipped:
		return 's'
	case NodeCancelled:
		return 'x'
	case NodeInDoubt:
		return 'd'
	}
	return '?'
}
