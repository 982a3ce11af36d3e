package runstate

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// queue decides which step of a run starts next.
type queue struct {
	// list holds steps and foreach visits in the order in which they may start. Some of them may be
	// stale.
	list []StepKey
	// attempts are active. Their steps do not start again.
	attempts map[StepKey]*Attempt
}

// requeue replaces the queue with everything that may start.
func (d *queue) requeue(s *State) {
	d.list = nil
	for _, w := range s.OpenSteps() {
		if w.Phase == PhaseReady || w.Phase == PhaseWaiting && w.Reason == domain.WaitRetry {
			d.push(w.StepKey)
		}
	}
	for _, v := range s.OpenForeach() {
		d.push(StepKey{VisitKey: v, Item: NoItem})
	}
	s.NewlyReady = nil
}

// collect queues everything that became ready.
func (d *queue) collect(s *State) {
	if len(s.NewlyReady) > 0 {
		d.list = append(d.list, s.NewlyReady...)
		s.NewlyReady = s.NewlyReady[:0]
	}
}

func (d *queue) push(k StepKey) { d.list = append(d.list, k) }

// pushFront makes a step start before all others.
func (d *queue) pushFront(k StepKey) {
	d.list = append([]StepKey{k}, d.list...)
}

func (d *queue) contains(k StepKey) bool { return slices.Contains(d.list, k) }

// pop removes a step at or near the head of the queue.
func (d *queue) pop(k StepKey) {
	if len(d.list) > 0 && d.list[0] == k {
		d.list = d.list[1:]
		return
	}
	if i := slices.Index(d.list, k); i >= 0 {
		d.list = slices.Delete(d.list, i, i+1)
	}
}

// peek returns the first step that may start, or nil. It drops stale steps.
func (d *queue) peek(s *State, now time.Time) *StepKey {
	d.collect(s)
	keep := 0
	for i := 0; i < len(d.list); i++ {
		k := d.list[i]
		ok, stale := startable(s, k, d.attempts[k] != nil, now)
		if ok {
			if keep != i {
				d.list = slices.Delete(d.list, keep, i)
			}
			return &d.list[keep]
		}
		if !stale {
			d.list[keep] = k
			keep++
		}
	}
	d.list = d.list[:keep]
	return nil
}

// startable reports whether a step may start now. stale reports that it can never start from this
// entry of the queue.
func startable(s *State, k StepKey, underWay bool, now time.Time) (ok, stale bool) {
	node := &s.Program.Nodes[k.Node]
	if k.Item == NoItem && node.Foreach != nil {
		f := s.Foreach[k.VisitKey]
		if f == nil {
			return false, true
		}
		begun := f.Total >= 0 && f.BegunAll // no item is left to begin
		return s.MayBegin(k.VisitKey) && (f.Total < 0 || f.OpenItems-f.Waiting < node.MaxParallel && !begun), begun
	}
	w := s.Open[k]
	if w == nil || underWay {
		return false, w == nil
	}
	switch w.Phase {
	case PhaseReady:
		if len(s.Only) == 0 || w.HasSettlingResolution() {
			return true, false
		}
		// A resume of one step settles resolved steps first, because the run pauses when that step
		// has settled.
		return s.MayBegin(k.VisitKey) && !s.AwaitsSettlement(), false
	case PhaseWaiting:
		if w.Reason != domain.WaitRetry {
			return false, true
		}
		if w.Due.After(now) {
			return false, true // its timer queues it again
		}
		f := s.Foreach[k.VisitKey]
		return f == nil || f.OpenItems-f.Waiting < node.MaxParallel, false
	}
	return false, true
}
