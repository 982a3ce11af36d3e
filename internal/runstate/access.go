package runstate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// IdempotencyName returns the name of a node for its idempotency key. A node that a replan redefined, or that a
// resume forgot, has another name.
func (s *State) IdempotencyName(node string) string {
	if seq := s.redefined[node]; seq > 0 {
		return node + "@" + strconv.FormatInt(seq, 10)
	}
	return node
}

// Replanning returns the step for which the run waits for a new version of its plan, or for the
// acceptance of one. It returns nil if there is none.
func (s *State) Replanning() *Step {
	for _, w := range s.OpenSteps() {
		if w.Phase == PhaseWaiting && (w.Reason == domain.WaitReplan || w.ReplanTarget != nil) {
			return w
		}
	}
	return nil
}

// MayBegin reports whether a visit may begin. If a resume is limited to some visits, only these
// may.
func (s *State) MayBegin(v walk.VisitKey) bool { return len(s.Only) == 0 || s.Only[v] }

// HasSettlingResolution reports whether a person's resolution settles the step without running it.
func (w *Step) HasSettlingResolution() bool {
	return w.Resolution != nil && w.Resolution.Action != ActionRetry
}

// AwaitsSettlement reports whether a ready step has such a resolution.
func (s *State) AwaitsSettlement() bool {
	for _, w := range s.Open {
		if w.Phase == PhaseReady && w.HasSettlingResolution() {
			return true
		}
	}
	return false
}

// WithOverrides returns the node with the limits that a resume set for this visit.
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
		own.MaxAttempts, own.Rules = o.attempts, slices.Clone(own.Rules)
		for i := range own.Rules {
			own.Rules[i].MaxAttempts = 0
		}
	}
	return &own
}

// GivenReason returns the reason why a step has a result before it runs, or "".
func (s *State) GivenReason(k StepKey) string {
	if w := s.Open[k]; w != nil {
		if w.Resolution != nil {
			return w.Resolution.Given
		}
		return ""
	}
	if resolution := s.resolutionOf(k); resolution != nil {
		return resolution.Given
	}
	return ""
}

// resolutionOf returns the resolution of a step before it begins: its own, or that of its whole visit.
// It returns nil if there is none.
func (s *State) resolutionOf(k StepKey) *Resolution {
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

// GivenItems returns the remaining items of an open foreach visit that have a result, by reason.
// runs reports whether other items run.
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

// SetMemory sets the memory of the session, which ${memory} reads.
func (s *State) SetMemory(v any) {
	s.Memory = v
	s.Walk.SetMemory(v)
}

// move changes the phase of a step, and updates the number of waiting items.
func (s *State) move(w *Step, p Phase) { moveFor(s, w, p, w.Reason) }

// moveFor is move with the reason of a wait.
func moveFor(s *State, w *Step, p Phase, reason domain.WaitReason) {
	was := w.idle()
	w.Phase, w.Reason = p, reason
	if f := s.Foreach[w.VisitKey]; f != nil && w.Item != NoItem && was != w.idle() {
		if was {
			f.Waiting--
		} else {
			f.Waiting++
		}
	}
}

// idle reports whether a step holds no slot. A step whose child run has not ended holds one, so that
// max_parallel limits the number of child runs.
func (w *Step) idle() bool { return w.Waiting() && w.Reason != domain.WaitChild }

// InFlight reports whether an attempt is in flight according to the journal. An attempt of a pure
// node has no intent row, but its non-idempotent sub-steps do.
func (w *Step) InFlight() bool {
	return w.Phase == PhaseRunning || w.Phase == PhaseReady && len(w.CallsInFlight) > 0
}

// OpenCalls returns the calls without a recorded outcome, in order.
func (w *Step) OpenCalls() []domain.OpenCall {
	var list []domain.OpenCall
	for _, n := range slices.Sorted(maps.Keys(w.CallsInFlight)) {
		list = append(list, w.CallsInFlight[n])
	}
	return list
}

// Waiting reports whether the step waits or is in doubt. Such a step holds no slot.
func (w *Step) Waiting() bool { return w.Phase == PhaseWaiting || w.Phase == PhaseInDoubt }

// OpenSteps returns the open steps in the order in which they became ready.
func (s *State) OpenSteps() []*Step {
	list := make([]*Step, 0, len(s.Open))
	for _, w := range s.Open {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *Step) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// OpenForeach returns the open foreach visits in the order in which they became ready.
func (s *State) OpenForeach() []walk.VisitKey {
	list := slices.Collect(maps.Keys(s.Foreach))
	slices.SortFunc(list, func(a, b walk.VisitKey) int { return cmp.Compare(s.Foreach[a].order, s.Foreach[b].order) })
	return list
}

// Begun returns how often each node began to run, including attempts that no longer count. A node
// that was cancelled or skipped before its first attempt did not begin.
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

// noteBegun records that a row began a node.
func noteBegun(s *State, node int, e *domain.Entry) {
	if e.Status == domain.NodeSkipped || e.Status == domain.NodeCancelled && e.Attempt == 0 {
		return
	}
	switch e.Kind {
	case domain.EntryIntent, domain.EntryResult, domain.EntryWait:
		s.begun[node] = true
	}
}

// extendHistory adds numbers to the digest of settled visits (FNV-1a over words).
func extendHistory(s *State, words ...uint64) {
	if s.History == 0 {
		s.History = 14695981039346656037
	}
	for _, w := range words {
		s.History = (s.History ^ w) * 1099511628211
	}
}
