// Package oidc authenticates people at an OpenID Connect provider, with the authorization code
// flow, PKCE, state, and nonce.
//
// The package sends no request to the provider before the first login. It keeps the provider's
// metadata for an hour. If the provider is down, only this kind of login fails.
package oidc

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/kairosd/kairosd/internal/domain"
)

const (
	// Timeout limits each request to the provider, and the whole exchange of a login.
	Timeout = 10 * time.Second
	// keep is how long the provider's metadata is valid.
	keep = time.Hour
	// again is the pause after a failed request before the provider is called again.
	again = 3 * time.Second
)

// Config describes the provider and the roles of its groups.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string // empty: a public client with PKCE only
	// Redirect is the registered redirect address. Empty means the address used by the browser.
	Redirect string
	Scopes   []string // in addition to openid
	// Label is the provider's name, as shown on the button.
	Label string
	// NameClaim is the claim with the name of a new user. The default is preferred_username.
	NameClaim string
	// RoleClaim is the claim with the groups, as a list or a text. Dots lead into objects. The
	// default is groups.
	RoleClaim string
	// Roles maps groups to roles; the strongest role counts. If it is empty, the provider only
	// authenticates, and roles are set in kairosd.
	Roles map[string]domain.Role
	// DefaultRole is the role of users without a mapped group. If it is empty, they are rejected if
	// there is a mapping, and new users are viewers if there is none.
	DefaultRole domain.Role
	// AllowedGroups admits only members of one of these groups. Empty admits everyone.
	AllowedGroups []string
	// CAFile holds certificates to trust for the provider, in addition to the system's.
	CAFile string

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: no log
}

// Identity is an authenticated person.
type Identity struct {
	// Issuer and Subject together identify the person permanently.
	Issuer, Subject string
	// Name is the name at the provider. It proves nothing.
	Name string
	// Role is the role of their groups. Unless Managed is set, it is for new users only.
	Role    domain.Role
	Managed bool
}

// Provider is an identity provider. It is safe for concurrent use.
type Provider struct {
	c      Config
	client *http.Client
	seal   cipher.AEAD

	asking sync.Mutex // allows one request at a time, for any number of logins
	mu     sync.Mutex
	found  *oidc.Provider
	at     time.Time // when it was found
	failed time.Time // when it last failed to answer
	err    error
	used   map[string]time.Time // states of finished logins, with their ends
}

// New returns a Provider. It sends no request.
func New(c Config) (*Provider, error) {
	if c.Issuer == "" || c.ClientID == "" {
		return nil, errors.New("oidc: issuer and client id are required")
	}
	c.NameClaim = cmp.Or(c.NameClaim, "preferred_username")
	c.RoleClaim = cmp.Or(c.RoleClaim, "groups")
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("oidc: the standard transport was replaced")
	}
	transport = transport.Clone()
	if c.CAFile != "" {
		pool, err := pool(c.CAFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	// The key is valid for this process only. A login that began before a restart must start again.
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	return &Provider{c: c, seal: seal, used: map[string]time.Time{}, client: &http.Client{
		Timeout: Timeout, Transport: bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func pool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("oidc: read certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("oidc: %s holds no certificate", file)
	}
	return pool, nil
}

// Label returns the provider's name, as shown on the button.
func (p *Provider) Label() string { return p.c.Label }

// Issuer returns the issuer of the identities.
func (p *Provider) Issuer() string { return p.c.Issuer }

// provider returns the provider's metadata. It requests the metadata when it is needed, and keeps
// it. It returns CodeUnavailable if the provider does not answer.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	if found, err := p.known(); found != nil || err != nil {
		return found, err
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if found, err := p.known(); found != nil || err != nil { // another login requested it in the meantime
		return found, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), Timeout)
	defer cancel()
	found, err := oidc.NewProvider(ctx, p.c.Issuer)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.c.Now()
	if err == nil {
		p.found, p.at, p.err = found, now, nil
		return found, nil
	}
	if p.found != nil { // the previous metadata is probably still valid
		p.c.Log.Warn("the identity provider does not respond; using its previous metadata", "issuer", p.c.Issuer, "err", err)
		p.at = now.Add(again - keep)
		return p.found, nil
	}
	p.failed, p.err = now, p.down(err)
	return nil, p.err
}

// known returns the provider, or its latest failure if that is recent.
func (p *Provider) known() (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.c.Now()
	if p.found != nil && now.Sub(p.at) < keep {
		return p.found, nil
	}
	if p.err != nil && now.Sub(p.failed) < again {
		return nil, p.err
	}
	return nil, nil
}

func (p *Provider) down(err error) error {
	p.c.Log.Warn("the identity provider cannot be used", "issuer", p.c.Issuer, "err", err)
	return domain.Errorf(domain.CodeUnavailable, "%s is not available", p.c.Label).
		Suggest("try again in a few seconds; the log of kairosd shows the reason")
}

func (p *Provider) oauth(found *oidc.Provider, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.c.ClientID, ClientSecret: p.c.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.c.Scopes...)}
}

// bounded limits the size of responses.
type bounded struct{ next http.RoundTripper }

const maxAnswer = 1 << 20

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	return resp, nil
}
