package engine

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// dispatcher decides which step of a run starts next. It belongs to the runner's
// goroutine.
type dispatcher struct {
	// queue holds steps and foreach visits in the order in which they may start. Some may
	// have become stale.
	queue []runstate.StepKey
	// underWay reports whether an attempt of a step runs.
	underWay func(runstate.StepKey) bool
	now      func() time.Time
	// starting is set while a step is being started or run inline.
	starting bool
}

// requeue replaces the queue by everything of the state that may start.
func (d *dispatcher) requeue(s *runstate.State) {
	d.queue = nil
	for _, w := range s.OpenSteps() {
		if w.Phase == runstate.PhaseReady || w.Phase == runstate.PhaseWaiting && w.Reason == domain.WaitRetry {
			d.push(w.StepKey)
		}
	}
	for _, v := range s.OpenForeach() {
		d.push(runstate.StepKey{VisitKey: v, Item: runstate.NoItem})
	}
	s.NewlyReady = nil
}

// collect queues what became ready.
func (d *dispatcher) collect(s *runstate.State) {
	if len(s.NewlyReady) > 0 {
		d.queue = append(d.queue, s.NewlyReady...)
		s.NewlyReady = s.NewlyReady[:0]
	}
}

func (d *dispatcher) push(k runstate.StepKey) { d.queue = append(d.queue, k) }

// pushFront lets a step start before all others.
func (d *dispatcher) pushFront(k runstate.StepKey) {
	d.queue = append([]runstate.StepKey{k}, d.queue...)
}

func (d *dispatcher) contains(k runstate.StepKey) bool { return slices.Contains(d.queue, k) }

// pop takes a step off the queue; it stands at its head or near it.
func (d *dispatcher) pop(k runstate.StepKey) {
	if len(d.queue) > 0 && d.queue[0] == k {
		d.queue = d.queue[1:]
		return
	}
	if i := slices.Index(d.queue, k); i >= 0 {
		d.queue = slices.Delete(d.queue, i, i+1)
	}
}

// peek finds the first step that may start, dropping stale ones; nil: none may.
func (d *dispatcher) peek(s *runstate.State) *runstate.StepKey {
	d.collect(s)
	keep := 0
	for i := 0; i < len(d.queue); i++ {
		k := d.queue[i]
		ok, stale := startable(s, k, d.underWay(k), d.now)
		if ok {
			if keep != i {
				d.queue = slices.Delete(d.queue, keep, i)
			}
			return &d.queue[keep]
		}
		if !stale {
			d.queue[keep] = k
			keep++
		}
	}
	d.queue = d.queue[:keep]
	return nil
}

// startable reports whether a step may start now, and whether it never will from where it
// stands in the queue.
func startable(s *runstate.State, k runstate.StepKey, underWay bool, now func() time.Time) (ok, stale bool) {
	node := &s.Program.Nodes[k.Node]
	if k.Item == runstate.NoItem && node.Foreach != nil {
		f := s.Foreach[k.VisitKey]
		if f == nil {
			return false, true
		}
		begun := f.Total >= 0 && f.BegunAll // no item is left to begin
		return s.MayBegin(k.VisitKey) && (f.Total < 0 || f.OpenItems-f.Parked < node.MaxParallel && !begun), begun
	}
	w := s.Open[k]
	if w == nil || underWay {
		return false, w == nil
	}
	switch w.Phase {
	case runstate.PhaseReady:
		if len(s.Only) == 0 || w.HasSettlingResolution() {
			return true, false
		}
		// What a person said settles before the one step begins that a resume was
		// asked for: the run pauses when that step has settled.
		return s.MayBegin(k.VisitKey) && !s.AwaitsSettlement(), false
	case runstate.PhaseWaiting:
		if w.Reason != domain.WaitRetry {
			return false, true
		}
		if w.Due.After(now()) {
			return false, true // its timer queues it again
		}
		f := s.Foreach[k.VisitKey]
		return f == nil || f.OpenItems-f.Parked < node.MaxParallel, false
	}
	return false, true
}
