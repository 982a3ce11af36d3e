package auth

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// LinkLifetime is how long a login link is valid.
const LinkLifetime = 10 * time.Minute

// maxLinks limits the login links that are valid at the same time.
const maxLinks = 100

// loginLink lets one user log in once, without password or provider.
type loginLink struct {
	user string
	ends time.Time
}

// OpenLink returns the secret of a link, /login/link?token=SECRET. The link logs a user in once
// within ten minutes, if no other way works.
func (s *Service) OpenLink(userID string) (string, error) {
	secret, now := newSecret(), s.clock.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.links, func(_ string, l loginLink) bool { return !now.Before(l.ends) })
	if len(s.links) >= maxLinks {
		return "", domain.Errorf(domain.CodeTooMany, "too many login links are open").Suggest("wait ten minutes")
	}
	s.links[hashOf(secret)] = loginLink{userID, now.Add(LinkLifetime)}
	return secret, nil
}

// FollowLink consumes the secret of a login link and opens a session.
func (s *Service) FollowLink(ctx context.Context, link, address, userAgent string) (string, domain.User, error) {
	now := s.clock.now()
	who := domain.Actor{Name: "anonymous", Source: "ui"}
	if wait, first := s.throttle.allow(now, "", address); wait > 0 {
		if first {
			s.records.denied(ctx, who, "login", "", "throttled, from "+address)
		}
		return "", domain.User{}, tooMany(wait)
	}
	s.mu.Lock()
	l, ok := s.links[hashOf(link)]
	delete(s.links, hashOf(link))
	s.mu.Unlock()
	if !ok || !now.Before(l.ends) {
		s.records.denied(ctx, who, "login", "", "invalid, used, or expired login link, from "+address)
		return "", domain.User{}, domain.Errorf(domain.CodeForbidden, "this login link is invalid, used, or expired").
			Suggest("create a new one: kairosd user login-link NAME")
	}
	u, err := s.seen(ctx, domain.User{ID: l.user})
	if err != nil {
		return "", u, fmt.Errorf("log in: %w", err)
	}
	secret, err := s.openSession(ctx, u, now, address, userAgent,
		s.records.success(ctx, ActorOf(u, "ui"), "login", "user:"+u.Name, "by a login link, from "+address)...)
	if err == nil {
		s.throttle.succeeded(now, "", address)
	}
	return secret, u, err
}
