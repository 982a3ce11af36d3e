package record

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// stepState is a word of the vocabulary of steps, by the key under which a
// timeline shows only such.
type stepState struct {
	Key    string
	Status kit.Status
}

// StepStates are all of them, in the order in which a timeline counts them.
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

// The keys of nodes with no step: those that the run may still come to, and those
// that it went past.
const (
	Todo   = "todo"
	Passed = "passed"
)

// State is the key of a step's word.
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

// WaitsFor is for what a step waits; empty: for nothing.
func (st *Step) WaitsFor() domain.WaitReason {
	if st.Status != domain.NodeWaiting || len(st.waits) == 0 {
		return ""
	}
	return domain.WaitReason(st.waits[len(st.waits)-1].Reason)
}

// Shown is a step's state in words.
func (st *Step) Shown() kit.Status {
	return WordOf(st.State())
}

func WordOf(key string) kit.Status {
	return StepStates[slices.IndexFunc(StepStates, func(l stepState) bool { return l.Key == key })].Status
}

// LoudStates are the keys in the order in which they must be seen.
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

// Is reports whether a step passes a timeline's filter.
func (st *Step) Is(only string) bool {
	known := slices.ContainsFunc(StepStates, func(l stepState) bool { return l.Key == only })
	return !known || st.State() == only
}

// Loudest are the states of a step, what must be seen first.
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
