package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/kairosd/kairosd/internal/domain"
)

// Lifetime is how long a login may take at the provider.
const Lifetime = 10 * time.Minute

// flow is one login under way. The browser keeps it, sealed: nobody who only
// begins logins can make this process remember anything.
type flow struct {
	State, Nonce, Verifier string
	Redirect               string
	Next                   string
	Ends                   time.Time
}

// Begin starts a login: address is where the browser goes, kept is what it has
// to bring back, in a cookie of its own. redirect is where the provider sends
// the browser afterwards, next the page that the person wanted.
func (p *Provider) Begin(ctx context.Context, redirect, next string) (address, kept string, err error) {
	found, err := p.provider(ctx)
	if err != nil {
		return "", "", err
	}
	redirect = cmp.Or(p.c.Redirect, redirect)
	f := flow{
		State:    rand.Text(),
		Nonce:    rand.Text(),
		Verifier: oauth2.GenerateVerifier(),
		Redirect: redirect,
		Next:     next,
		Ends:     p.c.Now().Add(Lifetime),
	}
	kept, err = p.close(f)
	return p.oauth(found, redirect).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), kept, err
}

func (p *Provider) close(f flow) (string, error) {
	plain, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("oidc: keep a login: %w", err)
	}
	nonce := make([]byte, p.seal.NonceSize())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(p.seal.Seal(nonce, nonce, plain, nil)), nil
}

func (p *Provider) open(kept string) (f flow, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil || len(sealed) < p.seal.NonceSize() {
		return f, false
	}
	plain, err := p.seal.Open(nil, sealed[:p.seal.NonceSize()], sealed[p.seal.NonceSize():], nil)
	return f, err == nil && json.Unmarshal(plain, &f) == nil
}

// take finds the login that an answer belongs to, once.
func (p *Provider) take(kept, state string) (flow, error) {
	f, ok := p.open(kept)
	now := p.c.Now()
	switch {
	case kept == "":
		return f, refuse("this browser has begun no login", "begin again from the login page; cookies must be allowed")
	case !ok:
		return f, refuse("this login was begun before kairosd was restarted, or was tampered with", "begin again from the login page")
	case !now.Before(f.Ends):
		return f, refuse("this login took too long", "begin again from the login page")
	case subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1:
		return f, refuse("this answer belongs to another login (wrong state)", "begin again from the login page")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.used, func(_ string, ends time.Time) bool { return !now.Before(ends) })
	if _, ok := p.used[f.State]; ok {
		return f, refuse("this login is finished; its answer came a second time", "begin again from the login page")
	}
	p.used[f.State] = f.Ends
	return f, nil
}

// Finish ends a login: kept is what Begin gave the browser, answer the query
// that the provider sent it back with. The error is CodeForbidden when the
// answer proves nothing, CodeUnavailable when the provider cannot be asked; its
// text is for the person. Each login is finished once.
func (p *Provider) Finish(ctx context.Context, kept string, answer url.Values) (id Identity, next string, err error) {
	f, err := p.take(kept, answer.Get("state"))
	if err != nil {
		return id, "", err
	}
	for name, values := range answer {
		if len(values) > 1 { // RFC 6749, 3.1: which of them counts is anybody's guess
			return id, "", p.distrust("%.40q is given twice", name)
		}
	}
	if iss := answer.Get("iss"); iss != "" && iss != p.c.Issuer { // RFC 9207
		return id, "", p.distrust("the answer comes from another issuer, %.200q", iss)
	}
	if code := answer.Get("error"); code != "" {
		return id, "", refuse(
			fmt.Sprintf("%s did not let you in: %s", p.c.Label, printable(cmp.Or(answer.Get("error_description"), code))),
			"try again, or ask whoever runs it",
		)
	}
	if answer.Get("code") == "" {
		return id, "", p.distrust("the answer has no code")
	}
	found, err := p.provider(ctx)
	if err != nil {
		return id, "", err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), Timeout)
	defer cancel()
	config := p.oauth(found, f.Redirect)
	token, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok && said.Response != nil && said.Response.StatusCode < 500 {
		return id, "", p.distrust("the code was not accepted: %s", printable(cmp.Or(said.ErrorDescription, said.ErrorCode)))
	} else if err != nil {
		return id, "", p.down(err)
	}
	claims, err := p.claims(ctx, found, config, token, f.Nonce)
	if err != nil {
		return id, "", err
	}
	id, err = p.identify(claims)
	return id, f.Next, err
}

// claims verifies the ID token, and adds what only the user information endpoint
// tells of the groups.
func (p *Provider) claims(
	ctx context.Context,
	found *oidc.Provider,
	config *oauth2.Config,
	token *oauth2.Token,
	nonce string,
) (map[string]any, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, p.distrust("the answer has no ID token")
	}
	verified, err := found.Verifier(&oidc.Config{ClientID: p.c.ClientID, Now: p.c.Now}).Verify(ctx, raw)
	if err != nil && strings.Contains(err.Error(), "fetching keys") {
		return nil, p.down(err)
	}
	if err != nil {
		return nil, p.distrust("%s", strings.TrimPrefix(err.Error(), "oidc: "))
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(nonce)) != 1 {
		return nil, p.distrust("the ID token was made for another login (wrong nonce)")
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return nil, p.distrust("the claims cannot be read: %s", err)
	}
	// With several audiences, the token must say that it was made for us.
	if azp, ok := claims["azp"]; (ok || len(verified.Audience) > 1) && azp != p.c.ClientID {
		return nil, p.distrust("the ID token was made for another client, %.100q", fmt.Sprint(azp))
	}
	if verified.AccessTokenHash != "" {
		if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, p.distrust("the access token does not fit the ID token")
		}
	}
	if verified.Subject == "" {
		return nil, p.distrust("the ID token names nobody")
	}
	if lookUp(claims, p.c.RoleClaim) == nil && p.wantsGroups() && found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(ctx, config.TokenSource(ctx, token))
		if err != nil {
			return nil, p.down(err)
		}
		more := map[string]any{}
		if err := info.Claims(&more); err != nil || info.Subject != verified.Subject {
			return nil, p.distrust("the user information is of somebody else")
		}
		for name, value := range more {
			if _, ok := claims[name]; !ok {
				claims[name] = value
			}
		}
	}
	return claims, nil
}

func (p *Provider) wantsGroups() bool { return len(p.c.Roles) > 0 || len(p.c.AllowedGroups) > 0 }

// identify reads who the claims are about and what their groups may do.
func (p *Provider) identify(claims map[string]any) (Identity, error) {
	text := func(claim string) string {
		s, _ := lookUp(claims, claim).(string)
		return s
	}
	id := Identity{Issuer: p.c.Issuer, Subject: text("sub"), Name: text(p.c.NameClaim), Managed: len(p.c.Roles) > 0}
	groups := texts(lookUp(claims, p.c.RoleClaim))
	if len(p.c.AllowedGroups) > 0 && !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(p.c.AllowedGroups, g) }) {
		return id, refuse("you are in no group that may use this installation", "ask whoever runs it to add you to one")
	}
	for _, g := range groups {
		if role, ok := p.c.Roles[g]; ok && !id.Role.Includes(role) {
			id.Role = role
		}
	}
	if id.Role == "" {
		id.Role = p.c.DefaultRole
	}
	if id.Role == "" && id.Managed {
		return id, refuse("none of your groups has a role here", "ask an admin of kairosd to give one of them a role")
	}
	if id.Role == "" {
		id.Role = domain.RoleViewer
	}
	return id, nil
}

// lookUp follows a dotted path; a claim whose name has dots is found by its
// whole name.
func lookUp(claims map[string]any, path string) any {
	if v, ok := claims[path]; ok {
		return v
	}
	head, rest, more := strings.Cut(path, ".")
	inner, ok := claims[head].(map[string]any)
	if !more || !ok {
		return nil
	}
	return lookUp(inner, rest)
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// distrust refuses an answer that proves nothing.
func (p *Provider) distrust(format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	p.c.Log.Warn("the identity provider's answer was refused", "issuer", p.c.Issuer, "reason", why)
	return refuse(
		fmt.Sprintf("what %s answered cannot be trusted: %s", p.c.Label, why),
		"begin again from the login page; if it happens again, tell an admin",
	)
}

func refuse(message, suggestion string) error {
	return domain.Errorf(domain.CodeForbidden, "%s", message).Suggest("%s", suggestion)
}

// printable is a text from outside as a page and a log may hold it.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
