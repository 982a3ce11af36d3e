package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/account"
	"github.com/kairosd/kairosd/web/live"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// request is the state of a request to a page that has no package of its own. Its methods are those
// of ui.Context.
type request struct {
	*ui.Context
	s         *Server
	c         echo.Context
	ctx       context.Context
	principal principal
	display   display
}

// principal is the sender of a request.
type principal struct {
	*ui.Principal
	secret, csrf string
}

// display holds the language and time zone of the reader.
type display struct {
	lang *locale.Language
	zone *time.Location
}

// newRequest returns the state of a request with an anonymous principal.
func (s *Server) newRequest(ctx context.Context, c echo.Context, op app.Operation) *request {
	u := s.site.Open(ctx, c, op)
	r := &request{Context: u, s: s, c: c, ctx: u, display: display{u.Display.Lang, u.Display.Zone}}
	r.setPrincipal(ui.Principal{CSRF: "anonymous"})
	return r
}

// setPrincipal sets the principal.
func (r *request) setPrincipal(p ui.Principal) {
	r.Principal = p
	r.principal = principal{&r.Principal, p.Secret, p.CSRF}
}

// serve identifies the user, checks their role and the form token, and renders the page.
func (s *Server) serve(c echo.Context, rt route) error {
	ctx := c.Request().Context()
	if rt.path != live.Path {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readTimeout+10*time.Second)
		defer cancel()
	}
	r := s.newRequest(ctx, c, rt.op)
	r.At = s.live.Position()
	c.Response().Header().Set("Cache-Control", "no-store")
	c.Response().Header().Set("Vary", "HX-Request, HX-Target")
	if r.target() == startingPart && rt.method == http.MethodGet { // the startup page, which polls until this server responds
		c.Response().Header().Set("HX-Refresh", "true")
		return c.NoContent(http.StatusNoContent)
	}
	if err := r.identify(); err != nil {
		return err
	}
	err := r.dispatch(rt)
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Code == domain.CodeForbidden && !e.Audited && rt.method == http.MethodPost &&
		r.principal.Name != "" &&
		e != errOutOfDate {
		r.recordDenied(err)
	}
	return err
}

// errOutOfDate rejects a form without a valid token. It is an old page, or a request forged by
// another site.
var errOutOfDate = domain.Errorf(domain.CodeForbidden, "this form is out of date").Suggest("go back, reload the page and try again")

// recordDenied records a request without permission. If recording fails, the request is still
// denied.
func (r *request) recordDenied(err error) {
	if r.s.Audit == nil {
		return
	}
	req := r.c.Request()
	// Record it even if the browser has disconnected.
	if err := r.s.Audit.Audit(context.WithoutCancel(r.ctx), domain.AuditRecord{Action: "access.denied", Actor: r.principal.Name,
		Source: "ui", Object: req.Method + " " + req.URL.Path, Result: "denied", Reason: err.Error()}); err != nil {
		r.s.Logger.Error("record a refusal", "path", req.URL.Path, "err", err)
	}
}

// dispatch checks the role and the form token, and renders the page.
func (r *request) dispatch(rt route) error {
	c := r.c
	if role := rt.role(); role != "" {
		if r.principal.Name == "" {
			return r.redirectToLogin()
		}
		if !r.principal.Role.Includes(role) {
			return &ui.LocalizedError{
				Err:        domain.Errorf(domain.CodeForbidden, "this requires the role %s", role),
				Message:    r.t("This needs the role %s.", role),
				Suggestion: r.t("You have the role %s; an administrator can give you another.", r.principal.Role),
			}
		}
		if held, err := r.s.guard().Throttled(r.Context, rt.method, rt.path); held || err != nil {
			return err
		}
	}
	if rt.method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type")); err != nil ||
			kind != "application/x-www-form-urlencoded" { // A02
			return echo.NewHTTPError(http.StatusUnsupportedMediaType)
		}
		if err := c.Request().ParseForm(); err != nil {
			return domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
		}
		if !hmac.Equal([]byte(c.Request().PostForm.Get("csrf")), []byte(r.principal.csrf)) {
			return &ui.LocalizedError{
				Err:        errOutOfDate,
				Message:    r.t("This form is out of date."),
				Suggestion: r.t("Go back, reload the page and try again."),
			}
		}
	}
	if requiresReauth(rt) {
		if ok, err := r.s.guard().Proven(r.Context); err != nil || !ok {
			return err
		}
	}
	return rt.handle(r)
}

// requiresReauth reports whether a route requires recent reauthentication. This applies to actions of
// admins, and to changes of the second factor.
func requiresReauth(rt route) bool {
	return rt.method == http.MethodPost && (rt.role() == domain.RoleAdmin || rt.path == "/me/second-factor")
}

func (s *Server) guard() account.Guard { return account.Guard{Auth: s.Auth} }

// identify sets the user of the session cookie. A missing session is not an error.
func (r *request) identify() error {
	who, err := r.s.login(r.Context)
	if err == nil && who.Name != "" {
		r.setPrincipal(who)
	}
	return err
}

// login returns the user of the session cookie. Without a valid session, the principal has no name.
func (s *Server) login(c *ui.Context) (none ui.Principal, err error) {
	cookie, err := c.Echo.Request().Cookie(s.site.CookieName(c.Echo.Request()))
	if err != nil || cookie.Value == "" {
		return none, nil
	}
	u, err := s.Auth.Session(c, cookie.Value)
	if domain.CodeOf(err) == domain.CodeUnauthorized {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	mac := hmac.New(sha256.New, []byte(cookie.Value))
	mac.Write([]byte("csrf"))
	return ui.Principal{User: u, Secret: cookie.Value, CSRF: hex.EncodeToString(mac.Sum(nil)), Request: domain.RequestOf(c)}, nil
}

func (r *request) redirectToLogin() error {
	needsSetup, err := r.s.Auth.NeedsSetup(r.ctx)
	if err != nil {
		return err
	}
	to := "/login?next=" + url.QueryEscape(r.c.Request().URL.RequestURI())
	if needsSetup {
		to = "/setup"
	}
	if r.htmx() {
		r.c.Response().Header().Set("HX-Redirect", to)
		return r.c.NoContent(http.StatusUnauthorized)
	}
	return r.c.Redirect(http.StatusSeeOther, to)
}

// fail shows an error, unless the response has started or the client has disconnected.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return // the response has started
	}
	if gone := c.Request().Context().Err(); errors.Is(gone, context.Canceled) {
		// The client has disconnected. A canceled request can fail with any error, and none of them
		// is a fault of the page.
		if !errors.Is(err, context.Canceled) {
			s.Logger.Debug("page failed after its browser had gone", "path", c.Request().URL.Path, "err", err)
		}
		return
	}
	r := s.newRequest(c.Request().Context(), c, "")
	_ = r.identify() // without a user, the error page is anonymous
	r.Fail(err)
}
