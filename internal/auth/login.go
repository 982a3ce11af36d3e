package auth

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Login checks a name and password, opens a session, and returns its secret. It is throttled per
// account and address (CodeTooMany). Neither its answer nor its duration reveals whether the name
// exists.
func (s *Service) Login(ctx context.Context, name, password, address, userAgent string) (string, domain.User, error) {
	name = foldName(name)
	now := s.clock.now()
	who := domain.Actor{Name: shown(name), Source: "ui"}
	if s.access.Load().NoPassword {
		s.records.denied(ctx, who, "login", "user:"+who.Name, "with a password, from "+address)
		return "", domain.User{}, domain.Errorf(domain.CodeForbidden, "password login is disabled").
			Suggest("log in with %s", s.label())
	}
	if wait, first := s.throttle.allow(now, name, address); wait > 0 {
		if first {
			s.records.denied(ctx, who, "login", "user:"+who.Name, "throttled, from "+address)
		}
		return "", domain.User{}, tooMany(wait)
	}
	u, err := s.store.User(ctx, name)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound || err == nil && u.Name != name:
		u = domain.User{} // an ID is not a name
	case err != nil:
		return "", domain.User{}, fmt.Errorf("log in: %w", err)
	}
	match, old, err := s.hasher.check(ctx, password, u.PasswordHash)
	if err != nil {
		return "", domain.User{}, err
	}
	if !match || u.Disabled {
		s.records.denied(ctx, who, "login", "user:"+who.Name, "from "+address)
		return "", domain.User{}, domain.Errorf(domain.CodeUnauthorized, "wrong name or password")
	}
	who.Role = u.Role
	if u, err = s.welcome(ctx, u, password, old, now); err != nil {
		return "", domain.User{}, fmt.Errorf("log in: %w", err)
	}
	if on, _, err := s.SecondFactor(ctx, u.ID); err != nil {
		return "", domain.User{}, err
	} else if on {
		return "", domain.User{}, s.tickets.open(u, now)
	}
	secret, err := s.openSession(ctx, u, now, address, userAgent, s.records.success(ctx, who, "login", "user:"+u.Name, "from "+address)...)
	if err != nil {
		return "", domain.User{}, err
	}
	s.throttle.succeeded(now, name, address)
	return secret, u, nil
}

// welcome stores when a user was last seen. It hashes the password again if its hash has outdated
// parameters.
func (s *Service) welcome(ctx context.Context, u domain.User, password string, old bool, now time.Time) (domain.User, error) {
	phc := u.PasswordHash
	if old {
		var err error
		if phc, err = s.hasher.hash(ctx, password); err != nil {
			return u, err
		}
	}
	fresh, err := s.store.ChangeUser(ctx, u.ID, ActorOf(u, "ui"), func(fresh *domain.User, _ int) (domain.UserChange, error) {
		if fresh.PasswordHash != u.PasswordHash || fresh.Disabled {
			return domain.UserChange{}, domain.Errorf(domain.CodeUnauthorized, "wrong name or password") // it changed in the meantime
		}
		fresh.PasswordHash, fresh.LastSeenAt = phc, now
		return domain.UserChange{}, nil
	})
	if full(err) {
		u.LastSeenAt = now
		return u, s.store.tryLater("when a user was seen", err)
	}
	return fresh, err
}

// openSession always generates a new ID. It uses nothing that the client chose, which prevents
// session fixation.
func (s *Service) openSession(
	ctx context.Context,
	u domain.User,
	now time.Time,
	address, userAgent string,
	records ...domain.AuditRecord,
) (string, error) {
	secret := newSecret()
	err := s.store.CreateSession(ctx, domain.Session{
		IDHash: hashOf(secret), UserID: u.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(s.lifetime),
		Address: cut(address, 64), Agent: cut(userAgent, 256),
	}, records...)
	if err != nil {
		return "", fmt.Errorf("open session: %w", err)
	}
	return secret, nil
}

// Session returns the user of a session secret, with their current role. It returns
// CodeUnauthorized if the session is unknown, idle, or expired, or if its user is disabled.
func (s *Service) Session(ctx context.Context, secret string) (domain.User, error) {
	if len(secret) != 43 {
		return domain.User{}, noSession()
	}
	hash := hashOf(secret)
	ses, err := s.store.SessionByHash(ctx, hash)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.User{}, noSession()
	} else if err != nil {
		return domain.User{}, fmt.Errorf("find session: %w", err)
	}
	now := s.clock.notBefore(ses.SeenAt)
	if !now.Before(ses.ExpiresAt) || now.Sub(ses.SeenAt) >= s.idle {
		if err := s.store.DeleteSession(ctx, hash); err != nil {
			return domain.User{}, fmt.Errorf("end session: %w", err)
		}
		return domain.User{}, noSession()
	}
	u, err := s.store.User(ctx, ses.UserID)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && u.Disabled {
		return domain.User{}, noSession()
	} else if err != nil {
		return domain.User{}, fmt.Errorf("find session: %w", err)
	}
	if now.Sub(ses.SeenAt) >= touchEvery {
		if err := s.store.TouchSession(ctx, hash, now); err != nil {
			return domain.User{}, fmt.Errorf("touch session: %w", err)
		}
	}
	return u, nil
}

// Logout ends a session. An unknown session is not an error.
func (s *Service) Logout(ctx context.Context, secret string) error {
	u, err := s.Session(ctx, secret)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnauthorized {
			return nil
		}
		return err
	}
	err = s.store.DeleteSession(ctx, hashOf(secret),
		s.records.success(ctx, ActorOf(u, "ui"), "logout", "user:"+u.Name, "")...)
	if err != nil {
		return fmt.Errorf("log out: %w", err)
	}
	return nil
}

// Sessions lists a user's open sessions, newest first.
func (s *Service) Sessions(ctx context.Context, userID string) ([]domain.Session, error) {
	return s.store.Sessions(ctx, userID)
}

// UserChanged discards state about a user whose account changed: logins that wait for a code,
// counted failures, and sessions in memory except the one with the hash keep.
func (s *Service) UserChanged(u domain.User, keep string) {
	s.tickets.drop(u.ID)
	s.throttle.forget(u.Name)
	s.store.forget(func(ses domain.Session) bool { return ses.UserID == u.ID && ses.IDHash != keep })
}

// SessionEnded removes a session that is kept in memory.
func (s *Service) SessionEnded(hash string) {
	s.store.forget(func(ses domain.Session) bool { return ses.IDHash == hash })
}

// ActorOf returns the actor of a user who acts through an interface ("ui", "api").
func ActorOf(u domain.User, source string) domain.Actor {
	return domain.Actor{Name: u.Name, Role: u.Role, Source: source}
}

func noSession() error {
	return domain.Errorf(domain.CodeUnauthorized, "authentication required").Suggest("log in again")
}

func foldName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// shown removes characters from an outside name that are unsafe in a log.
func shown(name string) string { return cut(shownAll(name), 64) }

func shownAll(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}

// cut shortens s to at most n bytes of valid text.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
