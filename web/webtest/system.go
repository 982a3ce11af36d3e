package webtest

import (
	"context"
	"sync"

	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/kairos"
)

// System is an installation whose state a test sets.
type System struct {
	engine *engine.Engine

	mu      sync.Mutex
	now     kairos.Installation
	notices []kairos.Notice
	backups int
}

// Set says how the installation is from now on.
func (s *System) Set(now kairos.Installation, notices ...kairos.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.notices = now, notices
}

// Backups is how many were asked for.
func (s *System) Backups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backups
}

// Installation is what was set.
func (s *System) Installation(context.Context) (kairos.Installation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, nil
}

// Notices are what was set.
func (s *System) Notices(context.Context) []kairos.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notices
}

// ReleaseHeld asks the engine.
func (s *System) ReleaseHeld(ctx context.Context, actor kairos.Actor, plan, reason string) (int, error) {
	return s.engine.ReleaseHeld(ctx, actor, plan, reason)
}

// BackUp counts.
func (s *System) BackUp(context.Context, kairos.Actor) (kairos.Backup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backups++
	return kairos.Backup{}, nil
}
