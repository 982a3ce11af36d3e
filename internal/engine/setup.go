package engine

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/versions"
)

// Setup is what a configuration decides of an engine. It can be exchanged while
// runs continue ([Engine.Reconfigure]).
type Setup struct {
	Registry Registry // required
	Secrets  Secrets  // nil: no reference to a secret resolves
	// MaxRunning, MaxNodes, SeparateApprovals, ConsentTimeout and MaxReplans are as
	// in [Options].
	MaxRunning        int
	MaxNodes          int
	SeparateApprovals bool
	ConsentTimeout    time.Duration
	MaxReplans        int
}

// withDefaults fills in what is zero and refuses what makes no sense.
func (s Setup) withDefaults() (Setup, error) {
	s.MaxRunning = cmp.Or(s.MaxRunning, 64)
	s.MaxNodes = cmp.Or(s.MaxNodes, 256)
	s.MaxReplans = cmp.Or(s.MaxReplans, 2)
	switch {
	case s.Registry == nil:
		return s, errors.New("engine: Store and Registry are required")
	case s.MaxRunning < 0 || s.MaxNodes < 0:
		return s, errors.New("engine: MaxRunning and MaxNodes must be positive")
	}
	return s, nil
}

// setup is a Setup in use: everything in it is of one moment. Whatever belongs
// together, such as the handler of a node and the effect of running it, comes from one
// and the same.
type setup struct {
	Setup
	compiler *versions.Compiler // compiles against its registry

	mu   sync.Mutex
	uses int           // attempts that work with it
	over bool          // another one has taken its place
	gone chan struct{} // closed when it is over and no one uses it
}

func newSetup(s Setup) (*setup, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	return &setup{Setup: s, compiler: versions.NewCompiler(s.Registry.Catalog), gone: make(chan struct{})}, nil
}

// Reconfigure takes another setup into use, all of it at once: an attempt that has
// begun keeps what it began with, the next one has the new. Runs whose plan is
// compiled continue with it as it is; what it names is found again. gone is closed when
// the last attempt has ended that works with the setup before. With an error
// nothing has changed.
func (e *Engine) Reconfigure(s Setup) (gone <-chan struct{}, err error) {
	next, err := newSetup(s)
	if err != nil {
		return nil, err
	}
	e.exchanging.Lock()
	defer e.exchanging.Unlock()
	before := e.setup.Swap(next)
	before.replaced()
	e.sched.resize(next.MaxRunning, next.MaxNodes)
	return before.gone, nil
}

// current is the active setup, for questions that are answered at once.
func (e *Engine) current() *setup { return e.setup.Load() }

// use is current for an attempt: it stays usable until leave.
func (e *Engine) use() *setup {
	for {
		if s := e.setup.Load(); s.enter() {
			return s
		}
		// It was replaced in between, and its successor is in its place.
	}
}

func (s *setup) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.uses++
	return true
}

func (s *setup) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses--; s.over && s.uses == 0 {
		close(s.gone)
	}
}

func (s *setup) replaced() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over = true; s.uses == 0 {
		close(s.gone)
	}
}
