package api

import (
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Limits of open event streams.
const (
	maxStreams = 256
	// fairShare is which part of all streams one principal may hold, and leastShare
	// how many it may hold in any case.
	fairShare, leastShare = 8, 4
)

// Streams bounds the event streams that are open at once: in all, and for each
// principal.
type Streams struct {
	total, share int

	mu   sync.Mutex
	open int
	by   map[string]int
}

// NewStreams allows total streams, of which one principal may hold an eighth, but at
// least four.
func NewStreams(total int) *Streams {
	return &Streams{total: total, share: max(total/fairShare, leastShare), by: map[string]int{}}
}

// Enter takes a place for a principal; CodeTooMany if it holds its share already,
// CodeUnavailable if there is no place at all.
func (s *Streams) Enter(principal string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var e *domain.Error
	switch {
	case s.by[principal] >= s.share:
		e = domain.Errorf(domain.CodeTooMany, "%s has %d open event streams, the maximum for one user or token",
			principal, s.share).
			Suggest("close one of them, or follow all runs on one stream")
	case s.open >= s.total:
		e = domain.Errorf(domain.CodeUnavailable, "all %d event streams are in use", s.total).Suggest("try again in a few seconds")
	default:
		s.open++
		s.by[principal]++
		return nil
	}
	e.RetryAfter = 5 * time.Second
	return e
}

// Leave gives a place back.
func (s *Streams) Leave(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.by[principal]--; s.by[principal] == 0 {
		delete(s.by, principal)
	}
}
