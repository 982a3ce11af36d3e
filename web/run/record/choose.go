package record

import (
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// This file is on which step the page of a run opens: the answer.

// choose is the step that was requested, else the one that the run's state makes the
// answer.
func (b *Record) choose() *Step {
	if s := b.Query("step"); s != "" {
		if seq, err := strconv.ParseInt(s, 10, 64); err == nil && seq > 0 && seq <= int64(len(b.Detail.Journal)) {
			if st := b.StepAt(seq, ""); st != nil {
				return st
			}
		}
		for _, st := range b.Steps {
			if st.Node == s || st.Visit > 1 && kit.StepName(st.Node, st.Visit) == s {
				return st
			}
		}
	}
	if id := b.Query("node"); id != "" {
		if _, ok := b.Program.Index[id]; ok {
			for _, st := range slices.Backward(b.Steps) {
				if st.Node == id {
					return st
				}
			}
			b.Node = id
			return nil
		}
	}
	if e := b.Detail.Run.Error; b.Detail.Run.Status == domain.RunFailed && e != nil { // not one whose failure was handled
		var worst *Step
		for _, st := range b.Steps {
			if st.Node == e.Node && st.Status == domain.NodeFailed && (worst == nil || st.Visit > worst.Visit) {
				worst = st
			}
		}
		if worst != nil {
			return worst
		}
		if _, ok := b.Program.Index[e.Node]; ok && b.LastOf(e.Node) == nil { // it failed before it started
			b.Node = e.Node
			return nil
		}
	}
	for _, is := range b.answers() {
		if i := slices.IndexFunc(b.Steps, is); i >= 0 {
			return b.Steps[i]
		}
	}
	for _, st := range slices.Backward(b.Steps) { // what it ended with, not what it went past
		if st.Status != domain.NodeSkipped {
			return st
		}
	}
	if n := len(b.Steps); n > 0 {
		return b.Steps[n-1]
	}
	return nil
}

// answers are what is looked for among the steps of a run in its state, what answers
// most first. A failure that the plan handled is none while the run continues.
func (b *Record) answers() []func(*Step) bool {
	in := func(status domain.NodeStatus) func(*Step) bool {
		return func(st *Step) bool { return st.Status == status }
	}
	out := []func(*Step) bool{in(NodeLost), in(domain.NodeInDoubt)}
	reason := b.Detail.Run.WaitReason
	waits := func(st *Step) bool { return reason != "" && st.WaitsFor() == reason }
	switch b.Detail.Run.Status {
	case domain.RunCompleted:
		return append(out, in(domain.NodeWaiting), in(domain.NodeRunning))
	case domain.RunRunning:
		return append(out, in(domain.NodeRunning), in(domain.NodeWaiting), in(domain.NodeFailed))
	case domain.RunWaiting:
		return append(out, waits, in(domain.NodeWaiting), in(domain.NodeFailed), in(domain.NodeRunning))
	}
	return append(out, in(domain.NodeFailed), in(domain.NodeWaiting), in(domain.NodeRunning))
}
