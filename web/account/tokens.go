package account

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

// lifetimes are the lifetimes offered for a new token.
var lifetimes = []struct {
	value string
	words string
	of    time.Duration
}{
	{"24h", locale.Mark("a day"), 24 * time.Hour}, {"720h", locale.Mark("30 days"), 30 * 24 * time.Hour},
	{"2160h", locale.Mark("90 days"), 90 * 24 * time.Hour}, {"8760h", locale.Mark("a year"), 365 * 24 * time.Hour},
}

func (s *section) tokens(c *ui.Context) error { return s.tokensPage(c, http.StatusOK, "", "") }

// tokensPage renders the token list. made is the text of a new token, which is shown only once.
func (s *section) tokensPage(c *ui.Context, code int, problem, made string) error {
	all, err := s.App.Tokens.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p := TokensPage{
		Shell: c.Shell("settings", "Tokens"),
		list: listOf(c, "/settings/tokens", c.T("Filter tokens"), "ci role:operator state:active by:marta", query.Preset{Word: c.T("All")},
			query.Preset{Word: c.T("Active"), Query: "state:active"}, query.Preset{Word: c.T("Expired"), Query: "state:expired"},
			query.Preset{Word: c.T("Revoked"), Query: "state:revoked"}),
		Idem:    kit.NewID(),
		Error:   problem,
		Created: made,
		Roles:   s.roleOptions(c, domain.RoleOperator),
		Scopes:  domain.Scopes,
	}
	if p.PlanScopes, err = s.planScopes(c); err != nil {
		return err
	}
	if made != "" {
		p.Try = "curl -H 'Authorization: Bearer " + made + "' " + c.Site.Origin(c.Echo.Request()) + "/api/v1/me"
	} else {
		p.Name = c.Field("name")
	}
	for _, l := range lifetimes {
		p.Lifetimes = append(p.Lifetimes, kit.Option{Value: l.value, Text: c.T(l.words), Selected: l.value == "2160h"})
	}
	tokens, err := page(c, &p.list, all, func(t domain.Token) string { return t.ID }, tokenFields)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		row := TokenRow{
			ID:     t.ID,
			Name:   kit.Escape(t.Name),
			Prefix: t.Prefix,
			Role:   string(t.Role),
			Scopes: strings.Join(t.Scopes, ", "),
			By:     kit.Escape(t.CreatedBy),
			Created: c.Time(
				t.CreatedAt,
			),
			Expires: c.Time(t.ExpiresAt),
			Used:    c.Time(t.LastUsedAt),
			From:    kit.Escape(t.LastUsedFrom),
			Log:     "/audit?q=" + url.QueryEscape("object:token:"+t.ID),
			Revoked: c.Time(t.RevokedAt),
			Ended:   !t.ExpiresAt.After(time.Now()),
		}
		if row.Live = !row.Ended && t.RevokedAt.IsZero(); row.Live {
			row.Href = "/settings/tokens/" + t.ID + "/revoke"
		}
		p.Tokens = append(p.Tokens, row)
	}
	return c.Render(code, Tokens(p))
}

func tokenFields(t domain.Token) fields {
	f := fields{Name: t.Name, Role: string(t.Role), State: "active", By: t.CreatedBy}
	switch {
	case !t.RevokedAt.IsZero():
		f.State = "revoked"
	case !t.ExpiresAt.After(time.Now()):
		f.State = "expired"
	}
	return f
}

func (s *section) createToken(c *ui.Context) error {
	made, _, err := s.App.Tokens.Create(c, newToken(c))
	if domain.CodeOf(err) == domain.CodeAlreadyDone { // repeated request
		return c.RedirectTo("/settings/tokens")
	}
	if problem, ok := c.Refused(err); ok {
		return s.tokensPage(c, http.StatusUnprocessableEntity, problem, "")
	}
	if err != nil {
		return err
	}
	return s.tokensPage(c, http.StatusOK, "", made)
}

// shownPlans is the maximum number of plans that the form offers as scopes.
const shownPlans = 50

// planScopes returns the scopes for single plans that other programs can call.
func (s *section) planScopes(c *ui.Context) (out []string, err error) {
	for _, protocol := range []string{domain.SourceMCP, domain.SourceA2A} {
		by := c.Principal.Actor()
		by.Source = protocol // lists the plans that its clients can call
		list, err := s.App.PlanTools.List(c, by)
		if err != nil && domain.CodeOf(err) != domain.CodeForbidden {
			return nil, err
		}
		for _, t := range list[:min(len(list), shownPlans)] {
			out = append(out, domain.PlanScope(protocol, t.Plan.Key))
		}
	}
	return out, nil
}

// newToken reads the token that the form describes. Unknown lifetimes and scopes are left out.
func newToken(c *ui.Context) app.NewToken {
	t := app.NewToken{Meta: c.Meta(), Name: c.Field("name"), Role: domain.Role(c.Field("role"))}
	for _, l := range lifetimes {
		if l.value == c.Field("lifetime") {
			t.Lifetime = l.of
		}
	}
	for _, s := range c.Echo.Request().PostForm["scope"] {
		if domain.ValidScope(s) {
			t.Scopes = append(t.Scopes, s)
		}
	}
	return t
}

// revokeTokenPage serves the confirmation page for revoking a token, which requires a reason
// because clients that use the token stop working.
func (s *section) revokeTokenPage(c *ui.Context) error {
	return s.showRevokeToken(c, http.StatusOK, "")
}

func (s *section) showRevokeToken(c *ui.Context, code int, problem string) error {
	t, err := s.token(c)
	if err != nil {
		return err
	}
	p := RevokeTokenPage{
		Shell:  c.Shell("settings", "Tokens"),
		Idem:   kit.NewID(),
		Error:  problem,
		Prefix: t.Prefix,
		By:     kit.Escape(t.CreatedBy),
		Used: c.Time(
			t.LastUsedAt,
		),
		From:     kit.Escape(t.LastUsedFrom),
		Action:   "/settings/tokens/" + t.ID + "/revoke",
		Question: c.T("Revoke the token %s?", kit.Escape(t.Name)),
	}
	p.Title, p.Verb = p.Question, c.T("Revoke %s", kit.Escape(t.Name))
	if !t.RevokedAt.IsZero() || !t.ExpiresAt.After(c.Site.Now()) {
		p.Ended = true
	}
	return c.Render(code, RevokeToken(p))
}

func (s *section) token(c *ui.Context) (domain.Token, error) {
	return s.App.Tokens.Get(c, c.Principal.Actor(), c.Param("token"))
}

func (s *section) revokeToken(c *ui.Context) error {
	t, err := s.token(c)
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(c.Field("reason"))
	if reason == "" || len(reason) > ui.MaxReason {
		return s.showRevokeToken(
			c,
			http.StatusUnprocessableEntity,
			c.T("Enter a reason of at most %d characters. The audit log keeps it.", ui.MaxReason),
		)
	}
	if err := s.App.Tokens.Revoke(c, app.TokenChange{Meta: c.Meta(), Token: t.ID, Reason: reason}); err != nil {
		return err
	}
	return c.RedirectTo("/settings/tokens")
}
