package engine

import (
	"context"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// With a Remote, a match is stored before its signal is sent to the run. After a restart, the signal therefore goes to the
// same wait. The report of the run ends the wait, and consumes the signal unless the wait had ended before.

// forwarded is a signal on its way to a wait of a run that a Remote executes.
type forwarded struct {
	signal  domain.Signal
	wait    domain.SignalWait
	settled chan struct{} // closed when the wait has ended
}

// minForwardPause and maxForwardPause limit the pause after a failure to deliver a signal.
const minForwardPause, maxForwardPause = 100 * time.Millisecond, 30 * time.Second

// Compared reports that the record has been compared with the executions of the Remote. Only then are stored signals
// matched with waits, and runs with a concurrency key admitted, because the record of a restored database may lack rows.
func (s Records) Compared() {
	if err := s.e.starts.remote.admitAll(s.e.base); err != nil {
		s.e.log.Error("the unfinished runs cannot be read; the next start starts them", "err", err)
	}
	g := s.e.signals
	g.mu.Lock()
	g.ready = true
	g.forwardMatched(context.WithoutCancel(s.e.base))
	g.mu.Unlock()
	g.open()
	s.e.handlers.budgets.wakeAll(context.WithoutCancel(s.e.base))
}

// forwardMatched sends the signals that were matched before. The caller holds mu.
func (s *signals) forwardMatched(ctx context.Context) {
	waits, err := s.e.store.Matched(ctx)
	if err != nil {
		s.e.log.Error("the stored signals cannot be read", "err", err)
	}
	for _, w := range waits {
		ev, err := s.e.store.Signal(ctx, w.Signal)
		if err != nil {
			s.e.log.Error("a stored signal cannot be read", "signal", w.Name, "id", w.Signal, "err", err)
			continue
		}
		s.forward(ev, w)
	}
}

// matchRemote stores that a signal goes to a wait, and sends it. The caller holds mu.
func (s *signals) matchRemote(ctx context.Context, ev domain.Signal, w domain.SignalWait) <-chan struct{} {
	if err := s.e.store.MatchWait(ctx, w.ID, ev.ID); err != nil {
		if domain.CodeOf(err) != domain.CodeConflict { // otherwise the wait has ended meanwhile
			s.e.log.Error("a signal cannot be matched; the next start tries again", "signal", ev.Name, "run_id", w.Run, "err", err)
		}
		over := make(chan struct{})
		close(over)
		return over
	}
	failpoint.Hit("signal.matched")
	return s.forward(ev, w)
}

// forward sends a matched signal to the run of its wait. The caller holds mu.
func (s *signals) forward(ev domain.Signal, w domain.SignalWait) <-chan struct{} {
	if f := s.forwarded[w.ID]; f != nil {
		return f.settled
	}
	f := &forwarded{ev, w, make(chan struct{})}
	s.forwarded[w.ID], s.claimed[w.ID] = f, f.settled
	if !ev.All {
		s.claimed[ev.ID] = f.settled
	}
	s.e.background(func() { s.deliver(f) })
	return f.settled
}

// deliver sends a signal until the run has taken it, or no longer waits for it.
func (s *signals) deliver(f *forwarded) {
	ctx, cancel := context.WithCancel(s.e.base)
	defer cancel()
	ev := &runstate.SignalArrived{Wait: f.wait.ID, Signal: f.signal}
	for pause := minForwardPause; ; pause = min(2*pause, maxForwardPause) {
		err := s.e.starts.remote.Signal(ctx, f.wait.Run, ev)
		switch domain.CodeOf(err) {
		case "", domain.CodeConflict: // the report of the run ends the wait
			return
		}
		if run, err := s.e.store.Run(ctx, f.wait.Run); domain.CodeOf(err) == domain.CodeNotFound || err == nil && run.Status.Final() {
			if err := s.e.store.DropWait(ctx, f.wait.ID); err == nil {
				s.ended(f.wait.ID)
				return
			}
		}
		s.e.log.Warn("a signal cannot be delivered; kairosd tries again", "signal", f.wait.Name, "run_id", f.wait.Run, "err", err,
			"in", pause)
		select {
		case <-time.After(pause):
		case <-f.settled:
			return
		case <-s.e.handlers.stopping:
			return
		}
	}
}

// ended reports that a report has ended a wait. A signal that did not end it is matched again.
func (s *signals) ended(wait string) {
	s.mu.Lock()
	f := s.forwarded[wait]
	if f != nil {
		delete(s.forwarded, wait)
		delete(s.claimed, wait)
		if !f.signal.All {
			delete(s.claimed, f.signal.ID)
		}
		close(f.settled)
	}
	s.mu.Unlock()
	if f != nil {
		s.match(s.e.base, f.wait.Name, f.wait.Key)
	}
}

// reported matches the signals of waits that a report began or ended.
func (s *signals) reported(list []domain.Checkpoint) {
	for _, c := range list {
		for _, w := range c.Waits {
			s.e.background(func() {
				if w.Ended {
					s.ended(w.ID)
				} else {
					s.match(s.e.base, w.Name, w.Key)
				}
			})
		}
	}
}

// consumable leaves out of a report the signals that the record cannot consume: a restored record may lack them.
func (s *signals) consumable(ctx context.Context, list []domain.Checkpoint) error {
	for k, c := range list {
		for i, w := range c.Waits {
			if w.Signal == "" {
				continue
			}
			ev, err := s.e.store.Signal(ctx, w.Signal)
			delivered := false
			if err == nil && ev.All {
				delivered, err = s.e.store.Delivered(ctx, w.Signal, domain.SignalWait{Run: c.Run, Node: w.Node, Item: w.Item})
			}
			switch {
			case domain.CodeOf(err) == domain.CodeNotFound, delivered, !ev.All && ev.Status == domain.SignalMatched:
				list[k].Waits = slices.Clone(c.Waits)
				list[k].Waits[i].Signal = ""
				c = list[k]
			case err != nil:
				return err
			}
		}
	}
	return nil
}
