package auth

import (
	"context"
	"fmt"
	"net/url"

	"github.com/kairosd/kairosd/internal/auth/oidc"
	"github.com/kairosd/kairosd/internal/domain"
)

// IdentityProvider authenticates people. [oidc.Provider] is one.
type IdentityProvider interface {
	Label() string
	Issuer() string
	Begin(ctx context.Context, redirect, next string) (address, kept string, err error)
	Finish(ctx context.Context, kept string, answer url.Values) (id oidc.Identity, next string, err error)
}

// LoginMethods returns how people can log in: whether with a password, and the name of the identity
// provider, or "" if there is none.
func (s *Service) LoginMethods() (password bool, provider string) {
	w := s.access.Load()
	if w.Provider != nil {
		provider = w.Provider.Label()
	}
	return !w.NoPassword, provider
}

// label returns the name of the provider for messages.
func (s *Service) label() string {
	p := s.access.Load().Provider
	if p == nil {
		return "the identity provider"
	}
	return p.Label()
}

// BeginSSO starts a login at the identity provider. address is the address to which the browser is
// sent, and kept is the value of a cookie. Nothing is stored.
func (s *Service) BeginSSO(ctx context.Context, redirect, next string) (address, kept string, err error) {
	p := s.access.Load().Provider
	if p == nil {
		return "", "", domain.Errorf(domain.CodeNotFound, "no identity provider is configured")
	}
	return p.Begin(ctx, redirect, next)
}

// FinishSSO opens a session for an identity of the provider. It finds the user by issuer and
// subject, never by name or address. A user with the same name is another person until an
// administrator links them. Every outcome is recorded.
func (s *Service) FinishSSO(
	ctx context.Context,
	kept string,
	answer url.Values,
	address, userAgent string,
) (secret string, u domain.User, next string, err error) {
	w := s.access.Load() // one configuration for the whole login
	if w.Provider == nil {
		return "", u, "", domain.Errorf(domain.CodeNotFound, "no identity provider is configured")
	}
	now := s.clock.now()
	who := domain.Actor{Name: "anonymous", Source: "ui"}
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
	records := s.records.success(ctx, ActorOf(u, "ui"), "login", "user:"+u.Name, "by "+w.Provider.Label()+", from "+address)
	if secret, err = s.openSession(ctx, u, now, address, userAgent, records...); err != nil {
		return "", u, "", err
	}
	s.throttle.succeeded(now, "", address)
	return secret, u, next, nil
}

// subjectOf describes an unknown identity in the audit log, so that an administrator can link it.
func subjectOf(id oidc.Identity) string {
	if id.Subject == "" {
		return ""
	}
	return "subject:" + cut(id.Subject, 200)
}

func shownLong(s string) string { return cut(shownAll(s), 400) }

// admit finds the user of an identity, or creates one.
func (s *Service) admit(ctx context.Context, w *Access, id oidc.Identity) (domain.User, error) {
	u, err := s.store.UserByIdentity(ctx, id.Issuer, id.Subject)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return s.newcomer(ctx, w, id)
	} else if err != nil {
		return u, fmt.Errorf("log in: %w", err)
	}
	if u.Disabled {
		return u, domain.Errorf(domain.CodeForbidden, "your account %s is disabled", u.Name).Suggest("ask an administrator of kairosd")
	}
	if id.Managed && id.Role != u.Role {
		who := domain.Actor{Name: domain.System.Name, Role: domain.RoleAdmin, Source: domain.System.Source}
		if u, err = s.store.ChangeUser(ctx, u.ID, who, func(u *domain.User, others int) (domain.UserChange, error) {
			return ChangeUser(u, others, func(u *domain.User) (string, error) {
				u.Role = id.Role
				return " role " + string(id.Role) + ", from " + w.Provider.Label(), nil
			})
		}); err != nil {
			return u, err
		}
		s.UserChanged(u, "")
	}
	return s.seen(ctx, u)
}

// seen stores when a user was last seen.
func (s *Service) seen(ctx context.Context, u domain.User) (domain.User, error) {
	now := s.clock.now()
	known, err := s.store.ChangeUser(ctx, u.ID, domain.System, func(u *domain.User, _ int) (domain.UserChange, error) {
		if u.Disabled { // disabled in the meantime
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

// newcomer creates a user for an unknown identity. The first user of a server must be an
// administrator, because only an administrator can create another one.
func (s *Service) newcomer(ctx context.Context, w *Access, id oidc.Identity) (domain.User, error) {
	if !w.CreateUsers {
		return domain.User{}, domain.Errorf(domain.CodeForbidden, "you have no account on this server").
			Suggest("ask an administrator of kairosd for one; your identity at %s is %s", w.Provider.Label(), shown(id.Subject))
	}
	u, err := newAccount(id.Name, id.Role, s.clock.now())
	if err != nil {
		return u, domain.Errorf(domain.CodeForbidden, "your name at %s, %q, is not a valid user name", w.Provider.Label(), shown(id.Name)).
			Suggest("ask an administrator of kairosd for an account; your identity at %s is %s", w.Provider.Label(), shown(id.Subject))
	}
	u.Issuer, u.Subject, u.LastSeenAt = id.Issuer, id.Subject, u.CreatedAt
	first, err := s.NeedsSetup(ctx)
	if err != nil {
		return u, err
	}
	create := s.store.CreateUser
	if first {
		if u.Role != domain.RoleAdmin {
			return u, domain.Errorf(domain.CodeForbidden, "this server is not set up yet").
				Suggest("log in as an administrator first, or open the link that kairosd printed at its start")
		}
		create = s.store.CreateFirstUser
	}
	err = create(ctx, u,
		s.records.success(ctx, domain.System, "user.create", "user:"+u.Name, "role "+string(u.Role)+", by "+w.Provider.Label())...)
	if domain.CodeOf(err) == domain.CodeConflict {
		// The same person may have logged in in another tab, or another user has the name.
		if same, err := s.store.UserByIdentity(ctx, id.Issuer, id.Subject); err == nil && !same.Disabled {
			return same, nil
		}
		return u, domain.Errorf(domain.CodeForbidden, "user %s already exists, and is not linked to %s", u.Name,
			w.Provider.Label()).
			Suggest("if that is you, ask an administrator to link the account; your identity at %s is %s", w.Provider.Label(),
				shown(id.Subject))
	} else if err != nil {
		return u, fmt.Errorf("create user %s: %w", u.Name, err)
	}
	if first {
		s.EndSetup()
	}
	return u, nil
}

// Issuer returns the identity provider that users are linked to, or "" if there is none.
func (s *Service) Issuer() string { return s.access.Load().Issuer }

// CheckSubject rejects texts that cannot be a subject of an identity provider.
func CheckSubject(subject string) error {
	if len(subject) > 255 || shownAll(subject) != subject {
		return domain.Errorf(domain.CodeInvalid, "a subject has 1 to 255 printable characters")
	}
	return nil
}
