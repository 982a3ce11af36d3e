package web

import (
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

func (r *request) loginPage() error {
	if needs, err := r.s.Auth.NeedsSetup(r.ctx); err != nil {
		return err
	} else if needs {
		return r.c.Redirect(http.StatusSeeOther, "/setup")
	}
	return r.render(http.StatusOK, view.Login(view.LoginPage{Shell: r.shell("", "Log in"), Next: r.c.QueryParam("next")}))
}

func (r *request) login() error {
	name := r.c.FormValue("name")
	secret, _, err := r.s.Auth.Login(r.ctx, name, r.c.FormValue("password"), r.c.RealIP(), r.c.Request().UserAgent())
	if err != nil {
		code := statusOf[kairos.CodeOf(err)]
		if code == 0 {
			return err
		}
		if code == http.StatusUnauthorized {
			code = http.StatusUnprocessableEntity // the form stays, with what is wrong
		}
		return r.render(code, view.Login(view.LoginPage{Shell: r.shell("", "Log in"), Next: r.c.FormValue("next"), Name: name, Error: err.Error()}))
	}
	r.setCookie(secret)
	return r.to(localPath(r.c.FormValue("next")))
}

// localPath allows only addresses of this site (A11).
func localPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") {
		return "/"
	}
	return next
}

func (r *request) setCookie(secret string) {
	c := &http.Cookie{Name: r.s.cookieName(), Value: secret, Path: "/", HttpOnly: true, Secure: r.s.TLS, SameSite: http.SameSiteStrictMode}
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
	p := view.LoginPage{Shell: r.shell("", "Set up"), Setup: true, Token: r.c.QueryParam("token")}
	if p.Token == "" {
		p.Error = r.t("Open the link that kairosd printed when it started; it holds the setup token.")
	}
	return r.render(http.StatusOK, view.Login(p))
}

func (r *request) setup() error {
	name, password := r.c.FormValue("name"), r.c.FormValue("password")
	if _, err := r.s.Auth.Setup(r.ctx, r.c.FormValue("token"), name, password); err != nil {
		code := statusOf[kairos.CodeOf(err)]
		if code == 0 {
			return err
		}
		return r.render(http.StatusUnprocessableEntity, view.Login(view.LoginPage{Shell: r.shell("", "Set up"), Setup: true,
			Token: r.c.FormValue("token"), Name: name, Error: sentence(err)}))
	}
	secret, _, err := r.s.Auth.Login(r.ctx, name, password, r.c.RealIP(), r.c.Request().UserAgent())
	if err != nil {
		return err
	}
	r.setCookie(secret)
	return r.to("/")
}
