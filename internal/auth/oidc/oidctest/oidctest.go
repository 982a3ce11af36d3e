// Package oidctest is an OpenID Connect provider for tests. It serves HTTP, signs with RS256,
// requires PKCE and the client's secret, accepts each code once, and can simulate faults.
package oidctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Client is the registered client.
const (
	ClientID     = "kairosd"
	ClientSecret = "the client's secret"
)

// Provider is a running provider. Set its fields before a login.
type Provider struct {
	URL string

	mu sync.Mutex
	// claims of the user who is logged in at the provider.
	claims map[string]any
	// userInfo are claims that only the user information endpoint returns.
	userInfo map[string]any
	tamper   func(claims map[string]any)
	forge    bool
	plain    bool
	refuse   string
	down     bool

	server *httptest.Server
	key    *rsa.PrivateKey
	other  *rsa.PrivateKey
	codes  map[string]grant
}

// grant is the data of a code.
type grant struct{ challenge, redirect, nonce string }

var keys = sync.OnceValues(func() (*rsa.PrivateKey, *rsa.PrivateKey) {
	a, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	b, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return a, b
})

// New starts a provider. It ends with the test.
func New(tb testing.TB) *Provider {
	tb.Helper()
	p := &Provider{codes: map[string]grant{}}
	p.key, p.other = keys()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /userinfo", p.info)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	p.URL = p.server.URL
	tb.Cleanup(p.server.Close)
	return p
}

// Person sets the user who is logged in at the provider.
func (p *Provider) Person(subject, name string, groups ...string) *Provider {
	return p.set(func() { p.claims = map[string]any{"sub": subject, "preferred_username": name, "groups": groups} })
}

// Claims adds claims to the ID tokens from now on.
func (p *Provider) Claims(claims map[string]any) *Provider {
	return p.set(func() { p.claims = claims })
}

// UserInfo sets the claims of the user information endpoint.
func (p *Provider) UserInfo(claims map[string]any) *Provider {
	return p.set(func() { p.userInfo = claims })
}

// Tamper changes ID tokens before they are signed. Nil changes nothing.
func (p *Provider) Tamper(f func(claims map[string]any)) *Provider {
	return p.set(func() { p.tamper = f })
}

// Forge signs with a key that is not the provider's.
func (p *Provider) Forge(on bool) *Provider { return p.set(func() { p.forge = on }) }

// Unsigned issues ID tokens without a signature (alg none).
func (p *Provider) Unsigned(on bool) *Provider { return p.set(func() { p.plain = on }) }

// Refuse rejects every login with an error code.
func (p *Provider) Refuse(code string) *Provider { return p.set(func() { p.refuse = code }) }

// Down answers every request with an error.
func (p *Provider) Down(on bool) *Provider { return p.set(func() { p.down = on }) }

func (p *Provider) set(f func()) *Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	return p
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	answer(
		w,
		map[string]any{
			"issuer":                                p.URL,
			"authorization_endpoint":                p.URL + "/authorize",
			"token_endpoint":                        p.URL + "/token",
			"jwks_uri":                              p.URL + "/keys",
			"userinfo_endpoint":                     p.URL + "/userinfo",
			"response_types_supported":              []string{"code"},
			"subject_types_supported":               []string{"public"},
			"id_token_signing_alg_values_supported": []string{"RS256"},
			"code_challenge_methods_supported":      []string{"S256"},
		},
	)
}

// authorize is the login page. It accepts the configured user.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("code_challenge") == "" ||
		q.Get("state") == "" ||
		q.Get("nonce") == "" {
		http.Error(w, "malformed request", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {p.URL}}
	if p.refuse != "" {
		back.Set("error", p.refuse)
	} else {
		code := rand.Text()
		p.codes[code] = grant{q.Get("code_challenge"), q.Get("redirect_uri"), q.Get("nonce")}
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	fail := func(code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		if err := json.NewEncoder(w).Encode(map[string]string{"error": code}); err != nil {
			panic(err)
		}
	}
	id, secret, ok := r.BasicAuth()
	if id, _ = url.QueryUnescape(id); !ok {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	} else {
		secret, _ = url.QueryUnescape(secret)
	}
	if id != ClientID || secret != ClientSecret {
		fail("invalid_client")
		return
	}
	g, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code")) // each code is valid once
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || g.redirect != r.FormValue("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		fail("invalid_grant")
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "nonce": g.nonce}
	maps.Copy(claims, p.claims)
	if p.tamper != nil {
		p.tamper(claims)
	}
	answer(w, map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": p.sign(claims)})
}

func (p *Provider) sign(claims map[string]any) string {
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	if p.plain {
		return part(map[string]string{"alg": "none"}) + "." + part(claims) + "."
	}
	text := part(map[string]string{"alg": "RS256", "kid": "one"}) + "." + part(claims)
	key := p.key
	if p.forge {
		key = p.other
	}
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"keys": []any{map[string]string{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one",
		"n": base64.RawURLEncoding.EncodeToString(
			p.key.N.Bytes(),
		), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(p.key.E)).Bytes())}}})
}

func (p *Provider) info(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer opaque" || p.userInfo == nil {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	answer(w, p.userInfo)
}
