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

// maxMemorySessions limits the sessions that are kept in memory, and maxUnrecorded the audit
// records.
const (
	maxMemorySessions = 256
	maxUnrecorded     = 1024
)

// fullDiskStore is a Store that lets people log in while the disk is full, because an operator must
// then be able to see the problem. It keeps the writes of a login and its use in memory. It writes
// them with their audit records once there is space. They do not survive the process. All other
// writes fail as in the store.
type fullDiskStore struct {
	Store
	audit Audit
	log   *slog.Logger
	now   func() time.Time

	mu         sync.Mutex
	sessions   map[string]memorySession // by hash; they are not in the store
	ended      map[string]bool          // stored sessions that have ended, by hash
	unrecorded []domain.AuditRecord     // events that are not recorded yet
	seen       map[string]time.Time     // when stored sessions and tokens were last used
	steps      map[string]int64         // last codes of second factors that were used, by user
}

type memorySession struct {
	domain.Session
	records []domain.AuditRecord
}

func newFullDiskStore(s Store, audit Audit, log *slog.Logger, now func() time.Time) *fullDiskStore {
	return &fullDiskStore{
		Store:    s,
		audit:    audit,
		log:      log,
		now:      now,
		sessions: map[string]memorySession{},
		ended:    map[string]bool{},
		seen:     map[string]time.Time{},
		steps:    map[string]int64{},
	}
}

// full reports whether an error is caused by a full disk.
func full(err error) bool { return domain.CodeOf(err) == domain.CodeNoSpace }

// tryLater ignores the error of a full disk for a write that can be lost.
func (s *fullDiskStore) tryLater(what string, err error) error {
	if !full(err) {
		return err
	}
	s.log.Warn("no space to record "+what, "err", err)
	return nil
}

func (s *fullDiskStore) CreateSession(ctx context.Context, ses domain.Session, records ...domain.AuditRecord) error {
	err := s.Store.CreateSession(ctx, ses, records...)
	if !full(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= maxMemorySessions {
		return err
	}
	s.sessions[ses.IDHash] = memorySession{ses, s.late(records)}
	s.log.Warn("the disk is full; keeping the session in memory", "user", ses.UserID, "address", ses.Address)
	return nil
}

func (s *fullDiskStore) SessionByHash(ctx context.Context, hash string) (domain.Session, error) {
	s.mu.Lock()
	kept, ok := s.sessions[hash]
	seen, over := s.seen[hash], s.ended[hash]
	s.mu.Unlock()
	if ok {
		return kept.Session, nil
	}
	if over {
		return domain.Session{}, domain.Errorf(domain.CodeNotFound, "session not found")
	}
	ses, err := s.Store.SessionByHash(ctx, hash)
	if seen.After(ses.SeenAt) {
		ses.SeenAt = seen
	}
	return ses, err
}

func (s *fullDiskStore) Sessions(ctx context.Context, userID string) ([]domain.Session, error) {
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

func (s *fullDiskStore) TouchSession(ctx context.Context, hash string, seen time.Time) error {
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

func (s *fullDiskStore) TouchToken(ctx context.Context, id string, used time.Time, from string) error {
	return s.touched(id, used, s.Store.TouchToken(ctx, id, used, from))
}

// touched keeps the time of a use that could not be stored.
func (s *fullDiskStore) touched(what string, at time.Time, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !full(err) {
		delete(s.seen, what)
		return err
	}
	s.seen[what] = at
	return nil
}

// usedAt returns the time at which a token was last used. The store may have an earlier time.
func (s *fullDiskStore) usedAt(t domain.Token) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.seen[t.ID]; at.After(t.LastUsedAt) {
		return at
	}
	return t.LastUsedAt
}

// DeleteSession ends a session, even if that cannot be stored.
func (s *fullDiskStore) DeleteSession(ctx context.Context, hash string, records ...domain.AuditRecord) error {
	s.forget(func(ses domain.Session) bool { return ses.IDHash == hash })
	err := s.Store.DeleteSession(ctx, hash, records...)
	if !full(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[hash] = true
	s.keepRecords(s.late(records))
	return nil
}

// DeleteExpiredSessions also writes what was kept in memory, if there is space.
func (s *fullDiskStore) DeleteExpiredSessions(ctx context.Context, now, idle time.Time) error {
	s.forget(func(ses domain.Session) bool { return !ses.ExpiresAt.After(now) || !ses.SeenAt.After(idle) })
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.Store.DeleteExpiredSessions(ctx, now, idle)
}

// forget removes sessions from memory. The records of their logins are still written later.
func (s *fullDiskStore) forget(which func(domain.Session) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, kept := range s.sessions {
		if which(kept.Session) {
			delete(s.sessions, hash)
			s.keepRecords(kept.records)
		}
	}
}

// late adds the time of the event to records that are written later.
func (s *fullDiskStore) late(records []domain.AuditRecord) []domain.AuditRecord {
	records = slices.Clone(records)
	for i := range records {
		records[i].Reason = strings.TrimPrefix(
			records[i].Reason+"; at "+s.now().UTC().Format(time.RFC3339)+", recorded when the disk had space again",
			"; ",
		)
	}
	return records
}

// keepRecords keeps records for later. The caller holds mu. Records beyond the limit are only in
// the log.
func (s *fullDiskStore) keepRecords(records []domain.AuditRecord) {
	s.unrecorded = append(s.unrecorded, records[:min(len(records), maxUnrecorded-len(s.unrecorded))]...)
}

// denied records a refusal, now or later.
func (s *fullDiskStore) denied(ctx context.Context, r domain.AuditRecord) error {
	err := s.audit.Audit(ctx, r)
	if !full(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepRecords(s.late([]domain.AuditRecord{r}))
	return s.tryLater("a refused request", err)
}

// settle writes everything that was kept in memory.
func (s *fullDiskStore) settle(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, kept := range s.sessions {
		if err := s.Store.CreateSession(ctx, kept.Session, kept.records...); err != nil {
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
	for len(s.unrecorded) > 0 {
		if err := s.audit.Audit(ctx, s.unrecorded[0]); err != nil {
			return s.tryLater("logins and logouts", err)
		}
		s.unrecorded = s.unrecorded[1:]
	}
	for what, at := range s.seen {
		if s.now().Sub(at) > DefaultSessionLifetime {
			delete(s.seen, what)
		}
	}
	return nil
}

// codeUsed keeps a code of a second factor that was used but not stored.
func (s *fullDiskStore) codeUsed(userID string, step int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps[userID] = step
}

// lastCode returns the last used code of a user, from the store or from memory.
func (s *fullDiskStore) lastCode(userID string, stored int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(stored, s.steps[userID])
}
