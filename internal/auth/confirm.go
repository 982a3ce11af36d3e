package auth

import (
	"context"
	"maps"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// ConfirmFor is how long a login, or a confirmation of it, is proof enough for acts
// of admins: an open browser is not the person.
const ConfirmFor = 15 * time.Minute

// Confirmed is when the person behind a session last proved who they are; the login
// counts. CodeUnauthorized for a session that is none.
func (s *Service) Confirmed(ctx context.Context, secret string) (time.Time, error) {
	hash := hashOf(secret)
	ses, err := s.store.SessionByHash(ctx, hash)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return time.Time{}, noSession()
	} else if err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.confirmed[hash]; at.After(ses.CreatedAt) {
		return at, nil
	}
	return ses.CreatedAt, nil
}

// Fresh reports whether the person behind a session proved within [ConfirmFor] who
// they are.
func (s *Service) Fresh(ctx context.Context, secret string) (bool, error) {
	at, err := s.Confirmed(ctx, secret)
	return err == nil && s.clock.now().Sub(at) < ConfirmFor, err
}

// Confirm proves again who is behind a session: by the password, and by a code where
// there is a second factor. A restart of the daemon forgets it.
func (s *Service) Confirm(ctx context.Context, secret, password, code string) error {
	u, err := s.Session(ctx, secret)
	if err != nil {
		return err
	}
	now := s.clock.now()
	actor := ActorOf(u, "ui")
	counter := "confirm:" + u.Name
	if wait, _ := s.throttle.allow(now, counter, counter); wait > 0 {
		return tooMany(wait)
	}
	match := false
	if u.PasswordHash != "" && !s.access.Load().NoPassword {
		if match, _, err = s.hasher.check(ctx, password, u.PasswordHash); err != nil {
			return err
		}
	}
	if match {
		on, _, err := s.SecondFactor(ctx, u.ID)
		if err != nil {
			return err
		}
		if on {
			if match, err = s.factors.check(ctx, u.ID, code, now); err != nil {
				return err
			}
		}
	}
	if !match {
		s.records.denied(ctx, actor, "session.confirm", "user:"+u.Name, "wrong password or code")
		return domain.Errorf(domain.CodeForbidden, "password or code is wrong")
	}
	s.throttle.succeeded(now, counter, counter)
	if err := s.records.record(ctx, actor, "session.confirm", "user:"+u.Name, "ok", ""); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.confirmed, func(_ string, at time.Time) bool { return now.Sub(at) > ConfirmFor })
	s.confirmed[hashOf(secret)] = now
	return nil
}
