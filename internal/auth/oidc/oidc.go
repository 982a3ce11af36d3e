// Package oidc logs people in at a provider of identities: OpenID Connect's
// authorization code flow with PKCE, state and nonce.
//
// Nothing is asked of the provider before somebody wants to log in, and what it
// says of itself is kept for an hour; a provider that is down keeps nobody from
// anything but this way in.
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
	// Timeout bounds each request to the provider, and a whole login too.
	Timeout = 10 * time.Second
	// keep is how long the provider's description of itself is believed.
	keep = time.Hour
	// again is how soon a provider that did not answer is asked anew.
	again = 3 * time.Second
)

// Config describes the provider and what its groups may do here.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string // empty: a public client, PKCE alone
	// Redirect is where the provider sends browsers back to, as it is registered
	// there; empty: the address that the browser used.
	Redirect string
	Scopes   []string // besides openid
	// Label is the provider's name, as on the button.
	Label string
	// NameClaim holds the name of a new user; default preferred_username.
	NameClaim string
	// RoleClaim holds the groups, as a list or a text; dots lead into objects.
	// Default groups.
	RoleClaim string
	// Roles maps groups to roles; the strongest counts. Empty: the provider says
	// who somebody is, and roles are given here.
	Roles map[string]domain.Role
	// DefaultRole is for those without a mapped group; empty: they are refused if
	// there is a mapping, and new users are viewers if there is none.
	DefaultRole domain.Role
	// AllowedGroups lets in only members of one of them; empty: everybody.
	AllowedGroups []string
	// CAFile holds certificates to trust for the provider, besides the system's.
	CAFile string

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: nothing is logged
}

// Identity is what the provider vouches for.
type Identity struct {
	// Issuer and Subject together name the person for ever.
	Issuer, Subject string
	// Name is how the provider calls them; it proves nothing.
	Name string
	// Role is what their groups give them. Unless Managed it is for new users only.
	Role    domain.Role
	Managed bool
}

// Provider is one provider of identities. It is safe for concurrent use.
type Provider struct {
	c      Config
	client *http.Client
	seal   cipher.AEAD

	asking sync.Mutex // one question at a time, however many want to log in
	mu     sync.Mutex
	found  *oidc.Provider
	at     time.Time // when it was found
	failed time.Time // when it last did not answer
	err    error
	used   map[string]time.Time // states of finished logins, with their ends
}

// New makes a Provider; it sends nothing.
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
	// A key of this process: a login that was begun before a restart begins anew.
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

// Label is the provider's name, as on the button.
func (p *Provider) Label() string { return p.c.Label }

// Issuer is who vouches.
func (p *Provider) Issuer() string { return p.c.Issuer }

// provider is the provider as it describes itself, asked for when it is needed
// and no more often than that; CodeUnavailable when it does not answer.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	if found, err := p.known(); found != nil || err != nil {
		return found, err
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if found, err := p.known(); found != nil || err != nil { // somebody else asked meanwhile
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
	if p.found != nil { // what it said of itself before is likely still true
		p.c.Log.Warn("the identity provider does not answer; its last description is used", "issuer", p.c.Issuer, "err", err)
		p.at = now.Add(again - keep)
		return p.found, nil
	}
	p.failed, p.err = now, p.down(err)
	return nil, p.err
}

// known is the provider, or its last failure while that is fresh.
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
	return domain.Errorf(domain.CodeUnavailable, "%s cannot be used now", p.c.Label).
		Suggest("try again in a moment; the log of kairosd says what is wrong")
}

func (p *Provider) oauth(found *oidc.Provider, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.c.ClientID, ClientSecret: p.c.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.c.Scopes...)}
}

// bounded reads no endless answers.
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
