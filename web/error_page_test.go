package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// brokenPlans is a store whose plans cannot be read.
type brokenPlans struct{ web.Reader }

func (brokenPlans) Plans(context.Context, kairos.PlanFilter) (kairos.List[kairos.Plan], error) {
	return kairos.List[kairos.Plan]{}, errors.New("read /var/lib/kairos/kairos.db: input/output error")
}

// A page that fails says what still works and gives what to send to whoever is to
// look at it; the cause, and what was typed, stay inside (S32).
func TestAFailedPageGivesDetailsToSend(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	s, err := web.New(web.Config{Reader: brokenPlans{site.Store}, Engine: site.Engine, Auth: site.Auth, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	req := httptest.NewRequest(http.MethodGet, "/plans?q=typed", nil)
	for _, c := range b.Cookies() {
		req.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, req)
	text := words(rec.Body.String())
	if rec.Code != http.StatusInternalServerError {
		t.Fatalf("%d %s", rec.Code, text)
	}
	for _, want := range []string{"Runs go on, and the other pages work.", "Copy details", "kairosd 1.2.3", "GET /plans"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	details := regexp.MustCompile(`(?s)<pre class="src" id="details">(.*?)</pre>`).FindString(rec.Body.String())
	if !strings.Contains(details, "error ") || strings.Contains(details, "typed") || strings.Contains(text, "kairos.db") {
		t.Errorf("the details: %s", details)
	}
}
