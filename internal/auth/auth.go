// Package auth authenticates people and programs: by passwords, second factors, sessions, API
// tokens, login links, an identity provider, and the one-time setup of a new server. All of them
// are throttled. Secrets are shown once and stored only as hashes. The operations on accounts are
// in internal/app, and their rules are in this package.
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

// Default limits of logins and sessions.
const (
	DefaultIdleTimeout     = 30 * time.Minute
	DefaultSessionLifetime = 12 * time.Hour
	DefaultTokenLifetime   = 90 * 24 * time.Hour
	MaxTokenLifetime       = 366 * 24 * time.Hour
	SetupLifetime          = time.Hour

	// touchEvery is the minimum time between two stored uses of a session or token, so that a
	// request does not cost a write.
	touchEvery = time.Minute
)

// Config configures a [Service]. Store is required.
type Config struct {
	Store Store
	Audit Audit // nil: nothing is recorded
	Log   *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// SetupFile is the file that receives the one-time setup secret, with mode 0600. Empty means
	// none.
	SetupFile string
	// Provider is the identity provider, besides passwords. Nil means none.
	Provider IdentityProvider
	// Issuer is the provider that users are linked to. Empty means that of Provider.
	Issuer string
	// CreateUsers creates a user when the provider authenticates an unknown person.
	CreateUsers bool
	// NoPassword disables password logins. The setup link and login links still work.
	NoPassword bool
	// SecondFactorFor lists the roles that require a second factor if the user has a password.
	// Stronger roles require it too.
	SecondFactorFor []domain.Role
	IdleTimeout     time.Duration // 0: DefaultIdleTimeout
	SessionLifetime time.Duration // 0: DefaultSessionLifetime
}

// Access configures how people log in. The fields are those of [Config].
type Access struct {
	Provider        IdentityProvider
	Issuer          string
	CreateUsers     bool
	NoPassword      bool
	SecondFactorFor []domain.Role
}

// Reconfigure changes how people log in. Sessions stay. A login in progress at a provider finishes
// with the previous configuration. An error changes nothing.
func (s *Service) Reconfigure(w Access) error {
	if w.Provider != nil && w.Issuer == "" {
		w.Issuer = w.Provider.Issuer()
	}
	s.access.Store(&w)
	return nil
}

// Service holds users, sessions, and tokens. It is safe for concurrent use.
type Service struct {
	store    *fullDiskStore
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
	confirmed map[string]time.Time // time of the last confirmation of a session, by hash
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
	s.store = newFullDiskStore(c.Store, c.Audit, s.log, s.clock.source)
	s.records = recorder{c.Audit, s.store, s.log}
	s.factors = &secondFactors{store: s.store}
	return s, nil
}

// Sweep removes expired sessions. They stay expired when the clock is set back.
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
	rand.Read(b[:]) // never fails: on an error, crypto/rand ends the program
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// HashOf returns the hash that is stored for the secret of a session.
func HashOf(secret string) string { return hashOf(secret) }

// hashOf returns the hash that is stored for a secret. A fast hash is safe, because 256 random bits
// cannot be guessed (ASVS 6.5.2).
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
