package web

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

func (r *request) loginPage() error {
	needs, err := r.s.Auth.NeedsSetup(r.ctx)
	if err != nil {
		return err
	}
	if _, provider := r.s.Auth.Ways(); needs && provider == "" {
		return r.c.Redirect(http.StatusSeeOther, "/setup")
	}
	p := view.LoginPage{Next: r.c.QueryParam("next"), SetupHint: needs}
	return r.showLogin(http.StatusOK, p)
}

// showLogin offers the ways to log in that are configured.
func (r *request) showLogin(code int, p view.LoginPage) error {
	p.Shell = r.shell("", "Log in")
	p.Here = "/login" // not the provider's answer, which is used up
	password, provider := r.s.Auth.Ways()
	if p.Password = password; provider != "" {
		p.Provider, p.ProviderHref = r.t("Log in with %s", visible(provider)), "/login/oidc"
		if p.Next != "" {
			p.ProviderHref += "?next=" + url.QueryEscape(p.Next)
		}
	}
	return r.render(code, view.Login(p))
}

// loginFailed shows what is wrong above the form, which stays.
func (r *request) loginFailed(err error, p view.LoginPage) error {
	code := statusOf[domain.CodeOf(err)]
	if code == 0 {
		return err
	}
	if code == http.StatusUnauthorized {
		code = http.StatusUnprocessableEntity
	}
	p.Error = cmp.Or(r.tooMany(err), r.sentence(err))
	return r.showLogin(code, p)
}

func (r *request) login() error {
	name := r.c.FormValue("name")
	secret, user, err := r.s.Auth.Login(r.ctx, name, r.c.FormValue("password"), r.s.client(r.c.Request()), r.c.Request().UserAgent())
	if ticket, ok := needsCode(err); ok {
		return r.askCode(http.StatusOK, view.LoginCodePage{Ticket: ticket, Next: r.c.FormValue("next")})
	}
	if err != nil {
		return r.loginFailed(err, view.LoginPage{Next: r.c.FormValue("next"), Name: name})
	}
	r.enter(secret, user)
	return r.to(localPath(r.c.FormValue("next")))
}

// toProvider sends the browser to the identity provider. It is a link and no
// form: a form may only lead to this site. Nothing happens here by it.
func (r *request) toProvider() error {
	next := localPath(r.c.QueryParam("next"))
	address, kept, err := r.s.Auth.BeginSSO(r.ctx, r.origin()+"/login/oidc/callback", next)
	if err != nil {
		return r.loginFailed(err, view.LoginPage{Next: next})
	}
	r.setFlowCookie(kept)
	return r.c.Redirect(http.StatusSeeOther, address)
}

// fromProvider is where the identity provider sends the browser back to. It is
// the one GET that acts, as the protocol has it: what it does was begun by this
// browser, which proves it by its cookie.
func (r *request) fromProvider() error {
	kept := ""
	if c, err := r.c.Cookie(r.flowCookieName()); err == nil {
		kept = c.Value
	}
	r.setFlowCookie("")
	secret, user, next, err := r.s.Auth.FinishSSO(r.ctx, kept, r.c.QueryParams(), r.s.client(r.c.Request()), r.c.Request().UserAgent())
	if err != nil {
		return r.loginFailed(err, view.LoginPage{})
	}
	r.enter(secret, user)
	next = localPath(next)
	// A redirect would still count as coming from the provider's site, and the
	// session's cookie would stay at home; a page of ours that goes on does not.
	r.c.Response().Header().Set("Refresh", "0; url="+next)
	r.who = principal{csrf: "anonymous"} // the session begins with the next page
	p := view.LoggedInPage{Shell: r.shell("", "Log in"), Next: next}
	p.Here = next
	return r.render(http.StatusOK, view.LoggedIn(p))
}

func (r *request) flowCookieName() string { return r.s.site.CookieName(r.c.Request()) + "-login" }

// setFlowCookie keeps a login that is under way. It is sent when the provider's
// site leads back here, so it cannot be as strict as the session's; by itself it
// is worth nothing.
func (r *request) setFlowCookie(kept string) {
	c := &http.Cookie{Name: r.flowCookieName(), Value: kept, Path: "/", MaxAge: 600, HttpOnly: true, Secure: r.s.secure(r.c.Request()), SameSite: http.SameSiteLaxMode}
	if kept == "" {
		c.MaxAge = -1
	}
	r.c.SetCookie(c)
}

// linkPage asks before a login link is used: whatever looks at links in advance
// must not use them up.
func (r *request) linkPage() error {
	return r.render(http.StatusOK, view.LoginLink(view.LoginLinkPage{Shell: r.shell("", "Log in"), Token: r.c.QueryParam("token")}))
}

func (r *request) followLink() error {
	token := r.c.FormValue("token")
	secret, user, err := r.s.Auth.FollowLink(r.ctx, token, r.s.client(r.c.Request()), r.c.Request().UserAgent())
	if problem, ok := r.refused(err); ok {
		return r.render(statusOf[domain.CodeOf(err)], view.LoginLink(view.LoginLinkPage{Shell: r.shell("", "Log in"), Token: token, Error: problem}))
	}
	if err != nil {
		return err
	}
	r.enter(secret, user)
	return r.to("/me")
}

// enter gives the browser its session, and the display that the person chose.
func (r *request) enter(secret string, u domain.User) {
	r.setCookie(secret)
	r.restoreDisplay(u.Name)
}

func (r *request) setCookie(secret string) {
	c := &http.Cookie{Name: r.s.site.CookieName(r.c.Request()), Value: secret, Path: "/", HttpOnly: true, Secure: r.s.secure(r.c.Request()), SameSite: http.SameSiteStrictMode}
	if secret == "" {
		c.MaxAge = -1
	}
	r.c.SetCookie(c)
}

func (r *request) logout() error {
	if err := r.s.Auth.Logout(r.ctx, r.who.secret); err != nil {
		return err
	}
	r.setCookie("")
	return r.to("/login")
}

func (r *request) setupPage() error {
	if needs, err := r.s.Auth.NeedsSetup(r.ctx); err != nil {
		return err
	} else if !needs {
		return r.c.Redirect(http.StatusSeeOther, "/login")
	}
	p := view.LoginPage{Shell: r.shell("", "Set up"), Setup: true, Password: true, Token: r.c.QueryParam("token")}
	if p.Token == "" { // nothing could come of the form
		p.Password, p.SetupHint = false, true
	}
	return r.render(http.StatusOK, view.Login(p))
}

func (r *request) setup() error {
	name, password := r.c.FormValue("name"), r.c.FormValue("password")
	secret, _, err := r.s.Auth.Setup(r.ctx, r.c.FormValue("token"), name, password, r.s.client(r.c.Request()), r.c.Request().UserAgent())
	if err != nil {
		code := statusOf[domain.CodeOf(err)]
		if code == 0 {
			return err
		}
		return r.render(http.StatusUnprocessableEntity, view.Login(view.LoginPage{Shell: r.shell("", "Set up"), Setup: true, Password: true,
			Token: r.c.FormValue("token"), Name: name, Error: r.sentence(err)}))
	}
	r.setCookie(secret)
	return r.to("/")
}
