package runstate

import (
	"encoding/json"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// FollowReplan replays a replan row. next is the state of the new version, with the kept rows and
// the waiting steps that it also has. dropped are the open steps that it does not continue. before
// is the journal up to the row.
func (s *State) FollowReplan(f Facts, e *domain.Entry, before []domain.Entry) (next *State, dropped []*Step, err error) {
	var r Replan
	if err := json.Unmarshal(e.Decision, &r); err != nil {
		return nil, nil, CorruptRow(e, "%v", err)
	}
	if e.Seq != s.Seq+1 {
		return nil, nil, CorruptRow(e, "follows row %d", s.Seq)
	}
	if f.Program == nil {
		return nil, nil, CorruptRow(e, "the version that it leads to is not known here")
	}
	prog, err := f.Program(r.Hash)
	if err != nil {
		return nil, nil, fmt.Errorf("row %d follows version %d: %w", e.Seq, r.Version, err)
	}
	next = New(prog, f)
	next.SetMemory(s.Memory)
	for _, k := range r.Kept {
		i := int(k.Seq) - 1
		if i < 0 || i >= len(before) || before[i].Seq != k.Seq {
			return nil, nil, CorruptRow(e, "keeps row %d, which does not exist", k.Seq)
		}
		row := before[i]
		if k.Decision != nil {
			row.Decision = k.Decision
		}
		next.Seq = row.Seq - 1
		if err := next.Apply(&row); err != nil {
			return nil, nil, err
		}
	}
	next.Seq, next.SettledCount, next.Plans = e.Seq, s.SettledCount, s.Plans
	next.Paused, next.Cancelled, next.Quarantined, next.Held = s.Paused || len(s.Only) > 0, s.Cancelled, s.Quarantined, s.Held
	next.ReplanCount, next.redefined = s.ReplanCount+1, map[string]int64{}
	for id, seq := range s.redefined {
		next.redefined[id] = seq
	}
	next.resumedAt = s.resumedAt
	next.begunBefore = map[string]bool{}
	for node := range s.Begun() {
		next.begunBefore[node] = true
	}
	return next, next.inherit(s, e.Seq), nil
}

// inherit copies the waiting steps whose node did not change. A node with the same name and another
// definition begins again, with another idempotency key.
func (s *State) inherit(old *State, seq int64) (dropped []*Step) {
	for _, w := range old.OpenSteps() {
		from := &old.Program.Nodes[w.Node]
		i, ok := s.Program.Index[from.ID]
		if !ok {
			dropped = append(dropped, w)
			continue
		}
		if s.Program.Fingerprint(i) != old.Program.Fingerprint(w.Node) {
			s.redefined[from.ID] = seq
			dropped = append(dropped, w)
			continue
		}
		to := s.EnsureOpen(StepKey{walk.VisitKey{Node: i, Visit: w.Visit}, w.Item})
		if to == nil {
			dropped = append(dropped, w)
			continue
		}
		key, order := to.StepKey, to.Order
		phase := w.Phase
		*to = *w
		to.StepKey, to.Order, to.Phase = key, order, PhaseReady
		s.move(to, phase)
	}
	at := func(k StepKey) (StepKey, bool) {
		i, ok := s.Program.Index[old.Program.Nodes[k.Node].ID]
		return StepKey{walk.VisitKey{Node: i, Visit: k.Visit}, k.Item}, ok
	}
	for k, d := range old.Doubts {
		if to, ok := at(k); ok {
			if d.Resolution != nil && d.Resolution.Given != "" && s.Program.Fingerprint(to.Node) != old.Program.Fingerprint(k.Node) {
				continue // the result belongs to another definition
			}
			if s.Doubts == nil {
				s.Doubts = map[StepKey]*Doubt{}
			}
			s.Doubts[to] = d
		}
	}
	return dropped
}
