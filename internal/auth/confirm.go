package auth

import (
	"context"
	"maps"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// ConfirmFor is how long a login or its confirmation is sufficient for actions of administrators.
// After that, someone else may be using the open browser.
const ConfirmFor = 15 * time.Minute

// Confirmed returns the time at which the user of a session last proved their identity, by login or
// confirmation. It returns CodeUnauthorized if the session does not exist.
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

// Fresh reports whether the user of a session proved their identity within [ConfirmFor].
func (s *Service) Fresh(ctx context.Context, secret string) (bool, error) {
	at, err := s.Confirmed(ctx, secret)
	return err == nil && s.clock.now().Sub(at) < ConfirmFor, err
}

// Confirm checks the password of a session's user again, and a code if they have a second factor.
// The confirmation does not survive a restart.
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
		return domain.Errorf(domain.CodeForbidden, "wrong password or code")
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
