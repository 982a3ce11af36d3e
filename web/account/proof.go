package account

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// allowedBeforeEnrollment are the pages available to users who must first set up a second factor.
var allowedBeforeEnrollment = []string{"/me/second-factor", "/logout"}

// Guard requires a second factor or a fresh proof of identity where the configuration and the
// action demand it.
type Guard struct{ Auth Proofs }

// Proofs verifies the identity of users.
type Proofs interface {
	// MustEnrol reports whether a user must set up a second factor before anything else.
	MustEnrol(ctx context.Context, u domain.User) (bool, error)
	// SecondFactor reports whether a user has a second factor, and how many recovery codes are
	// left.
	SecondFactor(ctx context.Context, userID string) (on bool, left int, err error)
	// LoginMethods returns whether passwords are accepted, and the name of the identity provider.
	LoginMethods() (password bool, provider string)
	// Fresh reports whether the user of a session recently proved their identity. Confirm proves it
	// again. It returns CodeForbidden or CodeTooMany on failure.
	Fresh(ctx context.Context, secret string) (bool, error)
	Confirm(ctx context.Context, secret, password, code string) error
}

// Throttled redirects users who must set up a second factor to its page. It reports whether it
// handled the request. path is the pattern of the route.
func (g Guard) Throttled(c *ui.Context, method, path string) (bool, error) {
	if slices.Contains(allowedBeforeEnrollment, path) {
		return false, nil
	}
	must, err := g.Auth.MustEnrol(c, c.Principal.User)
	if err != nil || !must {
		return false, err
	}
	if method != http.MethodGet || path == "/live" {
		return true, domain.Errorf(domain.CodeForbidden, "the role %s requires a second factor", c.Principal.Role).
			Suggest("set it up on your account page first; nothing was changed")
	}
	return true, c.RedirectTo("/me/second-factor")
}

// Proven requires a fresh proof of identity before an action. It reports whether the action may
// continue. If not, it has rendered the confirmation form, which keeps the posted fields.
func (g Guard) Proven(c *ui.Context) (bool, error) {
	fresh, err := g.Auth.Fresh(c, c.Principal.Secret)
	if err != nil || fresh {
		return fresh, err
	}
	on, _, err := g.Auth.SecondFactor(c, c.Principal.ID)
	if err != nil {
		return false, err
	}
	code, posted := http.StatusUnprocessableEntity, c.Echo.Request().PostForm
	p := ProofPage{Post: c.Echo.Request().URL.RequestURI(), Code: on, Name: c.Principal.Name, Password: c.Principal.PasswordHash != ""}
	if posted.Has("proof_password") {
		err := g.Auth.Confirm(c, c.Principal.Secret, posted.Get("proof_password"), posted.Get("proof_code"))
		if err == nil {
			return true, nil
		}
		problem, ok := c.Refused(err)
		if !ok {
			return false, err
		}
		code, p.Error = ui.RefusedWith(err), problem
	}
	for _, name := range sortedFields(posted) {
		if strings.HasPrefix(name, "proof_") {
			continue
		}
		for _, v := range posted[name] {
			p.Fields = append(p.Fields, HiddenField{Name: name, Value: v})
		}
	}
	if takes, provider := g.Auth.LoginMethods(); provider != "" && (!takes || !p.Password) {
		p.Password, p.Provider, p.ProviderHref = false, c.T(
			"Log in with %s",
			kit.Escape(provider),
		), "/login/oidc?next="+url.QueryEscape(
			c.Echo.Request().URL.Path,
		) // the page of the action has the same path
	}
	p.Shell = c.Shell("", "Is it you?")
	return false, c.Render(code, Proof(p))
}

func sortedFields(v url.Values) []string {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
