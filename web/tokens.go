package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// lifetimes are how long a token may be valid.
var lifetimes = []struct {
	value string
	words string
	of    time.Duration
}{
	{"24h", locale.Mark("a day"), 24 * time.Hour}, {"720h", locale.Mark("30 days"), 30 * 24 * time.Hour},
	{"2160h", locale.Mark("90 days"), 90 * 24 * time.Hour}, {"8760h", locale.Mark("a year"), 365 * 24 * time.Hour},
}

// maxReason is how long the reason of an act may be.
const maxReason = 500

func (r *request) tokens() error { return r.tokensPage(http.StatusOK, "", "") }

// tokensPage lists tokens; made is the text of one that was just made and is
// shown this once.
func (r *request) tokensPage(code int, problem, made string) error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	list, err := a.Tokens(r.ctx)
	if err != nil {
		return err
	}
	p := view.TokensPage{Shell: r.shell("settings", "Tokens"), Idem: newID(), Error: problem, Made: made, Roles: r.roleOptions(domain.RoleOperator), Scopes: domain.Scopes}
	if made != "" {
		p.Try = "curl -H 'Authorization: Bearer " + made + "' " + r.origin() + "/api/v1/me"
	} else {
		p.Name = r.c.FormValue("name")
	}
	for _, l := range lifetimes {
		p.Lifetimes = append(p.Lifetimes, view.Option{Value: l.value, Text: r.t(l.words), Selected: l.value == "2160h"})
	}
	for _, t := range list {
		row := view.TokenRow{ID: t.ID, Name: visible(t.Name), Prefix: t.Prefix, Role: string(t.Role), Scopes: strings.Join(t.Scopes, ", "), By: visible(t.CreatedBy),
			Created: r.time(t.CreatedAt), Expires: r.time(t.ExpiresAt), Used: r.time(t.LastUsedAt), From: visible(t.LastUsedFrom), Log: "/audit?q=" + url.QueryEscape("object:token:"+t.ID), Revoked: r.time(t.RevokedAt), Over: !t.ExpiresAt.After(time.Now())}
		if row.Live = !row.Over && t.RevokedAt.IsZero(); row.Live {
			row.Href = "/settings/tokens/" + t.ID + "/revoke"
		}
		p.Tokens = append(p.Tokens, row)
	}
	return r.render(code, view.Tokens(p))
}

func (r *request) origin() string { return r.s.origin(r.c.Request()) }

func (r *request) createToken() error {
	a, err := r.accounts()
	if err != nil {
		return err
	}
	lifetime := time.Duration(0)
	for _, l := range lifetimes {
		if l.value == r.c.FormValue("lifetime") {
			lifetime = l.of
		}
	}
	var scopes []string
	for _, s := range r.c.Request().PostForm["scope"] {
		if slices.Contains(domain.Scopes, s) {
			scopes = append(scopes, s)
		}
	}
	made := ""
	_, err = r.result("", func() (string, error) {
		text, _, err := a.CreateToken(r.ctx, r.who.actor(), strings.TrimSpace(r.c.FormValue("name")), domain.Role(r.c.FormValue("role")), scopes, lifetime)
		made = text
		return "/settings/tokens", err
	})
	if problem, ok := r.refused(err); ok {
		return r.tokensPage(http.StatusUnprocessableEntity, problem, "")
	}
	if err != nil {
		return err
	}
	if made == "" { // the form came a second time
		return r.to("/settings/tokens")
	}
	return r.tokensPage(http.StatusOK, "", made)
}

// revokeTokenPage asks before a token ends, and why: what uses it stops working
// (level 2).
func (r *request) revokeTokenPage() error { return r.showRevokeToken(http.StatusOK, "") }

func (r *request) showRevokeToken(code int, problem string) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	p := view.RevokeTokenPage{Shell: r.shell("settings", "Tokens"), Idem: newID(), Error: problem, Prefix: t.Prefix, By: visible(t.CreatedBy),
		Used: r.time(t.LastUsedAt), From: visible(t.LastUsedFrom), Action: "/settings/tokens/" + t.ID + "/revoke", Question: r.t("Revoke the token %s?", visible(t.Name))}
	p.Title, p.Verb = p.Question, r.t("Revoke %s", visible(t.Name))
	if !t.RevokedAt.IsZero() || !t.ExpiresAt.After(r.s.now()) {
		p.Over = true
	}
	return r.render(code, view.RevokeToken(p))
}

func (r *request) token() (domain.Token, error) {
	a, err := r.accounts()
	if err != nil {
		return domain.Token{}, err
	}
	list, err := a.Tokens(r.ctx)
	if err != nil {
		return domain.Token{}, err
	}
	i := slices.IndexFunc(list, func(t domain.Token) bool { return t.ID == r.c.Param("token") })
	if i < 0 {
		return domain.Token{}, domain.Errorf(domain.CodeNotFound, "there is no such token")
	}
	return list[i], nil
}

func (r *request) revokeToken() error {
	t, err := r.token()
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(r.c.FormValue("reason"))
	if reason == "" || len(reason) > maxReason {
		return r.showRevokeToken(http.StatusUnprocessableEntity, r.t("Say why, in at most %d characters: the audit log keeps it.", maxReason))
	}
	return r.once(func() (string, error) {
		return "/settings/tokens", r.s.Accounts.RevokeToken(r.ctx, r.who.actor(), t.ID, reason)
	})
}
