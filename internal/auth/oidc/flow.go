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

// Lifetime is the maximum duration of a login at the provider.
const Lifetime = 10 * time.Minute

// flow is a login in progress. The browser keeps it, encrypted, so that unfinished logins use no
// memory of this process.
type flow struct {
	State, Nonce, Verifier string
	Redirect               string
	Next                   string
	Ends                   time.Time
}

// Begin starts a login. address is the address to which the browser is sent. kept is the value of a
// cookie that the browser must return. redirect is the address to which the provider sends the
// browser afterwards, and next is the page that the user requested.
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

// take returns the login that an answer belongs to. It does so only once per login.
func (p *Provider) take(kept, state string) (flow, error) {
	f, ok := p.open(kept)
	now := p.c.Now()
	switch {
	case kept == "":
		return f, refuse("this browser has not started a login", "allow cookies, and start again from the login page")
	case !ok:
		return f, refuse("this login was started before kairosd restarted, or was changed", "start again from the login page")
	case !now.Before(f.Ends):
		return f, refuse("this login took too long", "start again from the login page")
	case subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1:
		return f, refuse("this response belongs to another login (wrong state)", "start again from the login page")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.used, func(_ string, ends time.Time) bool { return !now.Before(ends) })
	if _, ok := p.used[f.State]; ok {
		return f, refuse("this login is already complete", "start again from the login page")
	}
	p.used[f.State] = f.Ends
	return f, nil
}

// Finish ends a login. kept is the cookie from Begin, and answer is the query with which the
// provider sent the browser back. It returns CodeForbidden if the answer is not valid, and
// CodeUnavailable if the provider cannot be reached. The text of the error is for the user. Each
// login can be finished once.
func (p *Provider) Finish(ctx context.Context, kept string, answer url.Values) (id Identity, next string, err error) {
	f, err := p.take(kept, answer.Get("state"))
	if err != nil {
		return id, "", err
	}
	for name, values := range answer {
		if len(values) > 1 { // RFC 6749, section 3.1: it is undefined which value counts
			return id, "", p.distrust("%.40q is given twice", name)
		}
	}
	if iss := answer.Get("iss"); iss != "" && iss != p.c.Issuer { // RFC 9207
		return id, "", p.distrust("the response comes from another issuer, %.200q", iss)
	}
	if code := answer.Get("error"); code != "" {
		return id, "", refuse(
			fmt.Sprintf("%s rejected the login: %s", p.c.Label, printable(cmp.Or(answer.Get("error_description"), code))),
			"try again, or contact its administrator",
		)
	}
	if answer.Get("code") == "" {
		return id, "", p.distrust("the response has no code")
	}
	found, err := p.provider(ctx)
	if err != nil {
		return id, "", err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), Timeout)
	defer cancel()
	config := p.oauth(found, f.Redirect)
	token, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if records, ok := errors.AsType[*oauth2.RetrieveError](err); ok && records.Response != nil && records.Response.StatusCode < 500 {
		return id, "", p.distrust("the code was not accepted: %s", printable(cmp.Or(records.ErrorDescription, records.ErrorCode)))
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

// claims verifies the ID token, and adds the groups that only the user information endpoint
// returns.
func (p *Provider) claims(
	ctx context.Context,
	found *oidc.Provider,
	config *oauth2.Config,
	token *oauth2.Token,
	nonce string,
) (map[string]any, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, p.distrust("the response has no ID token")
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
	// With several audiences, the token must name this client.
	if azp, ok := claims["azp"]; (ok || len(verified.Audience) > 1) && azp != p.c.ClientID {
		return nil, p.distrust("the ID token was made for another client, %.100q", fmt.Sprint(azp))
	}
	if verified.AccessTokenHash != "" {
		if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, p.distrust("the access token does not match the ID token")
		}
	}
	if verified.Subject == "" {
		return nil, p.distrust("the ID token has no subject")
	}
	if lookUp(claims, p.c.RoleClaim) == nil && p.wantsGroups() && found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(ctx, config.TokenSource(ctx, token))
		if err != nil {
			return nil, p.down(err)
		}
		more := map[string]any{}
		if err := info.Claims(&more); err != nil || info.Subject != verified.Subject {
			return nil, p.distrust("the user information belongs to another user")
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

// identify reads the identity from the claims, and the role from its groups.
func (p *Provider) identify(claims map[string]any) (Identity, error) {
	text := func(claim string) string {
		s, _ := lookUp(claims, claim).(string)
		return s
	}
	id := Identity{Issuer: p.c.Issuer, Subject: text("sub"), Name: text(p.c.NameClaim), Managed: len(p.c.Roles) > 0}
	groups := texts(lookUp(claims, p.c.RoleClaim))
	if len(p.c.AllowedGroups) > 0 && !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(p.c.AllowedGroups, g) }) {
		return id, refuse("none of your groups is permitted to use this server",
			"ask the administrator of the identity provider to add you to one")
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
		return id, refuse("none of your groups has a role here", "ask an administrator of kairosd to give one of them a role")
	}
	if id.Role == "" {
		id.Role = domain.RoleViewer
	}
	return id, nil
}

// lookUp follows a dotted path. A claim whose name contains dots is found by its whole name.
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

// distrust rejects an answer that is not valid.
func (p *Provider) distrust(format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	p.c.Log.Warn("the response of the identity provider was rejected", "issuer", p.c.Issuer, "reason", why)
	return refuse(
		fmt.Sprintf("the response of %s cannot be trusted: %s", p.c.Label, why),
		"start again from the login page; if it happens again, contact an administrator",
	)
}

func refuse(message, suggestion string) error {
	return domain.Errorf(domain.CodeForbidden, "%s", message).Suggest("%s", suggestion)
}

// printable removes characters from an outside text that are unsafe on a page or in a log.
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
