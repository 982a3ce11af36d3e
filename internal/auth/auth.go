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
	records  recorder
	log      *slog.Logger
	clock    *clock
	file     string
	idle     time.Duration
	lifetime time.Duration

	access atomic.Pointer[Access]

	hasher   *hasher
	throttle *throttle
	factors  *secondFactors
	tickets  *tickets

	mu        sync.Mutex
	setup     setupSecret
	links     map[string]loginLink // by hash
	confirmed map[string]time.Time // when sessions were confirmed, by hash
}

// New returns a Service.
func New(c Config) (*Service, error) {
	if c.Store == nil {
		return nil, errors.New("auth: no store given")
	}
	s := &Service{
		log: c.Log, clock: &clock{source: c.Now}, file: c.SetupFile,
		idle:     cmp.Or(c.IdleTimeout, DefaultIdleTimeout),
		lifetime: cmp.Or(c.SessionLifetime, DefaultSessionLifetime),
		hasher:   newHasher(), throttle: newThrottle(),
		tickets: &tickets{byHash: map[string]*ticket{}}, links: map[string]loginLink{}, confirmed: map[string]time.Time{},
	}
	if err := s.Reconfigure(Access{Provider: c.Provider, Issuer: c.Issuer, CreateUsers: c.CreateUsers, NoPassword: c.NoPassword,
		SecondFactorFor: c.SecondFactorFor}); err != nil {
		return nil, err
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock.source == nil {
		s.clock.source = time.Now
	}
	s.store = newSpare(c.Store, c.Audit, s.log, s.clock.source)
	s.records = recorder{c.Audit, s.store, s.log}
	s.factors = &secondFactors{store: s.store}
	return s, nil
}

// Sweep removes sessions that are over. What
// was swept cannot come back when the clock is set back (A48).
func (s *Service) Sweep(ctx context.Context) error {
	now := s.clock.now()
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
