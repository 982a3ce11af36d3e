package record

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// stepState is a state of steps. Key is also its value in the timeline's filter.
type stepState struct {
	Key    string
	Status kit.Status
}

// StepStates are all states, in the order of the timeline's counts.
var StepStates = []stepState{
	{"ok", StepStatus(domain.NodeCompleted)},
	{"reused", kit.Word("ok", "i-reuse", locale.Mark("reused"), true)},
	{"failed", StepStatus(domain.NodeFailed)},
	{"interrupted", StepStatus(domain.NodeInDoubt)},
	{"lost", lostStatus()},
	{"needs", kit.Word("need", "i-need", locale.Mark("action required"), false)},
	{"retrying", kit.Word("need", "i-retry", locale.Mark("retrying"), false)},
	{"running", StepStatus(domain.NodeRunning)},
	{"waiting", StepStatus(domain.NodeWaiting)},
	{"cancelled", StepStatus(domain.NodeCancelled)},
	{"skipped", StepStatus(domain.NodeSkipped)},
	{Todo, StepStatus(domain.NodePending)},
	{Passed, kit.Word("idle", "i-skip", locale.Mark("not taken"), true)},
}

// Keys of the states of steps that did not start: the run may still reach the step, or went past
// it.
const (
	Todo   = "todo"
	Passed = "passed"
)

// State returns the key of the step's state.
func (st *Step) State() string {
	switch st.Status {
	case domain.NodeCompleted:
		if st.Reused {
			return "reused"
		}
		return "ok"
	case domain.NodeFailed:
		return "failed"
	case domain.NodeInDoubt:
		return "interrupted"
	case NodeLost:
		return "lost"
	case domain.NodeRunning:
		return "running"
	case domain.NodeWaiting:
		switch reason := st.WaitsFor(); {
		case reason == domain.WaitRetry:
			return "retrying"
		case reason.NeedsPerson():
			return "needs"
		}
		return "waiting"
	case domain.NodeCancelled:
		return "cancelled"
	case domain.NodeSkipped:
		return "skipped"
	}
	return Todo
}

// Child returns the ID of the last child run of the step, or "".
func (st *Step) Child() string {
	for _, e := range slices.Backward(st.waits) {
		if domain.WaitReason(e.Reason) == domain.WaitChild {
			return e.Ref
		}
	}
	return ""
}

// WaitsFor returns what a step waits for, or an empty string if it does not wait.
func (st *Step) WaitsFor() domain.WaitReason {
	if st.Status != domain.NodeWaiting || len(st.waits) == 0 {
		return ""
	}
	return domain.WaitReason(st.waits[len(st.waits)-1].Reason)
}

// Shown returns the status of a step for display.
func (st *Step) Shown() kit.Status {
	return WordOf(st.State())
}

func WordOf(key string) kit.Status {
	return StepStates[slices.IndexFunc(StepStates, func(l stepState) bool { return l.Key == key })].Status
}

// LoudStates are the keys of states, most important first.
var LoudStates = []string{
	"lost",
	"interrupted",
	"failed",
	"needs",
	"retrying",
	"waiting",
	"running",
	"ok",
	"reused",
	"cancelled",
	"skipped",
}

// Is reports whether a step passes the timeline's filter. An unknown filter passes all steps.
func (st *Step) Is(only string) bool {
	known := slices.ContainsFunc(StepStates, func(l stepState) bool { return l.Key == only })
	return !known || st.State() == only
}

// Loudest are the statuses of steps, most important first.
var Loudest = []domain.NodeStatus{
	NodeLost,
	domain.NodeInDoubt,
	domain.NodeFailed,
	domain.NodeWaiting,
	domain.NodeRunning,
	domain.NodeCompleted,
	domain.NodeCancelled,
	domain.NodeSkipped,
}
