package auth

import (
	"context"
	"fmt"
	"net/url"

	"github.com/kairosd/kairosd/internal/auth/oidc"
	"github.com/kairosd/kairosd/internal/domain"
)

// IdentityProvider vouches for people. [oidc.Provider] is one.
type IdentityProvider interface {
	Label() string
	Issuer() string
	Begin(ctx context.Context, redirect, next string) (address, kept string, err error)
	Finish(ctx context.Context, kept string, answer url.Values) (id oidc.Identity, next string, err error)
}

// Ways says how people log in: with a password, and with what a provider of the
// given name says of them (empty: there is none).
func (s *Service) Ways() (password bool, provider string) {
	w := s.access.Load()
	if w.Provider != nil {
		provider = w.Provider.Label()
	}
	return !w.NoPassword, provider
}

// label names the provider in sentences.
func (s *Service) label() string {
	p := s.access.Load().Provider
	if p == nil {
		return "the identity provider"
	}
	return p.Label()
}

// BeginSSO starts a login at the identity provider: address is where the browser
// goes, kept is for a cookie of its own. It changes nothing here.
func (s *Service) BeginSSO(ctx context.Context, redirect, next string) (address, kept string, err error) {
	p := s.access.Load().Provider
	if p == nil {
		return "", "", domain.Errorf(domain.CodeNotFound, "no identity provider is configured")
	}
	return p.Begin(ctx, redirect, next)
}

// FinishSSO opens a session for whom the identity provider vouches. They are
// found by issuer and subject, never by a name or an address; a user of the same
// name is somebody else until an admin links them. Every outcome is recorded.
func (s *Service) FinishSSO(
	ctx context.Context,
	kept string,
	answer url.Values,
	address, userAgent string,
) (secret string, u domain.User, next string, err error) {
	w := s.access.Load() // one and the same for the whole login
	if w.Provider == nil {
		return "", u, "", domain.Errorf(domain.CodeNotFound, "no identity provider is configured")
	}
	now := s.clock.now()
	who := domain.Actor{Name: "anonymous", Surface: "ui"}
	if wait, first := s.throttle.allow(now, "", address); wait > 0 {
		if first {
			s.records.denied(ctx, who, "login", "", "throttled, from "+address)
		}
		return "", u, "", tooMany(wait)
	}
	id, next, err := w.Provider.Finish(ctx, kept, answer)
	if err == nil {
		who.Name = shown(foldName(id.Name))
		u, err = s.admit(ctx, w, id)
	}
	if err != nil {
		s.records.denied(ctx, who, "login", subjectOf(id), w.Provider.Label()+": "+shownLong(err.Error())+", from "+address)
		return "", u, "", err
	}
	said := s.records.success(ctx, ActorOf(u, "ui"), "login", "user:"+u.Name, "by "+w.Provider.Label()+", from "+address)
	if secret, err = s.openSession(ctx, u, now, address, userAgent, said...); err != nil {
		return "", u, "", err
	}
	s.throttle.succeeded(now, "", address)
	return secret, u, next, nil
}

// subjectOf names a stranger in the audit log, so that an admin can link them.
func subjectOf(id oidc.Identity) string {
	if id.Subject == "" {
		return ""
	}
	return "subject:" + cut(id.Subject, 200)
}

func shownLong(s string) string { return cut(shownAll(s), 400) }

// admit finds the user of an identity, or makes one.
func (s *Service) admit(ctx context.Context, w *Access, id oidc.Identity) (domain.User, error) {
	u, err := s.store.UserByIdentity(ctx, id.Issuer, id.Subject)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return s.newcomer(ctx, w, id)
	} else if err != nil {
		return u, fmt.Errorf("log in: %w", err)
	}
	if u.Disabled {
		return u, domain.Errorf(domain.CodeForbidden, "your account %s is disabled", u.Name).Suggest("ask an admin of kairosd")
	}
	if id.Managed && id.Role != u.Role {
		who := domain.Actor{Name: domain.System.Name, Role: domain.RoleAdmin, Surface: domain.System.Surface}
		if u, err = s.store.ChangeUser(ctx, u.ID, who, func(u *domain.User, others int) (domain.UserChange, error) {
			return ChangeUser(u, others, func(u *domain.User) (string, error) {
				u.Role = id.Role
				return " role " + string(id.Role) + ", as " + w.Provider.Label() + " says", nil
			})
		}); err != nil {
			return u, err
		}
		s.UserChanged(u, "")
	}
	return s.seen(ctx, u)
}

// seen notes when a user was last seen.
func (s *Service) seen(ctx context.Context, u domain.User) (domain.User, error) {
	now := s.clock.now()
	known, err := s.store.ChangeUser(ctx, u.ID, domain.System, func(u *domain.User, _ int) (domain.UserChange, error) {
		if u.Disabled { // meanwhile
			return domain.UserChange{}, noSession()
		}
		u.LastSeenAt = now
		return domain.UserChange{}, nil
	})
	if !full(err) {
		return known, err
	}
	if known, err = s.store.User(ctx, u.ID); err == nil && known.Disabled {
		err = noSession()
	}
	return known, err
}

// newcomer makes a user of whom nothing was known. The first of all must be an
// admin, or nobody could ever make another one.
func (s *Service) newcomer(ctx context.Context, w *Access, id oidc.Identity) (domain.User, error) {
	if !w.CreateUsers {
		return domain.User{}, domain.Errorf(domain.CodeForbidden, "you have no account here").
			Suggest("ask an admin of kairosd for one; at %s you are %s", w.Provider.Label(), shown(id.Subject))
	}
	u, err := newAccount(id.Name, id.Role, s.clock.now())
	if err != nil {
		return u, domain.Errorf(domain.CodeForbidden, "your name at %s, %q, cannot be a name here", w.Provider.Label(), shown(id.Name)).
			Suggest("ask an admin of kairosd for an account; at %s you are %s", w.Provider.Label(), shown(id.Subject))
	}
	u.Issuer, u.Subject, u.LastSeenAt = id.Issuer, id.Subject, u.CreatedAt
	first, err := s.NeedsSetup(ctx)
	if err != nil {
		return u, err
	}
	create := s.store.CreateUser
	if first {
		if u.Role != domain.RoleAdmin {
			return u, domain.Errorf(domain.CodeForbidden, "this installation is not set up yet").
				Suggest("let an admin log in first, or open the link that kairosd printed when it started")
		}
		create = s.store.CreateFirstUser
	}
	err = create(ctx, u,
		s.records.success(ctx, domain.System, "user.create", "user:"+u.Name, "role "+string(u.Role)+", by "+w.Provider.Label())...)
	if domain.CodeOf(err) == domain.CodeConflict {
		// The same person in another tab, or another user of that name.
		if same, err := s.store.UserByIdentity(ctx, id.Issuer, id.Subject); err == nil && !same.Disabled {
			return same, nil
		}
		return u, domain.Errorf(domain.CodeForbidden, "there is a user %s here already, who is not linked to %s", u.Name,
			w.Provider.Label()).
			Suggest("if that is you, ask an admin to link the account; at %s you are %s", w.Provider.Label(), shown(id.Subject))
	} else if err != nil {
		return u, fmt.Errorf("create user %s: %w", u.Name, err)
	}
	if first {
		s.EndSetup()
	}
	return u, nil
}

// Issuer is the identity provider that users are linked to; empty: there is none.
func (s *Service) Issuer() string { return s.access.Load().Issuer }

// CheckSubject refuses what cannot be a subject of an identity provider.
func CheckSubject(subject string) error {
	if len(subject) > 255 || shownAll(subject) != subject {
		return domain.Errorf(domain.CodeInvalid, "a subject has 1 to 255 printable characters")
	}
	return nil
}
