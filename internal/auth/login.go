package auth

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Login checks a name and password and opens a session, whose secret it
// returns. It is throttled per account and address (CodeTooMany), and neither
// its answer nor its duration tells whether the name exists.
func (s *Service) Login(ctx context.Context, name, password, address, userAgent string) (string, kairos.User, error) {
	name = foldName(name)
	now := s.now()
	who := kairos.Actor{Name: shown(name), Surface: "ui"}
	if s.access.Load().NoPassword {
		s.recordDenied(ctx, who, "login", "user:"+who.Name, "with a password, from "+address)
		return "", kairos.User{}, kairos.Errorf(kairos.CodeForbidden, "nobody logs in with a password here").Suggest("log in with %s", s.label())
	}
	if wait, first := s.throttle.allow(now, name, address); wait > 0 {
		if first {
			s.recordDenied(ctx, who, "login", "user:"+who.Name, "throttled, from "+address)
		}
		return "", kairos.User{}, tooMany(wait)
	}
	u, err := s.store.User(ctx, name)
	switch {
	case kairos.CodeOf(err) == kairos.CodeNotFound || err == nil && u.Name != name:
		u = kairos.User{} // an id is no name
	case err != nil:
		return "", kairos.User{}, fmt.Errorf("log in: %w", err)
	}
	match, old, err := s.hasher.check(ctx, password, u.PasswordHash)
	if err != nil {
		return "", kairos.User{}, err
	}
	if !match || u.Disabled {
		s.recordDenied(ctx, who, "login", "user:"+who.Name, "from "+address)
		return "", kairos.User{}, kairos.Errorf(kairos.CodeUnauthorized, "name or password is wrong")
	}
	who.Role = u.Role
	if u, err = s.welcome(ctx, u, password, old, now); err != nil {
		return "", kairos.User{}, fmt.Errorf("log in: %w", err)
	}
	if on, _, err := s.SecondFactor(ctx, u.ID); err != nil {
		return "", kairos.User{}, err
	} else if on {
		return "", kairos.User{}, s.awaitCode(u.ID, now)
	}
	secret, err := s.openSession(ctx, u, now, address, userAgent, s.says(ctx, who, "login", "user:"+u.Name, "from "+address)...)
	if err != nil {
		return "", kairos.User{}, err
	}
	s.throttle.succeeded(now, name, address)
	return secret, u, nil
}

// welcome notes when a user was last seen, and hashes the password anew if its
// hash was made with other parameters.
func (s *Service) welcome(ctx context.Context, u kairos.User, password string, old bool, now time.Time) (kairos.User, error) {
	phc := u.PasswordHash
	if old {
		var err error
		if phc, err = s.hasher.hash(ctx, password); err != nil {
			return u, err
		}
	}
	s.change.Lock()
	defer s.change.Unlock()
	fresh, err := s.store.User(ctx, u.ID)
	if err != nil {
		return u, err
	}
	if fresh.PasswordHash != u.PasswordHash || fresh.Disabled {
		return u, kairos.Errorf(kairos.CodeUnauthorized, "name or password is wrong") // changed meanwhile
	}
	fresh.PasswordHash, fresh.LastSeenAt = phc, now
	return fresh, s.store.tryLater("when a user was seen", s.store.UpdateUser(ctx, fresh))
}

// openSession always makes a new id: nothing that the client chose is used (A18).
func (s *Service) openSession(ctx context.Context, u kairos.User, now time.Time, address, userAgent string, said ...kairos.AuditRecord) (string, error) {
	secret := newSecret()
	err := s.store.CreateSession(ctx, kairos.Session{
		IDHash: hashOf(secret), UserID: u.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(s.lifetime),
		Address: cut(address, 64), Agent: cut(userAgent, 256),
	}, said...)
	if err != nil {
		return "", fmt.Errorf("open session: %w", err)
	}
	return secret, nil
}

// Session finds the user of a session secret, with the role of this moment;
// CodeUnauthorized when the session is unknown, idle, over or its user disabled.
func (s *Service) Session(ctx context.Context, secret string) (kairos.User, error) {
	if len(secret) != 43 {
		return kairos.User{}, noSession()
	}
	hash := hashOf(secret)
	ses, err := s.store.SessionByHash(ctx, hash)
	if kairos.CodeOf(err) == kairos.CodeNotFound {
		return kairos.User{}, noSession()
	} else if err != nil {
		return kairos.User{}, fmt.Errorf("find session: %w", err)
	}
	now := s.notBefore(ses.SeenAt)
	if !now.Before(ses.ExpiresAt) || now.Sub(ses.SeenAt) >= s.idle {
		if err := s.store.DeleteSession(ctx, hash); err != nil {
			return kairos.User{}, fmt.Errorf("end session: %w", err)
		}
		return kairos.User{}, noSession()
	}
	u, err := s.store.User(ctx, ses.UserID)
	if kairos.CodeOf(err) == kairos.CodeNotFound || err == nil && u.Disabled {
		return kairos.User{}, noSession()
	} else if err != nil {
		return kairos.User{}, fmt.Errorf("find session: %w", err)
	}
	if now.Sub(ses.SeenAt) >= touchEvery {
		if err := s.store.TouchSession(ctx, hash, now); err != nil {
			return kairos.User{}, fmt.Errorf("touch session: %w", err)
		}
	}
	return u, nil
}

// Logout ends a session; an unknown one is no error.
func (s *Service) Logout(ctx context.Context, secret string) error {
	u, err := s.Session(ctx, secret)
	if err != nil {
		if kairos.CodeOf(err) == kairos.CodeUnauthorized {
			return nil
		}
		return err
	}
	if err := s.store.DeleteSession(ctx, hashOf(secret), s.says(ctx, ActorOf(u, "ui"), "logout", "user:"+u.Name, "")...); err != nil {
		return fmt.Errorf("log out: %w", err)
	}
	return nil
}

// Sessions lists a user's open sessions, newest first.
func (s *Service) Sessions(ctx context.Context, userID string) ([]kairos.Session, error) {
	return s.store.Sessions(ctx, userID)
}

// EndSessions ends all sessions of a user but the one with the secret keep
// (empty: none is kept).
func (s *Service) EndSessions(ctx context.Context, actor kairos.Actor, idOrName, keep string) error {
	u, err := s.store.User(ctx, idOrName)
	if err != nil {
		return err
	}
	if u.Name != actor.Name {
		if err := requireAdmin(actor); err != nil {
			return err
		}
	}
	kept := ""
	if keep != "" {
		kept = hashOf(keep)
	}
	if err := s.store.DeleteSessions(ctx, u.ID, kept, s.says(ctx, actor, "session.end", "user:"+u.Name, "")...); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	s.throttle.forget(u.Name)
	return nil
}

// EndSession ends one session of a user, named by the stored hash as
// [Service.Sessions] lists it.
func (s *Service) EndSession(ctx context.Context, actor kairos.Actor, userID, hash string) error {
	u, err := s.store.User(ctx, userID)
	if err != nil {
		return err
	}
	if u.Name != actor.Name {
		if err := requireAdmin(actor); err != nil {
			return err
		}
	}
	ses, err := s.store.SessionByHash(ctx, hash)
	if err != nil {
		return err
	}
	if ses.UserID != u.ID {
		return kairos.Errorf(kairos.CodeNotFound, "no such session")
	}
	if err := s.store.DeleteSession(ctx, hash, s.says(ctx, actor, "session.end", "user:"+u.Name, "")...); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// ActorOf is a user acting through a surface ("ui", "api").
func ActorOf(u kairos.User, surface string) kairos.Actor {
	return kairos.Actor{Name: u.Name, Role: u.Role, Surface: surface}
}

func noSession() error {
	return kairos.Errorf(kairos.CodeUnauthorized, "you are not logged in").Suggest("log in again")
}

func foldName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// shown is a name from outside as a log may hold it.
func shown(name string) string { return cut(shownAll(name), 64) }

func shownAll(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}

// cut shortens s to n bytes of valid text.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
