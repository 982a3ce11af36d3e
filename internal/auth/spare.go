package auth

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// mostSpare bounds the sessions that are kept in memory, mostUnsaid the records.
const (
	mostSpare  = 256
	mostUnsaid = 1024
)

// spare is a store whose disk may be full. That is when somebody must be able to
// log in and look: what a login and its use would write is kept in memory, and
// written with its audit record once there is space. It does not outlive the
// process. Everything else is refused as the store refuses it.
type spare struct {
	Store
	audit Audit
	log   *slog.Logger
	now   func() time.Time

	mu       sync.Mutex
	sessions map[string]spareSession // by hash, not in the store
	ended    map[string]bool         // stored sessions that are over, by hash
	unsaid   []domain.AuditRecord    // what happened and is not recorded
	seen     map[string]time.Time    // when stored sessions and tokens were last used
	steps    map[string]int64        // last codes of second factors that were used, by user
}

type spareSession struct {
	domain.Session
	said []domain.AuditRecord
}

func newSpare(s Store, audit Audit, log *slog.Logger, now func() time.Time) *spare {
	return &spare{
		Store:    s,
		audit:    audit,
		log:      log,
		now:      now,
		sessions: map[string]spareSession{},
		ended:    map[string]bool{},
		seen:     map[string]time.Time{},
		steps:    map[string]int64{},
	}
}

// full reports whether an error is that of a full disk.
func full(err error) bool { return domain.CodeOf(err) == domain.CodeNoSpace }

// tryLater forgives a full disk what is not worth refusing anything for.
func (s *spare) tryLater(what string, err error) error {
	if !full(err) {
		return err
	}
	s.log.Warn("no space to record "+what, "err", err)
	return nil
}

func (s *spare) CreateSession(ctx context.Context, ses domain.Session, said ...domain.AuditRecord) error {
	err := s.Store.CreateSession(ctx, ses, said...)
	if !full(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= mostSpare {
		return err
	}
	s.sessions[ses.IDHash] = spareSession{ses, s.late(said)}
	s.log.Warn("a session is kept in memory: the disk is full", "user", ses.UserID, "address", ses.Address)
	return nil
}

func (s *spare) SessionByHash(ctx context.Context, hash string) (domain.Session, error) {
	s.mu.Lock()
	kept, ok := s.sessions[hash]
	seen, over := s.seen[hash], s.ended[hash]
	s.mu.Unlock()
	if ok {
		return kept.Session, nil
	}
	if over {
		return domain.Session{}, domain.Errorf(domain.CodeNotFound, "no such session")
	}
	ses, err := s.Store.SessionByHash(ctx, hash)
	if seen.After(ses.SeenAt) {
		ses.SeenAt = seen
	}
	return ses, err
}

func (s *spare) Sessions(ctx context.Context, userID string) ([]domain.Session, error) {
	list, err := s.Store.Sessions(ctx, userID)
	s.mu.Lock()
	defer s.mu.Unlock()
	list = slices.DeleteFunc(list, func(ses domain.Session) bool { return s.ended[ses.IDHash] })
	for _, kept := range s.sessions {
		if kept.UserID == userID {
			list = append(list, kept.Session)
		}
	}
	slices.SortStableFunc(list, func(a, b domain.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return list, err
}

func (s *spare) TouchSession(ctx context.Context, hash string, seen time.Time) error {
	s.mu.Lock()
	kept, ok := s.sessions[hash]
	if ok {
		kept.SeenAt = seen
		s.sessions[hash] = kept
	}
	s.mu.Unlock()
	if ok {
		return nil
	}
	return s.touched(hash, seen, s.Store.TouchSession(ctx, hash, seen))
}

func (s *spare) TouchToken(ctx context.Context, id string, used time.Time, from string) error {
	return s.touched(id, used, s.Store.TouchToken(ctx, id, used, from))
}

// touched remembers a use that could not be written down.
func (s *spare) touched(what string, at time.Time, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !full(err) {
		delete(s.seen, what)
		return err
	}
	s.seen[what] = at
	return nil
}

// usedAt is when a token was last used, which the store may not know.
func (s *spare) usedAt(t domain.Token) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.seen[t.ID]; at.After(t.LastUsedAt) {
		return at
	}
	return t.LastUsedAt
}

// DeleteSession ends a session, whether or not that can be stored.
func (s *spare) DeleteSession(ctx context.Context, hash string, said ...domain.AuditRecord) error {
	s.forget(func(ses domain.Session) bool { return ses.IDHash == hash })
	err := s.Store.DeleteSession(ctx, hash, said...)
	if !full(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[hash] = true
	s.say(s.late(said))
	return nil
}

// DeleteExpiredSessions also writes what there is space for now.
func (s *spare) DeleteExpiredSessions(ctx context.Context, now, idle time.Time) error {
	s.forget(func(ses domain.Session) bool { return !ses.ExpiresAt.After(now) || !ses.SeenAt.After(idle) })
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.Store.DeleteExpiredSessions(ctx, now, idle)
}

// forget drops kept sessions; that they were opened is still to be recorded.
func (s *spare) forget(which func(domain.Session) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, kept := range s.sessions {
		if which(kept.Session) {
			delete(s.sessions, hash)
			s.say(kept.said)
		}
	}
}

// late says when something happened that is recorded later.
func (s *spare) late(said []domain.AuditRecord) []domain.AuditRecord {
	said = slices.Clone(said)
	for i := range said {
		said[i].Reason = strings.TrimPrefix(
			said[i].Reason+"; at "+s.now().UTC().Format(time.RFC3339)+", recorded when the disk had space again",
			"; ",
		)
	}
	return said
}

// say keeps records for later; the caller holds mu. Beyond the bound the log alone
// has them.
func (s *spare) say(said []domain.AuditRecord) {
	s.unsaid = append(s.unsaid, said[:min(len(said), mostUnsaid-len(s.unsaid))]...)
}

// denied records a refusal, now or later.
func (s *spare) denied(ctx context.Context, r domain.AuditRecord) error {
	err := s.audit.Audit(ctx, r)
	if !full(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(s.late([]domain.AuditRecord{r}))
	return s.tryLater("a refusal", err)
}

// settle writes down what was kept.
func (s *spare) settle(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, kept := range s.sessions {
		if err := s.Store.CreateSession(ctx, kept.Session, kept.said...); err != nil {
			return s.tryLater("a session", err)
		}
		delete(s.sessions, hash)
	}
	for hash := range s.ended {
		if err := s.Store.DeleteSession(ctx, hash); err != nil {
			return s.tryLater("the end of a session", err)
		}
		delete(s.ended, hash)
	}
	for len(s.unsaid) > 0 {
		if err := s.audit.Audit(ctx, s.unsaid[0]); err != nil {
			return s.tryLater("who came and went", err)
		}
		s.unsaid = s.unsaid[1:]
	}
	for what, at := range s.seen {
		if s.now().Sub(at) > DefaultSessionLifetime {
			delete(s.seen, what)
		}
	}
	return nil
}

// codeUsed remembers a code of a second factor that was used but not stored.
func (s *spare) codeUsed(userID string, step int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps[userID] = step
}

// lastCode is the last code of a user that was used, by what is stored and what is
// not.
func (s *spare) lastCode(userID string, stored int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(stored, s.steps[userID])
}
