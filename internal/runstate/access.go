package runstate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// IdempotencyName names a node for its idempotency key. A node that a replan has
// redefined is another node.
func (s *State) IdempotencyName(node string) string {
	if seq := s.redefined[node]; seq > 0 {
		return node + "@" + strconv.FormatInt(seq, 10)
	}
	return node
}

// Replanning is the step for which the run waits for a new version of its plan, or for
// the acceptance of one; nil: none.
func (s *State) Replanning() *Step {
	for _, w := range s.OpenSteps() {
		if w.Phase == PhaseWaiting && (w.Reason == domain.WaitReplan || w.ReplanTarget != nil) {
			return w
		}
	}
	return nil
}

// MayBegin reports whether a visit may begin now: it may, unless a resume names others
// only.
func (s *State) MayBegin(v walk.VisitKey) bool { return len(s.Only) == 0 || s.Only[v] }

// HasSettlingResolution reports whether a person's word settles the step without
// running it.
func (w *Step) HasSettlingResolution() bool {
	return w.Resolution != nil && w.Resolution.Action != ActionRetry
}

// AwaitsSettlement reports whether some ready step has such a resolution.
func (s *State) AwaitsSettlement() bool {
	for _, w := range s.Open {
		if w.Phase == PhaseReady && w.HasSettlingResolution() {
			return true
		}
	}
	return false
}

// WithOverrides is the node with the limits that a resume gave this visit.
func (s *State) WithOverrides(v walk.VisitKey, n *walk.ProgramNode) *walk.ProgramNode {
	o, ok := s.overrides[v]
	if !ok {
		return n
	}
	own := *n
	if o.timeout > 0 {
		own.Timeout = o.timeout
	}
	if o.attempts > 0 {
		own.MaxAttempts = o.attempts
	}
	return &own
}

// GivenReason returns why a step has a result before it runs; empty: it has none.
func (s *State) GivenReason(k StepKey) string {
	if w := s.Open[k]; w != nil {
		if w.Resolution != nil {
			return w.Resolution.Given
		}
		return ""
	}
	if said := s.standing(k); said != nil {
		return said.Given
	}
	return ""
}

// standing is what was said of a step before its turn: of itself, or of every item
// of its visit; nil: nothing.
func (s *State) standing(k StepKey) *Resolution {
	if d := s.Doubts[k]; d != nil {
		return d.Resolution
	}
	if k.Item == NoItem {
		return nil
	}
	if d := s.Doubts[StepKey{k.VisitKey, NoItem}]; d != nil && d.Resolution != nil && d.Resolution.Given != "" {
		return d.Resolution
	}
	return nil
}

// GivenItems sorts what is left of an open foreach visit: the items that have a
// result by why they have it, and whether others run.
func (s *State) GivenItems(k walk.VisitKey) (given map[string][]int, runs bool) {
	n, failure := s.Walk.Items(k)
	if failure != nil {
		return nil, true
	}
	for i := range n {
		if s.Walk.ItemStatus(k, i) != "" {
			continue
		}
		why := s.GivenReason(StepKey{k, i})
		if why == "" {
			runs = true
			continue
		}
		if given == nil {
			given = map[string][]int{}
		}
		given[why] = append(given[why], i)
	}
	return given, runs
}

// Remember sets the session's memory, which ${memory} reads.
func (s *State) Remember(v any) {
	s.Memory = v
	s.Walk.SetMemory(v)
}

// move changes the phase of a step, keeping count of parked items.
func (s *State) move(w *Step, p Phase) {
	was := w.Parked()
	w.Phase = p
	if f := s.Foreach[w.VisitKey]; f != nil && w.Item != NoItem && was != w.Parked() {
		if was {
			f.Parked--
		} else {
			f.Parked++
		}
	}
}

// InFlight reports whether an attempt is active by the journal. An attempt of a pure
// node has no intent row, but its non-idempotent sub-steps have.
func (w *Step) InFlight() bool {
	return w.Phase == PhaseRunning || w.Phase == PhaseReady && len(w.CallsInFlight) > 0
}

// OpenCalls lists the calls whose outcome is not recorded, in their order.
func (w *Step) OpenCalls() []domain.OpenCall {
	var list []domain.OpenCall
	for _, n := range slices.Sorted(maps.Keys(w.CallsInFlight)) {
		list = append(list, w.CallsInFlight[n])
	}
	return list
}

// Parked reports whether the step waits or is in doubt. It holds no slot then.
func (w *Step) Parked() bool { return w.Phase == PhaseWaiting || w.Phase == PhaseInDoubt }

// OpenSteps lists open steps in the order in which it became ready.
func (s *State) OpenSteps() []*Step {
	list := make([]*Step, 0, len(s.Open))
	for _, w := range s.Open {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *Step) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// OpenForeach lists open foreach visits in the order in which they became ready.
func (s *State) OpenForeach() []walk.VisitKey {
	list := slices.Collect(maps.Keys(s.Foreach))
	slices.SortFunc(list, func(a, b walk.VisitKey) int { return cmp.Compare(s.Foreach[a].order, s.Foreach[b].order) })
	return list
}

// Begun counts for each node that began to run, whether or not its attempts count any more.
// What was cancelled or skipped before its first attempt did not begin.
func (s *State) Begun() map[string]int {
	seen := map[string]int{}
	for i, began := range s.begun {
		if began {
			seen[s.Program.Nodes[i].ID] = 1
		}
	}
	for node := range s.begunBefore {
		seen[node] = 1
	}
	return seen
}

// noteBegun notes that a node began to run by a row.
func noteBegun(s *State, node int, e *domain.Entry) {
	if e.Status == domain.NodeSkipped || e.Status == domain.NodeCancelled && e.Attempt == 0 {
		return
	}
	switch e.Kind {
	case domain.EntryIntent, domain.EntryResult, domain.EntryWait:
		s.begun[node] = true
	}
}

// extendHistory adds numbers to the digest of what has settled (FNV-1a over words).
func extendHistory(s *State, words ...uint64) {
	if s.History == 0 {
		s.History = 14695981039346656037
	}
	for _, w := range words {
		s.History = (s.History ^ w) * 1099511628211
	}
}
