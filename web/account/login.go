package account

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// loginPages serves the login, setup, and logout pages.
type loginPages struct{ *section }

func (s loginPages) loginPage(c *ui.Context) error {
	needs, err := s.Auth.NeedsSetup(c)
	if err != nil {
		return err
	}
	if _, provider := s.Auth.LoginMethods(); needs && provider == "" {
		return c.Echo.Redirect(http.StatusSeeOther, "/setup")
	}
	p := LoginPage{Next: c.Query("next"), SetupHint: needs}
	return s.showLogin(c, http.StatusOK, p)
}

// showLogin renders the login form with the configured login methods.
func (s *section) showLogin(c *ui.Context, code int, p LoginPage) error {
	p.Shell = c.Shell("", "Log in")
	p.Address = "/login" // the callback address works only once
	password, provider := s.Auth.LoginMethods()
	if p.Password = password; provider != "" {
		p.Provider, p.ProviderHref = c.T("Log in with %s", kit.Escape(provider)), "/login/oidc"
		if p.Next != "" {
			p.ProviderHref += "?next=" + url.QueryEscape(p.Next)
		}
	}
	return c.Render(code, Login(p))
}

// loginFailed renders the login form with the error.
func (s *section) loginFailed(c *ui.Context, err error, p LoginPage) error {
	code := ui.StatusOf[domain.CodeOf(err)]
	if code == 0 {
		return err
	}
	if code == http.StatusUnauthorized {
		code = http.StatusUnprocessableEntity
	}
	p.Error = cmp.Or(c.TooMany(err), c.Sentence(err))
	return s.showLogin(c, code, p)
}

func (s loginPages) login(c *ui.Context) error {
	name := c.Field("name")
	secret, user, err := s.Auth.Login(c, name, c.Field("password"), domain.RequestOf(c).Address, c.Echo.Request().UserAgent())
	if ticket, ok := needsCode(err); ok {
		return s.askCode(c, http.StatusOK, LoginCodePage{Ticket: ticket, Next: c.Field("next")})
	}
	if err != nil {
		return s.loginFailed(c, err, LoginPage{Next: c.Field("next"), Name: name})
	}
	s.enter(c, secret, user)
	return c.RedirectTo(link.Local(c.Field("next")))
}

// toProvider redirects to the identity provider. It is a GET handler, because the content security
// policy allows forms to submit only to this site. It changes no data on the server.
func (s loginPages) toProvider(c *ui.Context) error {
	next := link.Local(c.Query("next"))
	address, kept, err := s.Auth.BeginSSO(c, c.Site.Origin(c.Echo.Request())+"/login/oidc/callback", next)
	if err != nil {
		return s.loginFailed(c, err, LoginPage{Next: next})
	}
	s.setFlowCookie(c, kept)
	return c.Echo.Redirect(http.StatusSeeOther, address)
}

// fromProvider handles the callback of the identity provider. It is the only GET handler that
// changes data, as OpenID Connect requires. A cookie proves that this browser started the login.
func (s loginPages) fromProvider(c *ui.Context) error {
	kept := ""
	if k, err := c.Echo.Cookie(s.flowCookieName(c)); err == nil {
		kept = k.Value
	}
	s.setFlowCookie(c, "")
	secret, user, next, err := s.Auth.FinishSSO(c, kept, c.Echo.QueryParams(), domain.RequestOf(c).Address, c.Echo.Request().UserAgent())
	if err != nil {
		return s.loginFailed(c, err, LoginPage{})
	}
	s.enter(c, secret, user)
	next = link.Local(next)
	// Browsers treat a redirect as part of the navigation from the provider's site, and would not
	// send the SameSite=Strict session cookie. A page that refreshes to the target starts a
	// same-site navigation.
	c.Echo.Response().Header().Set("Refresh", "0; url="+next)
	c.Principal = ui.Principal{CSRF: "anonymous"} // this page is rendered without the session
	p := LoggedInPage{Shell: c.Shell("", "Log in"), Next: next}
	p.Address = next
	return c.Render(http.StatusOK, LoggedIn(p))
}

func (s loginPages) flowCookieName(c *ui.Context) string {
	return c.Site.CookieName(c.Echo.Request()) + "-login"
}

// setFlowCookie stores a login in progress, or deletes it if kept is empty. The cookie is
// SameSite=Lax, because the browser must send it with the callback from the provider's site. It
// does not grant access.
func (s loginPages) setFlowCookie(c *ui.Context, kept string) {
	k := &http.Cookie{
		Name:     s.flowCookieName(c),
		Value:    kept,
		Path:     "/",
		MaxAge:   600,
		HttpOnly: true,
		Secure:   c.Site.Secure(c.Echo.Request()),
		SameSite: http.SameSiteLaxMode,
	}
	if kept == "" {
		k.MaxAge = -1
	}
	c.Echo.SetCookie(k)
}

// linkPage serves the confirmation page of a login link. A GET request must not use up the link,
// because mail scanners open links.
func (s loginPages) linkPage(c *ui.Context) error {
	return c.Render(http.StatusOK, LoginLink(LoginLinkPage{Shell: c.Shell("", "Log in"), Token: c.Query("token")}))
}

func (s loginPages) followLink(c *ui.Context) error {
	token := c.Field("token")
	secret, user, err := s.Auth.FollowLink(c, token, domain.RequestOf(c).Address, c.Echo.Request().UserAgent())
	if problem, ok := c.Refused(err); ok {
		return c.Render(
			ui.StatusOf[domain.CodeOf(err)],
			LoginLink(LoginLinkPage{Shell: c.Shell("", "Log in"), Token: token, Error: problem}),
		)
	}
	if err != nil {
		return err
	}
	s.enter(c, secret, user)
	return c.RedirectTo("/me")
}

// enter sets the session cookie and restores the user's display settings.
func (s *section) enter(c *ui.Context, secret string, u domain.User) {
	s.setCookie(c, secret)
	c.RestoreDisplay(u)
}

func (s *section) setCookie(c *ui.Context, secret string) {
	k := &http.Cookie{
		Name:     c.Site.CookieName(c.Echo.Request()),
		Value:    secret,
		Path:     "/",
		HttpOnly: true,
		Secure:   c.Site.Secure(c.Echo.Request()),
		SameSite: http.SameSiteStrictMode,
	}
	if secret == "" {
		k.MaxAge = -1
	}
	c.Echo.SetCookie(k)
}

func (s loginPages) logout(c *ui.Context) error {
	if err := s.Auth.Logout(c, c.Principal.Secret); err != nil {
		return err
	}
	s.setCookie(c, "")
	return c.RedirectTo("/login")
}

func (s loginPages) setupPage(c *ui.Context) error {
	if needs, err := s.Auth.NeedsSetup(c); err != nil {
		return err
	} else if !needs {
		return c.Echo.Redirect(http.StatusSeeOther, "/login")
	}
	p := LoginPage{Shell: c.Shell("", "Set up"), Setup: true, Password: true, Token: c.Query("token")}
	if p.Token == "" { // without a token the form cannot succeed
		p.Password, p.SetupHint = false, true
	}
	return c.Render(http.StatusOK, Login(p))
}

func (s loginPages) setup(c *ui.Context) error {
	name, password := c.Field("name"), c.Field("password")
	secret, _, err := s.Auth.Setup(c, c.Field("token"), name, password, domain.RequestOf(c).Address, c.Echo.Request().UserAgent())
	if err != nil {
		code := ui.StatusOf[domain.CodeOf(err)]
		if code == 0 {
			return err
		}
		return c.Render(http.StatusUnprocessableEntity, Login(LoginPage{Shell: c.Shell("", "Set up"), Setup: true, Password: true,
			Token: c.Field("token"), Name: name, Error: c.Sentence(err)}))
	}
	s.setCookie(c, secret)
	return c.RedirectTo("/")
}
