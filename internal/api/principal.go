package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// credential finds the credential of a request. It returns a function that looks up the principal,
// now and repeatedly while a stream stays open.
func (a *localHandler) credential(r *http.Request) (func(context.Context) (domain.Actor, error), error) {
	if a.local != nil {
		local := *a.local
		return func(context.Context) (domain.Actor, error) { return local, nil }, nil
	}
	if header := r.Header["Authorization"]; len(header) > 0 {
		scheme, token, _ := strings.Cut(header[0], " ")
		if len(header) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return nil, unauthorized("send the token as: Authorization: Bearer TOKEN")
		}
		return func(ctx context.Context) (domain.Actor, error) {
			return a.Principals.Token(ctx, strings.TrimSpace(token))
		}, nil
	}
	secret, err := a.cookie(r)
	if err != nil {
		return nil, err
	}
	if secret == "" {
		return nil, unauthorized("send an API token as: Authorization: Bearer TOKEN")
	}
	// A browser adds its cookie to requests that pages of other sites cause.
	if unsafeMethod(r.Method) && !a.sameOrigin(r) {
		return nil, domain.Errorf(domain.CodeForbidden, "the request does not come from a page of this server")
	}
	return func(ctx context.Context) (domain.Actor, error) {
		u, err := a.Principals.Session(ctx, secret)
		if err != nil {
			return domain.Actor{}, err
		}
		if must, err := a.Principals.MustEnrol(ctx, u); err != nil {
			return domain.Actor{}, err
		} else if must {
			return domain.Actor{}, domain.Errorf(domain.CodeForbidden, "the role %s requires a second factor",
				u.Role).Suggest("set it up on /me/second-factor")
		}
		actor := domain.Actor{Name: u.Name, Role: u.Role, Source: "ui"}
		if actor.Role == domain.RoleAdmin && unsafeMethod(r.Method) {
			// An open browser does not prove who uses it, so admin actions require a recent login.
			// Pages request it, and programs use a token.
			fresh, err := a.Principals.Fresh(ctx, secret)
			if err != nil {
				return domain.Actor{}, err
			}
			if !fresh {
				actor.Role = domain.RoleAuthor
			}
		}
		return actor, nil
	}, nil
}

// cookie returns the session secret. It refuses requests with several different secrets.
func (a *API) cookie(r *http.Request) (string, error) {
	secret := ""
	for _, name := range a.SessionCookies {
		for _, c := range r.CookiesNamed(name) {
			if secret != "" && c.Value != secret {
				return "", unauthorized("log in again; the request has several session cookies")
			}
			secret = c.Value
		}
	}
	return secret, nil
}

// sameOrigin refuses requests that contain neither their site nor their origin.
func (a *API) sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	return origin != "" && origin == a.ownOrigin(r)
}

// foreignOrigin reports whether a page of another site sent the request.
func (a *API) foreignOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && origin != a.ownOrigin(r)
}

// ownOrigin returns the origin of this server's pages, as addressed by the request.
func (a *API) ownOrigin(r *http.Request) string {
	if a.Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func unauthorized(suggestion string) error {
	return domain.Errorf(domain.CodeUnauthorized, "authentication required").Suggest("%s", suggestion)
}
