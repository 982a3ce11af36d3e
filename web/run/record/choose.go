package record

import (
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// choose returns the step that the page selects: the requested step, or the most relevant one for
// the state of the run. It returns nil if there is none, and sets b.Node if the step did not start.
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
	if e := b.Detail.Run.Error; b.Detail.Run.Status == domain.RunFailed && e != nil { // handled failures do not count
		var worst *Step
		for _, st := range b.Steps {
			if st.Node == e.Node && st.Status == domain.NodeFailed && (worst == nil || st.Visit > worst.Visit) {
				worst = st
			}
		}
		if worst != nil {
			return worst
		}
		if _, ok := b.Program.Index[e.Node]; ok && b.LastOf(e.Node) == nil { // the step failed before its first attempt
			b.Node = e.Node
			return nil
		}
	}
	for _, is := range b.answers() {
		if i := slices.IndexFunc(b.Steps, is); i >= 0 {
			return b.Steps[i]
		}
	}
	for _, st := range slices.Backward(b.Steps) { // the last step that was not skipped
		if st.Status != domain.NodeSkipped {
			return st
		}
	}
	if n := len(b.Steps); n > 0 {
		return b.Steps[n-1]
	}
	return nil
}

// answers returns conditions for the most relevant step, in order of priority. While the run
// continues, active steps have priority over failed ones, whose failures the plan handled.
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
