package api

import (
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Limits of open event streams.
const (
	maxStreams = 256
	// A principal can have 1/fairShare of all streams, and at least leastShare.
	fairShare, leastShare = 8, 4
)

// Streams limits the open event streams, in total and per principal.
type Streams struct {
	total, share int

	mu   sync.Mutex
	open int
	by   map[string]int
}

// NewStreams allows total streams. One principal can have an eighth of them, and at least four.
func NewStreams(total int) *Streams {
	return &Streams{total: total, share: max(total/fairShare, leastShare), by: map[string]int{}}
}

// Enter reserves a stream for a principal. It returns CodeTooMany at the limit of the principal,
// and CodeUnavailable at the total limit.
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

// Leave releases a stream.
func (s *Streams) Leave(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.by[principal]--; s.by[principal] == 0 {
		delete(s.by, principal)
	}
}
