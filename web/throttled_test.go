package web_test

import (
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// After too many attempts, the rejected form shows the remaining time and when it ends. After that
// time, you can try again.
func TestAThrottledBrowserSeesHowLongToWait(t *testing.T) {
	t.Parallel()
	begin, ahead := time.Now(), &atomic.Int64{}
	site := webtest.NewWith(t, storetest.Open(t), auth.Config{Now: func() time.Time { return begin.Add(time.Duration(ahead.Load())) }})
	inside := site.Browser(t).Login()
	login := func(language string) webtest.Page {
		t.Helper()
		return site.Browser(t).
			Do(webtest.Request(t, http.MethodPost, site.URL+"/login", "csrf=anonymous&name=nobody&password=wrong", "Accept-Language",
				language,
				"Origin", site.URL, "Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded"))
	}
	waits := func(p webtest.Page, seconds, text string) {
		t.Helper()
		webtest.HasTexts(t, p, http.StatusTooManyRequests)
		if got := p.Header.Get("Retry-After"); got != seconds {
			t.Errorf("Retry-After is %q, want %s", got, seconds)
		}
		if !regexp.MustCompile(text).MatchString(webtest.Text(p.Body)) {
			t.Errorf("the page does not contain %q: %s", text, webtest.Text(p.Body))
		}
	}
	for range 5 {
		webtest.HasTexts(t, login("en"), http.StatusUnprocessableEntity)
	}
	waits(login("en"), "1", `Too many attempts\. Try again in 1 second, at \d\d:\d\d:\d\d\.`)
	ahead.Store(int64(time.Second))
	webtest.HasTexts(t, login("en"), http.StatusUnprocessableEntity, "Wrong name or password")
	waits(login("es"), "2", `Demasiados intentos\. Vuelva a intentarlo en 2 segundos, a las \d\d:\d\d:\d\d\.`)
	// One message contains both sentences, so that the pseudo-locale pads it only at the end.
	stretched := webtest.Request(t, http.MethodPost, site.URL+"/login", "csrf=anonymous&name=nobody&password=wrong", "Cookie", "lang=en-XA",
		"Origin", site.URL, "Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded")
	waits(site.Browser(t).Do(stretched), "2", `Too many attempts\. Try again in 2 seconds, at \d\d:\d\d:\d\d\. ·+`)
	ahead.Store(int64(2500 * time.Millisecond))
	waits(login("en"), "1", `Try again in 1 second, at`)
	change := func() webtest.Page {
		t.Helper()
		f := webtest.Form(t, inside.Get("/me").Body, `action="/me/password"`)
		f.Set("old", "wrong")
		f.Set("password", "another long password")
		f.Set("again", "another long password")
		return inside.Post("/me/password", f)
	}
	for range 5 {
		webtest.HasTexts(t, change(), http.StatusUnprocessableEntity)
	}
	p := change()
	waits(p, "1", `Too many attempts\. Try again in 1 second, at`)
	webtest.HasTexts(t, p, http.StatusTooManyRequests, `name="again"`) // the form is still there
}

// An error page shows when to try again.
func TestAnErrorPageShowsWhenToTryAgain(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.System.Fail(
		&domain.Error{
			Code:       domain.CodeTooMany,
			Message:    "too many attempts",
			Suggestion: "wait a few seconds, then try again",
			RetryAfter: 150 * time.Second,
		},
	)
	page := b.Get("/system")
	part := b.Do(webtest.Request(t, http.MethodGet, site.URL+"/system", "", "HX-Request", "true", "HX-Target", "main"))
	for _, p := range []webtest.Page{page, part} {
		webtest.HasTexts(t, p, http.StatusTooManyRequests, "Too many attempts", "Try again in 3 minutes, at ")
		if p.Header.Get("Retry-After") != "150" {
			t.Errorf("Retry-After is %q", p.Header.Get("Retry-After"))
		}
	}
	spanish := b.Do(webtest.Request(t, http.MethodGet, site.URL+"/system", "", "Accept-Language", "es"))
	webtest.HasTexts(t, spanish, http.StatusTooManyRequests, "Demasiados intentos", "Vuelva a intentarlo en 3 minutos, a las ")
}
