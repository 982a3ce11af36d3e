package engine

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/versions"
)

// DefaultMaxNodes is the default of Options.MaxNodes.
const DefaultMaxNodes = 256

// Setup is the part of an engine that depends on the configuration. [Engine.Reconfigure] replaces
// it while runs continue.
type Setup struct {
	Registry Registry // required
	Secrets  Secrets  // nil means that no reference to a secret can be resolved
	Callback Callback // nil means that runs have no callback address
	// MaxRunning, MaxNodes, SeparateApprovals, ConsentTimeout, and MaxReplans are as in [Options].
	MaxRunning        int
	MaxNodes          int
	SeparateApprovals bool
	ConsentTimeout    time.Duration
	MaxReplans        int
}

// withDefaults replaces zero fields with defaults, and returns an error for invalid values.
func (s Setup) withDefaults() (Setup, error) {
	s.MaxRunning = cmp.Or(s.MaxRunning, 64)
	s.MaxNodes = cmp.Or(s.MaxNodes, DefaultMaxNodes)
	s.MaxReplans = cmp.Or(s.MaxReplans, 2)
	switch {
	case s.Registry == nil:
		return s, errors.New("engine: Store and Registry are required")
	case s.MaxRunning < 0 || s.MaxNodes < 0:
		return s, errors.New("engine: MaxRunning and MaxNodes must be positive")
	}
	return s, nil
}

// setup is an active Setup. Values that belong together, such as the handler of a node and its
// side-effect class, are taken from the same setup.
type setup struct {
	Setup
	compiler *versions.Compiler // compiles with the catalog of the registry

	mu   sync.Mutex
	uses int           // number of attempts that use it
	over bool          // it was replaced
	gone chan struct{} // closed when it was replaced and no attempt uses it
}

func newSetup(s Setup) (*setup, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	return &setup{Setup: s, compiler: versions.NewCompiler(s.Registry.Catalog), gone: make(chan struct{})}, nil
}

// Reconfigure replaces the setup as a whole. A running attempt keeps its setup, and the next
// attempt uses the new one. Runs continue with their compiled plan, whose names are looked up
// again. gone is closed when the last attempt with the previous setup has ended. If Reconfigure
// returns an error, nothing has changed.
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

// current returns the active setup for short uses.
func (e *Engine) current() *setup { return e.setup.Load() }

// use returns the active setup for an attempt. It stays usable until leave.
func (e *Engine) use() *setup {
	for {
		if s := e.setup.Load(); s.enter() {
			return s
		}
		// It was replaced in between, so try its successor.
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
