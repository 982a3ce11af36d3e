package run

import (
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// This file is on which step the page of a run opens: the answer.

// choose is the step that was requested, else the one that the run's state makes the
// answer.
func (b *record) choose() *step {
	if s := b.Query("step"); s != "" {
		if seq, err := strconv.ParseInt(s, 10, 64); err == nil && seq > 0 && seq <= int64(len(b.d.Journal)) {
			if st := b.stepAt(seq, ""); st != nil {
				return st
			}
		}
		for _, st := range b.steps {
			if st.node == s || st.visit > 1 && kit.StepName(st.node, st.visit) == s {
				return st
			}
		}
	}
	if id := b.Query("node"); id != "" {
		if _, ok := b.program.Index[id]; ok {
			for _, st := range slices.Backward(b.steps) {
				if st.node == id {
					return st
				}
			}
			b.node = id
			return nil
		}
	}
	if e := b.d.Run.Error; b.d.Run.Status == domain.RunFailed && e != nil { // not one whose failure was handled
		var worst *step
		for _, st := range b.steps {
			if st.node == e.Node && st.status == domain.NodeFailed && (worst == nil || st.visit > worst.visit) {
				worst = st
			}
		}
		if worst != nil {
			return worst
		}
		if _, ok := b.program.Index[e.Node]; ok && b.lastOf(e.Node) == nil { // it failed before it started
			b.node = e.Node
			return nil
		}
	}
	for _, is := range b.answers() {
		if i := slices.IndexFunc(b.steps, is); i >= 0 {
			return b.steps[i]
		}
	}
	for _, st := range slices.Backward(b.steps) { // what it ended with, not what it went past
		if st.status != domain.NodeSkipped {
			return st
		}
	}
	if n := len(b.steps); n > 0 {
		return b.steps[n-1]
	}
	return nil
}

// answers are what is looked for among the steps of a run in its state, what answers
// most first. A failure that the plan handled is none while the run continues.
func (b *record) answers() []func(*step) bool {
	in := func(status domain.NodeStatus) func(*step) bool {
		return func(st *step) bool { return st.status == status }
	}
	out := []func(*step) bool{in(nodeLost), in(domain.NodeInDoubt)}
	reason := b.d.Run.WaitReason
	waits := func(st *step) bool { return reason != "" && st.waitsFor() == reason }
	switch b.d.Run.Status {
	case domain.RunCompleted:
		return append(out, in(domain.NodeWaiting), in(domain.NodeRunning))
	case domain.RunRunning:
		return append(out, in(domain.NodeRunning), in(domain.NodeWaiting), in(domain.NodeFailed))
	case domain.RunWaiting:
		return append(out, waits, in(domain.NodeWaiting), in(domain.NodeFailed), in(domain.NodeRunning))
	}
	return append(out, in(domain.NodeFailed), in(domain.NodeWaiting), in(domain.NodeRunning))
}
