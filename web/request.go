package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/static"
	"github.com/kairosd/kairosd/web/view"
)

// request is one request on its way through a page.
type request struct {
	s   *Server
	c   echo.Context
	ctx context.Context
	who principal
	op  app.Operation
	// display is how the reader wants pages.
	display display
	began   time.Time
	// at is up to where the page knows what happened, for its live stream.
	at string
	// wrong is what was typed into the form of a verb and cannot be used.
	wrong map[string]typed
}

// serve finds out who asks, checks role and form token, and runs the page.
func (s *Server) serve(c echo.Context, rt route) error {
	ctx := c.Request().Context()
	if rt.path != "/live" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readTimeout+10*time.Second)
		defer cancel()
	}
	r := &request{s: s, c: c, op: rt.op, began: time.Now()}
	r.at = s.position(s.Engine.Heard())
	r.display = r.readDisplay()
	r.ctx = locale.With(ctx, r.display.lang)
	c.Response().Header().Set("Cache-Control", "no-store")
	c.Response().Header().Set("Vary", "HX-Request, HX-Target")
	if r.target() == startingPart && rt.method == http.MethodGet { // a page that waited for this daemon
		c.Response().Header().Set("HX-Refresh", "true")
		return c.NoContent(http.StatusNoContent)
	}
	if err := r.identify(); err != nil {
		return err
	}
	err := r.admitted(rt)
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Code == domain.CodeForbidden && !e.Audited && rt.method == http.MethodPost && r.who.Name != "" && e != errOutOfDate {
		r.recordDenied(err)
	}
	return err
}

// errOutOfDate is a form without its token. Whoever sent it did not mean to act,
// or is another site.
var errOutOfDate = domain.Errorf(domain.CodeForbidden, "this form is out of date").Suggest("go back, reload the page and try again")

// spoken is an error with what a page says of it in the reader's language. Logs and
// the audit log have the error itself.
type spoken struct {
	err            *domain.Error
	says, suggests string
}

func (e *spoken) Error() string { return e.err.Error() }

// Unwrap returns the error itself.
func (e *spoken) Unwrap() error { return e.err }

// recordDenied writes down that somebody wanted what they may not. The refusal
// stands even if that fails.
func (r *request) recordDenied(err error) {
	if r.s.Audit == nil {
		return
	}
	req := r.c.Request()
	// It is recorded even if the browser has gone.
	if err := r.s.Audit.Audit(context.WithoutCancel(r.ctx), domain.AuditRecord{Action: "access.denied", Actor: r.who.Name, Surface: "ui",
		Object: req.Method + " " + req.URL.Path, Result: "denied", Reason: err.Error()}); err != nil {
		r.s.Logger.Error("record a refusal", "path", req.URL.Path, "err", err)
	}
}

// admitted checks role and form token, and runs the page.
func (r *request) admitted(rt route) error {
	c := r.c
	if role := rt.role(); role != "" {
		if r.who.Name == "" {
			return r.toLogin()
		}
		if !r.who.Role.Includes(role) {
			return &spoken{domain.Errorf(domain.CodeForbidden, "this needs the role %s", role), r.t("This needs the role %s.", role),
				r.t("You have the role %s; an administrator can give you another.", r.who.Role)}
		}
		if held, err := r.heldBack(rt); held || err != nil {
			return err
		}
	}
	if rt.method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" { // A02
			return echo.NewHTTPError(http.StatusUnsupportedMediaType)
		}
		if err := c.Request().ParseForm(); err != nil {
			return domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
		}
		if !hmac.Equal([]byte(c.Request().PostForm.Get("csrf")), []byte(r.who.csrf)) {
			return &spoken{errOutOfDate, r.t("This form is out of date."), r.t("Go back, reload the page and try again.")}
		}
	}
	if needsProof(rt) {
		if ok, err := r.proven(); err != nil || !ok {
			return err
		}
	}
	return rt.handle(r)
}

// identify finds the user of the session cookie; none is no error.
func (r *request) identify() error {
	r.who.csrf = "anonymous"
	cookie, err := r.c.Request().Cookie(r.s.cookieName(r.c.Request()))
	if err != nil || cookie.Value == "" {
		return nil
	}
	u, err := r.s.Auth.Session(r.ctx, cookie.Value)
	if domain.CodeOf(err) == domain.CodeUnauthorized {
		return nil
	}
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(cookie.Value))
	mac.Write([]byte("csrf"))
	r.who = principal{User: u, secret: cookie.Value, csrf: hex.EncodeToString(mac.Sum(nil)), request: domain.RequestOf(r.ctx)}
	return nil
}

func (r *request) toLogin() error {
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

func (r *request) htmx() bool { return r.c.Request().Header.Get("HX-Request") == "true" }

// target is the element of the page that the answer is for; empty: a whole page.
func (r *request) target() string {
	if !r.htmx() {
		return ""
	}
	return r.c.Request().Header.Get("HX-Target")
}

// render writes a component whole or not at all.
func (r *request) render(code int, c templ.Component) error {
	var b bytes.Buffer
	read := time.Since(r.began) // templates ask for nothing: the database comes before them
	if err := c.Render(r.ctx, &b); err != nil {
		return err
	}
	h := r.c.Response().Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", r.display.lang.Tag)
	took := time.Since(r.began)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	h.Set("Server-Timing", fmt.Sprintf("total;dur=%.1f, db;dur=%.1f, render;dur=%.1f", ms(took), ms(read), ms(took-read)))
	if code == http.StatusOK && r.target() != "" && r.c.Request().Method == http.MethodGet && r.unchanged(b.Bytes()) {
		return r.c.NoContent(http.StatusNoContent)
	}
	return write(r.c.Response(), r.c.Request(), code, b.Bytes())
}

// unchanged reports whether a part of a page is what the browser has of it, which
// says by If-None-Match what it was given: then it is not sent again, and what is
// on the page is not touched.
func (r *request) unchanged(part []byte) bool {
	sum := fnv.New64a()
	sum.Write(part)
	tag := strconv.FormatUint(sum.Sum64(), 36)
	r.c.Response().Header().Set("ETag", `"`+tag+`"`)
	return r.c.Request().Header.Get("If-None-Match") == `"`+tag+`"`
}

// to answers a POST: the result is a page of its own, which says what was done.
func (r *request) to(address string) error {
	r.sayDone()
	if r.htmx() {
		r.c.Response().Header().Set("HX-Redirect", address)
		return r.c.NoContent(http.StatusNoContent)
	}
	return r.c.Redirect(http.StatusSeeOther, address)
}

// shell is what surrounds a page: section names its place in the navigation,
// title is a message or ready text.
func (r *request) shell(section, title string) view.Shell {
	s := view.Shell{Title: r.t(title), Section: section, User: r.who.Name, Role: string(r.who.Role), CSRF: r.who.csrf, Version: r.s.Version,
		Static: static.Path, Zone: r.display.zone.String(), Now: r.s.now().UnixMilli(), Favicon: "idle", Theme: r.display.theme,
		Density: r.display.density, Inspector: r.display.inspector, Shortcuts: r.display.shortcuts, Display: r.displayChoices(), Began: r.began, At: r.at, Here: "/", Dialog: r.target() == "dialog"}
	if r.c.Request().Method == http.MethodGet {
		s.Here = r.c.Request().URL.RequestURI()
		s.JSON = r.apiAddress()
	}
	s.Done = r.whatWasDone()
	if r.who.Name != "" {
		s.Node, s.Idle = r.s.Node, r.s.Idle.Milliseconds()
		if counts, err := r.s.Reader.RunCounts(r.ctx); err == nil {
			if s.Pending = counts.OpenApprovals; s.Pending > 0 {
				s.Favicon = "waiting" // somebody waits for a person
			}
		}
		if r.s.System != nil {
			for _, n := range r.s.System.Notices(r.ctx) {
				if section == "system" && n.Href == "/system" {
					n.Href = "" // it is said here in full
				}
				s.Notices = append(s.Notices, view.Notice{Bad: n.Bad, Text: r.said(n.Text), Href: n.Href, Act: r.said(n.Act)})
			}
		}
	}
	s.Initials, s.Own, s.Nav = initials(r.who.Name), r.nav(ownPlaces, section, 0), r.nav(places, section, s.Pending)
	return s
}

// page reads the cursor parameters of a list.
func (r *request) page() domain.Page {
	p := domain.Page{After: r.c.QueryParam("after"), Before: r.c.QueryParam("before")}
	if n, err := strconv.Atoi(r.c.QueryParam("n")); err == nil && n > 0 {
		p.Limit = min(n, 200)
	}
	return p
}

// statusOf maps a code to the status that browsers get.
var statusOf = map[domain.Code]int{
	domain.CodeInvalid: http.StatusUnprocessableEntity, domain.CodeNotFound: http.StatusNotFound, domain.CodeConflict: http.StatusConflict,
	domain.CodeNotResumable: http.StatusConflict, domain.CodeStale: http.StatusConflict, domain.CodeForbidden: http.StatusForbidden,
	domain.CodeUnauthorized: http.StatusUnauthorized, domain.CodeTooLarge: http.StatusRequestEntityTooLarge, domain.CodeTooMany: http.StatusTooManyRequests,
	domain.CodeUnavailable: http.StatusServiceUnavailable, domain.CodeLocked: http.StatusServiceUnavailable, domain.CodeNoSpace: http.StatusInsufficientStorage,
}

var headlines = map[int]string{
	http.StatusNotFound: locale.Mark("Not found"), http.StatusForbidden: locale.Mark("Not allowed"), http.StatusConflict: locale.Mark("Changed since you looked"),
	http.StatusUnprocessableEntity: locale.Mark("That cannot be used"), http.StatusTooManyRequests: locale.Mark("Too many tries"), http.StatusServiceUnavailable: locale.Mark("Not available now"),
	http.StatusInsufficientStorage: locale.Mark("The disk is full"), http.StatusRequestEntityTooLarge: locale.Mark("Too large"),
}

// explained says what an answer means, where nothing more is known in the reader's
// language: the error's own text is English, and stands below it.
var explained = map[int]string{
	http.StatusNotFound: locale.Mark("Nothing is at this address, or not any more."), http.StatusForbidden: locale.Mark("You are not allowed to do this."),
	http.StatusConflict: locale.Mark("It has changed meanwhile. Look at it again."), http.StatusUnprocessableEntity: locale.Mark("Something of what was sent cannot be used."),
	http.StatusTooManyRequests: locale.Mark("Wait a moment, then try again."), http.StatusServiceUnavailable: locale.Mark("kairosd cannot do this now. Try again in a moment."),
	http.StatusInsufficientStorage: locale.Mark("Nothing can be stored until there is room on the disk."), http.StatusRequestEntityTooLarge: locale.Mark("More was sent than is taken."),
}

// fail shows an error: what happened, what to do. What is not made for people
// is logged under an id, and only the id is shown (S32).
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return // the answer is on its way
	}
	if gone := c.Request().Context().Err(); errors.Is(gone, context.Canceled) {
		// Nobody reads the answer. What was cut short by it fails in many ways, and none
		// of them is a fault of the page.
		if !errors.Is(err, context.Canceled) {
			s.Logger.Debug("page failed after its browser had gone", "path", c.Request().URL.Path, "err", err)
		}
		return
	}
	r := &request{s: s, c: c, began: time.Now()}
	r.display = r.readDisplay()
	r.ctx = locale.With(c.Request().Context(), r.display.lang)
	_ = r.identify() // an anonymous error page is one all the same
	p := view.ErrorPage{Shell: r.shell("", "Error"), Code: http.StatusInternalServerError, Headline: locale.Mark("Something went wrong here"),
		Message: r.t("Nothing that was stored is lost.")}
	var httpError *echo.HTTPError
	var tooLarge *http.MaxBytesError
	e, ours := errors.AsType[*domain.Error](err)
	said, translated := errors.AsType[*spoken](err)
	switch {
	case errors.As(err, &tooLarge):
		p.Code, p.Message = http.StatusRequestEntityTooLarge, r.t(explained[http.StatusRequestEntityTooLarge])
	case errors.As(err, &httpError):
		p.Code = httpError.Code
		p.Message = http.StatusText(httpError.Code)
		if says := explained[p.Code]; says != "" {
			p.Message = r.t(says)
		}
	case translated:
		p.Code, p.Message, p.Suggestion = statusOf[said.err.Code], said.says, said.suggests
	case ours && statusOf[e.Code] != 0:
		says := r.saidInside(e.Message)
		p.Code, p.Message, p.Suggestion = statusOf[e.Code], begun(says), begun(r.said(e.Suggestion))
		if p.Wait = r.wait(err); p.Wait != "" && e.Code == domain.CodeTooMany {
			p.Suggestion = "" // it says to wait, not how long
		}
		if r.display.lang != locale.English && says == visible(e.Message) && explained[p.Code] != "" {
			p.Says = r.t(explained[p.Code])
		}
	case errors.Is(err, context.DeadlineExceeded):
		p.Code, p.Message = http.StatusServiceUnavailable, r.t("The answer took too long.")
	default:
		p.ID = domain.RequestOf(r.ctx).ID
		s.Logger.Error("page failed", "id", p.ID, "path", c.Request().URL.Path, "err", err)
		// The address without its query, in which may be what somebody typed.
		p.Details = strings.Join([]string{"error " + p.ID, "kairosd " + s.Version, c.Request().Method + " " + visible(c.Request().URL.Path), s.now().UTC().Format(time.RFC3339)}, "\n")
	}
	if h := headlines[p.Code]; h != "" {
		p.Headline = h
	}
	p.Headline = r.t(p.Headline)
	p.Title = p.Headline
	p.Lists = r.lists()
	component := view.Error(p)
	if r.htmx() {
		p.Part = r.target() != "dialog"
		component = view.ErrorPanel(p)
	}
	if err := r.render(p.Code, component); err != nil {
		s.Logger.Error("error page failed", "err", err)
	}
}

// posts holds the results of forms that this process has answered, so that a
// second post of the same form returns the first one's result and does nothing.
// Forms answered by an earlier process are found in the audit log.
type posts struct {
	mu   sync.Mutex
	done map[string]*posted
}

type posted struct {
	once sync.Once
	to   string
	err  error
	at   time.Time
	// retried is set when this process refused the form before: nothing an earlier
	// process did can be the reason for its records.
	retried bool
}

func newPosts() *posts { return &posts{done: map[string]*posted{}} }

// once runs f for the first post with this key and returns its result for every
// later one. earlier finds the result of a process that ended before it answered;
// empty if there is none. A post that failed may be tried again.
func (p *posts) once(key string, earlier, f func() (string, error)) (string, error) {
	p.mu.Lock()
	now := time.Now()
	for k, d := range p.done {
		if now.Sub(d.at) > 24*time.Hour || len(p.done) > 10_000 {
			delete(p.done, k)
		}
	}
	d := p.done[key]
	if d == nil {
		d = &posted{at: now}
		p.done[key] = d
	}
	p.mu.Unlock()
	d.once.Do(func() {
		if !d.retried {
			if d.to, d.err = earlier(); d.err != nil || d.to != "" {
				return
			}
		}
		d.to, d.err = f()
	})
	if d.err != nil {
		p.mu.Lock()
		if p.done[key] == d {
			p.done[key] = &posted{at: now, retried: true}
		}
		p.mu.Unlock()
	}
	return d.to, d.err
}

// once carries out the posted form at most once and redirects to the result, also
// if kairosd is killed before it answers and the form is sent again.
func (r *request) once(f func() (string, error)) error { return r.onceOf("", f) }

// onceOf is once for one of several actions of a form: each is done at most once.
func (r *request) onceOf(act string, f func() (string, error)) error {
	to, err := r.result(act, f)
	if err != nil {
		return err
	}
	return r.to(to)
}

// result carries out one action of the posted form at most once and returns the
// address of its result.
func (r *request) result(act string, f func() (string, error)) (string, error) {
	form := r.c.FormValue("idem")
	if form == "" {
		return f()
	}
	key := r.who.ID + ":" + form + act
	// Everything the form leads to is recorded under a name that its repetition has
	// too. The record of an action commits with the action, so the audit log knows
	// what was done however the process ended.
	sum := sha256.Sum256([]byte("form\x00" + key))
	r.who.request.ID = hex.EncodeToString(sum[:8])
	r.ctx = domain.WithRequest(r.ctx, r.who.request)
	return r.s.posts.once(key, r.carriedOut, f)
}

// carriedOut returns the page of what this request did in an earlier process:
// the run that it created, else whatever its last record is about. It is empty if
// the audit log has no record of the request.
func (r *request) carriedOut() (string, error) {
	list, err := r.s.Reader.AuditEvents(r.ctx, domain.AuditFilter{Requests: []string{r.who.request.ID}, Page: domain.Page{Limit: 50}})
	if err != nil {
		return "", err
	}
	to := ""
	for _, e := range list.Items {
		if cmp.Or(e.Result, "ok") != "ok" {
			continue
		}
		if e.Action == "run.created" {
			return "/runs/" + e.Run, nil
		}
		if to == "" {
			to = cmp.Or(r.auditAbout(e).Href, "/audit/"+strconv.FormatInt(e.Seq, 10))
		}
	}
	return to, nil
}
