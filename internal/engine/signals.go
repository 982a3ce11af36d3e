package engine

import (
	"context"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// matchAtOnce limits the signals and the waits that are matched at once.
const matchAtOnce = 100

// signals matches stored signals with the waits for them. A signal is matched when it was stored, when
// a wait begins, and at a start, so that none is missed after a crash. The checkpoint that ends a wait
// consumes its signal, and the store refuses to consume a signal twice.
type signals struct {
	e *Engine

	mu sync.Mutex
	// claimed holds IDs of signals and waits that a runner is about to settle, with a channel that is
	// closed when it has.
	claimed map[string]chan struct{}
	// forwarded holds the signals on their way to runs of a Remote, by wait. ready reports that these may be matched.
	forwarded map[string]*forwarded
	ready     bool
}

// signalMsg carries a signal to the run of a wait.
type signalMsg struct {
	signal domain.Signal
	wait   domain.SignalWait
	reply  reply[done]
}

// answer is called if the message is not applied. The signal stays for a later match.
func (m signalMsg) answer(err error) { m.reply.give(done{}, err) }

// SignalStored matches a stored signal, and returns when the waits that it ended are stored, or when the
// context ends.
func (e *Engine) SignalStored(ctx context.Context, name, key string) {
	if e.opts.Remote != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, remoteWait)
		defer cancel()
	}
	for _, m := range e.signals.match(ctx, name, key) {
		select {
		case <-m:
		case <-ctx.Done():
			return
		case <-e.stopped:
			return
		}
	}
}

// open matches all signals with waits, at a start.
func (s *signals) open() {
	names, err := s.e.store.MatchableNames(s.e.base)
	if err != nil {
		s.e.log.Error("the stored signals cannot be read", "err", err)
		return
	}
	for _, n := range names {
		s.match(s.e.base, n.Name, n.Key)
	}
}

// match sends stored signals to the runs that wait for them. It returns a channel for each wait that
// is about to end, also because of an earlier match. The channel is closed when the run has settled it.
func (s *signals) match(ctx context.Context, name, key string) (settled []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.e.opts.Remote != nil && !s.ready {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	signals, waits, err := s.e.store.Matchable(ctx, name, key, matchAtOnce)
	if err != nil {
		s.e.log.Error("the stored signals cannot be read", "signal", name, "err", err)
		return nil
	}
	for _, w := range waits {
		if c := s.claimed[w.ID]; c != nil {
			settled = append(settled, c)
			continue
		}
		id := s.signalFor(ctx, signals, w)
		if id == "" {
			continue
		}
		full, err := s.e.store.Signal(ctx, id)
		if err != nil {
			s.e.log.Error("a stored signal cannot be read", "signal", name, "id", id, "err", err)
			return settled
		}
		settled = append(settled, s.send(ctx, full, w))
	}
	return settled
}

// signalFor returns the oldest signal that may end a wait, or "". The caller holds mu.
func (s *signals) signalFor(ctx context.Context, signals []domain.Signal, w domain.SignalWait) string {
	for _, ev := range signals {
		if !ev.All {
			if s.claimed[ev.ID] != nil {
				continue
			}
			return ev.ID
		}
		before, err := s.e.store.Delivered(ctx, ev.ID, w)
		if err != nil {
			s.e.log.Error("a stored signal cannot be read", "signal", ev.Name, "id", ev.ID, "err", err)
		}
		if !before && err == nil {
			return ev.ID
		}
	}
	return ""
}

// send posts a signal to the run of a wait. The caller holds mu.
func (s *signals) send(ctx context.Context, ev domain.Signal, w domain.SignalWait) <-chan struct{} {
	if s.e.opts.Remote != nil {
		return s.matchRemote(ctx, ev, w)
	}
	m := signalMsg{signal: ev, wait: w, reply: newReply[done]()}
	settled := make(chan struct{})
	if !s.e.post(w.Run, m) { // the next start matches it
		close(settled)
		return settled
	}
	s.claimed[w.ID] = settled
	if !ev.All {
		s.claimed[ev.ID] = settled
	}
	go func() {
		defer close(settled)
		var err error
		select {
		case a := <-m.reply:
			err = a.err
		case <-s.e.stopped:
			return
		}
		s.mu.Lock()
		delete(s.claimed, w.ID)
		if !ev.All {
			delete(s.claimed, ev.ID)
		}
		s.mu.Unlock()
		if err == nil || domain.CodeOf(err) == domain.CodeConflict { // there may be more, or another wait for this signal
			s.match(context.Background(), w.Name, w.Key)
			return
		}
		s.e.log.Warn("a signal could not end a wait; the next start tries again", "signal", ev.Name, "run_id", w.Run, "err", err)
	}()
	return settled
}

// apply ends the wait. If the wait has ended meanwhile, its row is removed, and the signal is matched
// again.
func (m signalMsg) apply(a *runner) {
	err := a.decide(&runstate.SignalArrived{Wait: m.wait.ID, Signal: m.signal})
	a.pipe.after(func(lost error) {
		switch {
		case lost != nil:
			m.reply.give(done{}, lost)
		case err != nil:
			a.e.wg.Go(func() {
				if dropped := a.e.store.DropWait(context.WithoutCancel(a.e.base), m.wait.ID); dropped != nil {
					m.reply.give(done{}, dropped)
					return
				}
				m.reply.give(done{}, err)
			})
		default:
			m.reply.give(done{}, nil)
		}
	})
}
