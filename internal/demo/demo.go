// Package demo demonstrates a recovery. It kills a kairosd in the middle of a payment, starts it
// again, and requests a person's answer whether the payment happened.
//
// Only the bank is simulated. The killed kairosd is a process of this program with its own
// temporary database, and the payment is an HTTP call to a [ledger] in this process. The caller's
// database is not involved.
package demo

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Answer is a person's answer about a payment in doubt.
type Answer string

// Answers. Stop ends the demonstration, and is valid at any time.
const (
	Happened Answer = "happened"
	Again    Answer = "again"
	Stop     Answer = "stop"
)

// Phase is a phase of a demonstration.
type Phase string

// Phases, in order. An idempotent payment is never in doubt.
const (
	Paying     Phase = "paying"     // a kairosd runs the plan
	Killed     Phase = "killed"     // it was killed, and starts again
	InDoubt    Phase = "in_doubt"   // a person must answer
	Continuing Phase = "continuing" // the answer was given
	Completed  Phase = "completed"
	Failed     Phase = "failed"
)

// State is the state of a demonstration. The zero value means that there was none since the start.
type State struct {
	Phase      Phase
	By         string
	Idempotent bool // the payment step may be repeated
	Began      time.Time
	Ended      time.Time
	Notes      []Note
	Payments   []Payment
	Answer     Answer
	// Output is the output of the completed run, and Error the reason why there is none.
	Output domain.RawJSON
	Error  domain.Message
}

// Active reports whether a demonstration is in progress.
func (s State) Active() bool { return s.Phase != "" && s.Ended.IsZero() }

// Note is an entry in the log of a demonstration.
type Note struct {
	At   time.Time
	Text domain.Message
}

// Config configures demonstrations.
type Config struct {
	// Command starts a kairosd that calls [Serve]. The directory of the demonstration is appended
	// to it. If it is nil, this program's "demo serve" is used.
	Command []string
	// Changed is called after each change, one call at a time. It may be nil.
	Changed func(State)
	// Limit is the maximum duration of a demonstration, including answers; 0 means 15 minutes.
	Limit time.Duration
}

// Runner runs demonstrations, one at a time. It is safe for concurrent use.
type Runner struct {
	c Config

	changing sync.Mutex // held while a change is made and published

	mu     sync.Mutex
	state  State
	answer chan Answer
	stop   context.CancelCauseFunc
	ended  chan struct{} // closed when the current demonstration has been cleaned up
	closed bool
}

// New returns a runner.
func New(c Config) *Runner {
	if c.Limit == 0 {
		c.Limit = 15 * time.Minute
	}
	return &Runner{c: c}
}

// State returns the newest demonstration.
func (r *Runner) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.state
	s.Notes, s.Payments = slices.Clone(s.Notes), slices.Clone(s.Payments)
	return s
}

// Begin starts a demonstration. If one is in progress, the error is CodeConflict.
func (r *Runner) Begin(by string, idempotent bool) error {
	if os.Getenv(within) != "" {
		return domain.Errorf(domain.CodeUnavailable, "this server is part of a demonstration")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return domain.Errorf(domain.CodeUnavailable, "kairosd is stopping")
	case r.state.Active():
		return domain.Errorf(domain.CodeConflict, "a demonstration is in progress, started by %s", r.state.By).
			Suggest("answer it, or stop it")
	}
	ctx, stop := context.WithCancelCause(context.Background())
	r.state = State{Phase: Paying, By: by, Idempotent: idempotent, Began: time.Now()}
	r.answer, r.stop, r.ended = make(chan Answer, 1), stop, make(chan struct{})
	go r.run(ctx, idempotent, r.answer, r.ended)
	return nil
}

var errStopped = domain.Errorf(domain.CodeConflict, "the demonstration was stopped")

// Answer passes on a person's answer. If no payment is in doubt, the error is CodeConflict.
func (r *Runner) Answer(a Answer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a != Happened && a != Again && a != Stop:
		return domain.Errorf(domain.CodeInvalid, "invalid answer %q", string(a)).Suggest("use happened, again, or stop")
	case a == Stop && r.state.Active():
		r.stop(errStopped)
		return nil
	case r.state.Phase != InDoubt:
		return domain.Errorf(domain.CodeConflict, "no payment is in doubt")
	}
	r.state.Phase, r.state.Answer = Continuing, a
	r.answer <- a
	return nil
}

// Wait returns when no demonstration is in progress and all its resources are released.
func (r *Runner) Wait() {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// Close stops the demonstration in progress, and waits for its end.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	if r.stop != nil {
		r.stop(domain.Errorf(domain.CodeUnavailable, "kairosd was stopped"))
	}
	r.mu.Unlock()
	r.Wait()
}

// run runs one demonstration, and releases its resources.
func (r *Runner) run(ctx context.Context, idempotent bool, answer <-chan Answer, ended chan<- struct{}) {
	defer close(ended)
	ctx, cancel := context.WithTimeoutCause(ctx, r.c.Limit,
		domain.Errorf(domain.CodeUnavailable, "the demonstration was not finished within %s", r.c.Limit))
	defer cancel()
	output, err := r.play(ctx, idempotent, answer)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	r.change(func(s *State) {
		s.Ended = time.Now()
		if s.Phase, s.Output = Completed, output; err != nil {
			s.Phase, s.Error = Failed, messageOf(err)
		}
	})
}

func messageOf(err error) domain.Message {
	if e, ok := errors.AsType[*domain.Error](err); ok {
		return e.Localize()
	}
	return domain.Verbatim(err.Error())
}

// change changes the state, and calls Changed.
func (r *Runner) change(f func(*State)) {
	r.changing.Lock()
	defer r.changing.Unlock()
	r.mu.Lock()
	f(&r.state)
	r.mu.Unlock()
	if r.c.Changed != nil {
		r.c.Changed(r.State())
	}
}

// note adds a note, and begins a phase.
func (r *Runner) note(phase Phase, text domain.Message) {
	r.change(func(s *State) {
		s.Phase = phase
		s.Notes = append(s.Notes, Note{At: time.Now(), Text: text})
	})
}
