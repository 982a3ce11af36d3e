package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// slowStore keeps checkpoints until the test reports them as stored.
type slowStore struct {
	Store
	given []domain.Checkpoint
	ack   []func(error)
}

func (s *slowStore) Enqueue(list []domain.Checkpoint, ack func(error)) {
	s.given = append(s.given, list...)
	for range list {
		s.ack = append(s.ack, ack)
	}
}

// answer answers the oldest checkpoint.
func (s *slowStore) answer(err error) {
	ack := s.ack[0]
	s.ack = s.ack[1:]
	ack(err)
}

func newPipeline(s Store) *pipeline {
	p := new(pipeline)
	p.open(s, "r", func() {}, func(runstate.Task, error) {})
	return p
}

func (p *pipeline) row() {
	p.complete(domain.Checkpoint{Entries: []domain.Entry{{Seq: p.fence + 1}}})
}

func TestDeferredRunInOrderOnceDurable(t *testing.T) {
	t.Parallel()
	s := &slowStore{}
	p := newPipeline(s)
	var ran []int
	for i := range 3 {
		p.after(func(err error) {
			if err != nil {
				t.Error(err)
			}
			ran = append(ran, i)
		})
		p.row()
	}
	if p.handOver(); len(s.given) != 3 || s.given[2].Fence != 2 {
		t.Fatalf("given %+v", s.given)
	}
	if err := p.durable(); err != nil || len(ran) != 0 {
		t.Fatalf("before any answer: %v, %v", ran, err)
	}
	s.answer(nil)
	s.answer(nil)
	if err := p.durable(); err != nil || !slices.Equal(ran, []int{0, 1}) {
		t.Fatalf("after two answers: %v, %v", ran, err)
	}
	if p.idle() || p.durableSeq() != 2 {
		t.Errorf("quiet %v with one checkpoint in flight; durable up to %d", p.idle(), p.durableSeq())
	}
	s.answer(nil)
	if err := p.durable(); err != nil || len(ran) != 3 || !p.idle() || p.durableSeq() != 3 {
		t.Errorf("at the end: %v, quiet %v, durable up to %d, %v", ran, p.idle(), p.durableSeq(), err)
	}
}

// Actions tied to an empty checkpoint run with those of the previous checkpoints, or at once.
func TestNothingToWrite(t *testing.T) {
	t.Parallel()
	s := &slowStore{}
	p := newPipeline(s)
	ran := 0
	p.after(func(error) { ran++ })
	if p.nothingToWrite(); ran != 1 {
		t.Errorf("nothing before it: ran %d times", ran)
	}
	p.row()
	p.handOver()
	p.after(func(error) { ran++ })
	if p.nothingToWrite(); ran != 1 {
		t.Errorf("with a checkpoint in flight: ran %d times", ran)
	}
	s.answer(nil)
	if err := p.durable(); err != nil || ran != 2 {
		t.Errorf("once that is durable: ran %d times, %v", ran, err)
	}
}

// A rejection voids the following checkpoints. The ones before it count. It and the following ones
// are handed over again in order.
func TestARejectedCheckpointIsHandedOverAgain(t *testing.T) {
	t.Parallel()
	s := &slowStore{}
	p := newPipeline(s)
	var ran []int
	for i := range 3 {
		p.after(func(error) { ran = append(ran, i) })
		p.row()
	}
	p.handOver()
	s.answer(nil)
	s.answer(errors.New("no space"))
	if err := p.durable(); err != nil {
		t.Errorf("dealt with before the last answer: %v", err)
	}
	s.answer(errors.New("no space"))
	if err := p.durable(); err == nil || !slices.Equal(ran, []int{0}) {
		t.Fatalf("ran %v, rejection %v", ran, err)
	}
	p.broken = true
	p.again()
	if len(s.given) != 5 || s.given[3].Fence != 1 || s.given[4].Fence != 2 || s.given[3].Chain == s.given[1].Chain {
		t.Fatalf("handed over again: %+v", s.given[3:])
	}
	s.answer(nil)
	s.answer(nil)
	if err := p.durable(); err != nil || len(ran) != 3 || !p.idle() {
		t.Errorf("ran %v, quiet %v, %v", ran, p.idle(), err)
	}
}

// After a conflict, everything that is not durable is dropped.
func TestResetDropsWhatIsNotDurable(t *testing.T) {
	t.Parallel()
	s := &slowStore{}
	p := newPipeline(s)
	var got error
	p.after(func(err error) { got = err })
	p.row()
	p.handOver()
	lost := errors.New("lost")
	s.answer(lost)
	if err := p.durable(); !errors.Is(err, lost) {
		t.Fatalf("got %v", err)
	}
	p.fail(lost)
	p.reset()
	if !errors.Is(got, lost) || !p.idle() || p.isRefused() || len(p.inflight) != 0 {
		t.Errorf("got %v, quiet %v, refused %v", got, p.idle(), p.isRefused())
	}
}

func TestMailbox(t *testing.T) {
	t.Parallel()
	b := newMailbox()
	if !b.post(timerMsg{}) || !b.post(stopMsg{}) || !b.filled.Load() || !b.stopRequested() {
		t.Fatal("two messages were posted")
	}
	if len(b.wake) != 1 {
		t.Error("the runner is woken once")
	}
	if b.close() {
		t.Error("a mailbox with messages is not closed")
	}
	if mail := b.take(); len(mail) != 2 || b.filled.Load() || b.stopRequested() {
		t.Errorf("took %v", mail)
	}
	if !b.close() || b.post(timerMsg{}) {
		t.Error("a closed mailbox takes nothing")
	}
}
