package domain

// RunStatus is where a run stands.
type RunStatus string

const (
	// RunQueued: durable, waits for a slot, for start_at or for its concurrency key.
	RunQueued RunStatus = "queued"
	// RunRunning: some node is ready or running.
	RunRunning RunStatus = "running"
	// RunWaiting: nothing runs; WaitReason states for what it waits.
	RunWaiting RunStatus = "waiting"
	// RunCompleted, RunFailed, RunCancelled are final; resume leads out of the
	// last two.
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// RunStatuses lists all run statuses in the order of a run's life.
var RunStatuses = []RunStatus{RunQueued, RunRunning, RunWaiting, RunCompleted, RunFailed, RunCancelled}

// Final reports whether nothing happens any more without an operator.
func (s RunStatus) Final() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}

// RunChanged refuses an action on a run that changed since it was seen: expected and
// found are revisions, the number of the last row of its journal.
func RunChanged(expected, found int64) *Error {
	return Errorf(CodeStale, "the run has changed: expected revision %d, found %d", expected, found).Suggest("reload it and try again")
}

// RunIs is the sentence that returns where a run stands. The sentences are whole, because
// languages inflect the status.
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
	case WaitRetry:
		return Messagef("the run is waiting (retry)")
	case WaitTimer:
		return Messagef("the run is waiting (timer)")
	}
	return Messagef("the run is waiting")
}

// WaitReason states for what a waiting run waits; when there are several, the
// first of WaitReasons is the run's.
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
	WaitRetry       WaitReason = "retry"
	WaitTimer       WaitReason = "timer"
)

// WaitReasons lists all reasons in order of precedence.
var WaitReasons = []WaitReason{WaitQuarantined, WaitHeld, WaitPaused, WaitInDoubt, WaitBudget,
	WaitApproval, WaitReplan, WaitChild, WaitRetry, WaitTimer}

// NeedsPerson reports whether only a person can end the wait.
func (r WaitReason) NeedsPerson() bool {
	switch r {
	case WaitQuarantined, WaitHeld, WaitPaused, WaitInDoubt, WaitBudget, WaitApproval:
		return true
	}
	return false
}

// NodeStatus is where one attempt, item or visit of a node stands.
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

// NodeStatuses lists all statuses of a step.
var NodeStatuses = []NodeStatus{NodePending, NodeRunning, NodeWaiting, NodeInDoubt, NodeCompleted, NodeFailed, NodeSkipped, NodeCancelled}

// runMoves is the table of legal moves of a run. The database holds the same
// table as a trigger.
var runMoves = map[RunStatus][]RunStatus{
	RunQueued:    {RunRunning, RunWaiting, RunCancelled, RunFailed, RunCompleted},
	RunRunning:   {RunQueued, RunWaiting, RunCompleted, RunFailed, RunCancelled},
	RunWaiting:   {RunQueued, RunRunning, RunCompleted, RunFailed, RunCancelled},
	RunFailed:    {RunQueued, RunRunning, RunWaiting},
	RunCancelled: {RunQueued, RunRunning, RunWaiting},
	RunCompleted: {},
}

// CanMove reports whether a run may go from one status to another. Staying is
// always legal.
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

// PathLetter is the letter of a settled visit in [Run.Path].
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
