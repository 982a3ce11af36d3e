package runstate

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// Clone returns a copy of the state. Applying rows to it does not change s. Recorded values are
// shared, because they never change.
func (s *State) Clone() *State {
	c := *s
	c.Walk = s.Walk.Clone()
	c.Open = make(map[StepKey]*Step, len(s.Open))
	for k, w := range s.Open {
		own := *w
		own.Substeps, own.CallsInFlight, own.Answers = maps.Clone(w.Substeps), maps.Clone(w.CallsInFlight), maps.Clone(w.Answers)
		c.Open[k] = &own
	}
	c.Foreach = make(map[walk.VisitKey]*Foreach, len(s.Foreach))
	for k, f := range s.Foreach {
		own := *f
		c.Foreach[k] = &own
	}
	c.Doubts = maps.Clone(s.Doubts)
	for k, d := range c.Doubts {
		own := *d
		c.Doubts[k] = &own
	}
	c.Carried = maps.Clone(s.Carried)
	for k, p := range c.Carried {
		p.Substeps, p.Answers = maps.Clone(p.Substeps), maps.Clone(p.Answers)
		c.Carried[k] = p
	}
	c.NewlyReady, c.Settled = slices.Clone(s.NewlyReady), slices.Clone(s.Settled)
	c.Completed, c.Agents = maps.Clone(s.Completed), maps.Clone(s.Agents)
	c.Only, c.overrides, c.redefined = maps.Clone(s.Only), maps.Clone(s.overrides), maps.Clone(s.redefined)
	c.begun, c.begunBefore = slices.Clone(s.begun), maps.Clone(s.begunBefore)
	return &c
}
