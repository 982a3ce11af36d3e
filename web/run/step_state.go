package run

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// stepState is a word of the vocabulary of steps, by the key under which a
// timeline shows only such.
type stepState struct {
	key    string
	status kit.Status
}

// stepStates are all of them, in the order in which a timeline counts them.
var stepStates = []stepState{
	{"ok", stepStatus(domain.NodeCompleted)},
	{"reused", kit.Word("ok", "i-reuse", locale.Mark("reused"), true)},
	{"failed", stepStatus(domain.NodeFailed)},
	{"interrupted", stepStatus(domain.NodeInDoubt)},
	{"lost", lostStatus()},
	{"needs", kit.Word("need", "i-need", locale.Mark("action required"), false)},
	{"retrying", kit.Word("need", "i-retry", locale.Mark("retrying"), false)},
	{"running", stepStatus(domain.NodeRunning)},
	{"waiting", stepStatus(domain.NodeWaiting)},
	{"cancelled", stepStatus(domain.NodeCancelled)},
	{"skipped", stepStatus(domain.NodeSkipped)},
	{todo, stepStatus(domain.NodePending)},
	{passed, kit.Word("idle", "i-skip", locale.Mark("not taken"), true)},
}

// The keys of nodes with no step: those that the run may still come to, and those
// that it went past.
const (
	todo   = "todo"
	passed = "passed"
)

// state is the key of a step's word.
func (st *step) state() string {
	switch st.status {
	case domain.NodeCompleted:
		if st.reused {
			return "reused"
		}
		return "ok"
	case domain.NodeFailed:
		return "failed"
	case domain.NodeInDoubt:
		return "interrupted"
	case nodeLost:
		return "lost"
	case domain.NodeRunning:
		return "running"
	case domain.NodeWaiting:
		switch reason := st.waitsFor(); {
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
	return todo
}

// waitsFor is for what a step waits; empty: for nothing.
func (st *step) waitsFor() domain.WaitReason {
	if st.status != domain.NodeWaiting || len(st.waits) == 0 {
		return ""
	}
	return domain.WaitReason(st.waits[len(st.waits)-1].Reason)
}

// shown is a step's state in words.
func (st *step) shown() kit.Status {
	return wordOf(st.state())
}

func wordOf(key string) kit.Status {
	return stepStates[slices.IndexFunc(stepStates, func(l stepState) bool { return l.key == key })].status
}

// loudStates are the keys in the order in which they must be seen.
var loudStates = []string{
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

// is reports whether a step passes a timeline's filter.
func (st *step) is(only string) bool {
	known := slices.ContainsFunc(stepStates, func(l stepState) bool { return l.key == only })
	return !known || st.state() == only
}
