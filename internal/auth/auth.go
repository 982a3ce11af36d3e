// Package auth proves who somebody is: by passwords, second factors, sessions, API
// tokens, login links, an identity provider, and the one-time setup of a new installation,
// all of them throttled. Secrets are handed out once and stored only as hashes. The
// operations on accounts are in internal/app; this package has their rules.
package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Defaults of the limits of logins and sessions.
const (
	DefaultIdleTimeout     = 30 * time.Minute
	DefaultSessionLifetime = 12 * time.Hour
	DefaultTokenLifetime   = 90 * 24 * time.Hour
	MaxTokenLifetime       = 366 * 24 * time.Hour
	SetupLifetime          = time.Hour

	// touchEvery bounds how often use is written down: a request costs no write.
	touchEvery = time.Minute
)

// Config configures a [Service]. Store is required.
type Config struct {
	Store Store
	Audit Audit // nil: nothing is recorded
	Log   *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// SetupFile is where the one-time setup secret is written for the operator
	// of the machine, mode 0600; empty: nowhere.
	SetupFile string
	// Provider logs people in besides passwords; nil: nobody else does.
	Provider IdentityProvider
	// Issuer is the provider that users are linked to; empty: Provider's.
	Issuer string
	// CreateUsers makes users of whom the provider vouches for and nobody knows.
	CreateUsers bool
	// NoPassword refuses logins with passwords. The setup link and login links
	// stay.
	NoPassword bool
	// SecondFactorFor are the roles, and with them the stronger ones, whose people
	// must have a second factor if they have a password.
	SecondFactorFor []domain.Role
	IdleTimeout     time.Duration // 0: DefaultIdleTimeout
	SessionLifetime time.Duration // 0: DefaultSessionLifetime
}

// Access is how people log in, as in [Config].
type Access struct {
	Provider        IdentityProvider
	Issuer          string
	CreateUsers     bool
	NoPassword      bool
	SecondFactorFor []domain.Role
}

// Reconfigure lets people log in in other ways from now on. Sessions stay; a login
// that is half-way at a provider ends where it began. With an error nothing has
// changed.
func (s *Service) Reconfigure(w Access) error {
	if w.Provider != nil && w.Issuer == "" {
		w.Issuer = w.Provider.Issuer()
	}
	s.access.Store(&w)
	return nil
}

// Service knows users, sessions and tokens. It is safe for concurrent use.
type Service struct {
	store    *spare
	audit    Audit
	log      *slog.Logger
	clock    func() time.Time
	file     string
	idle     time.Duration
	lifetime time.Duration

	access atomic.Pointer[Access]

	hasher   *hasher
	throttle *throttle

	mu     sync.Mutex
	latest time.Time // the clock never runs backwards here (A48)
	setup  setupSecret
	links  map[string]loginLink // by hash
	// tickets are logins that wait for a code, and confirmed is when sessions were
	// confirmed, both by hash.
	tickets   map[string]*ticket
	confirmed map[string]time.Time

	// codes lets one code of a second factor be checked at a time: on a full disk only
	// the memory of this process knows which were used.
	codes sync.Mutex
}

// New returns a Service.
func New(c Config) (*Service, error) {
	if c.Store == nil {
		return nil, errors.New("auth: no store given")
	}
	s := &Service{
		audit: c.Audit, log: c.Log, clock: c.Now, file: c.SetupFile,
		idle:     cmp.Or(c.IdleTimeout, DefaultIdleTimeout),
		lifetime: cmp.Or(c.SessionLifetime, DefaultSessionLifetime),
		hasher:   newHasher(), throttle: newThrottle(), links: map[string]loginLink{}, tickets: map[string]*ticket{}, confirmed: map[string]time.Time{},
	}
	if err := s.Reconfigure(Access{Provider: c.Provider, Issuer: c.Issuer, CreateUsers: c.CreateUsers, NoPassword: c.NoPassword, SecondFactorFor: c.SecondFactorFor}); err != nil {
		return nil, err
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.store = newSpare(c.Store, s.audit, s.log, s.clock)
	return s, nil
}

// Sweep removes sessions that are over. What
// was swept cannot come back when the clock is set back (A48).
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now()
	return s.store.DeleteExpiredSessions(ctx, now, now.Add(-s.idle))
}

// Run sweeps once a minute until the context ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("sweep sessions", "err", err)
			}
		}
	}
}

// now is the clock, but never before what it said or a session was seen at.
func (s *Service) now() time.Time { return s.notBefore(time.Time{}) }

func (s *Service) notBefore(seen time.Time) time.Time {
	t := s.clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen.After(s.latest) {
		s.latest = seen
	}
	if t.After(s.latest) {
		s.latest = t
	}
	return s.latest
}

// record writes an outcome down. An act that cannot be recorded is refused.
// says is what a change records, with it in one transaction.
func (s *Service) says(ctx context.Context, actor domain.Actor, action, object, reason string) []domain.AuditRecord {
	if s.audit == nil {
		return nil
	}
	return []domain.AuditRecord{recordOf(ctx, actor, domain.AuditRecord{Action: action, Object: object, Result: "ok", Reason: reason})}
}

// recordOf says who did it, and by which request.
func recordOf(ctx context.Context, actor domain.Actor, r domain.AuditRecord) domain.AuditRecord {
	r.Actor, r.Surface, r.Request = actor.Name, actor.Surface, actor.Request
	if r.Request == (domain.Request{}) {
		r.Request = domain.RequestOf(ctx)
	}
	return r
}

func (s *Service) record(ctx context.Context, actor domain.Actor, action, object, result, reason string) error {
	if s.audit == nil {
		return nil
	}
	return s.audit.Audit(ctx, recordOf(ctx, actor, domain.AuditRecord{Action: action, Object: object, Result: result, Reason: reason}))
}

// recordDenied writes a refusal down; the refusal stands even if that fails.
func (s *Service) recordDenied(ctx context.Context, actor domain.Actor, action, object, reason string) {
	if s.audit == nil {
		return
	}
	if err := s.store.denied(ctx, recordOf(ctx, actor, domain.AuditRecord{Action: action, Object: object, Result: "denied", Reason: reason})); err != nil {
		s.log.Error("record a refusal", "action", action, "err", err)
	}
}

// newSecret returns 256 random bits as 43 characters of base64url.
func newSecret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// HashOf is what is stored of the secret of a session.
func HashOf(secret string) string { return hashOf(secret) }

// hashOf is what is stored of a secret. A fast hash will do: 256 random bits
// cannot be guessed (ASVS 6.5.2).
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
