package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// failingPlansReader is a store whose Plans fails.
type failingPlansReader struct {
	web.Reader
	err error
}

func (b failingPlansReader) Plans(context.Context, domain.PlanFilter) (domain.List[domain.Plan], error) {
	return domain.List[domain.Plan]{}, b.err
}

// requestFailingPlans requests the plan list in a language while reading plans fails with err.
func requestFailingPlans(t *testing.T, err error, language string) *httptest.ResponseRecorder {
	t.Helper()
	site := webtest.New(t)
	config := site.Web
	config.Hosts, config.Reader, config.Version = nil, failingPlansReader{site.Store, err}, "1.2.3"
	s, startErr := web.New(config)
	if startErr != nil {
		t.Fatal(startErr)
	}
	t.Cleanup(s.Close)
	req := httptest.NewRequest(http.MethodGet, "/plans?q=typed", nil)
	req.Header.Set("Accept-Language", language)
	for _, c := range site.Browser(t).Login().Cookies() {
		req.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, req)
	return rec
}

// A failed page shows what still works, and the details to send to the administrator. It hides the
// cause and typed text (S32).
func TestAFailedPageGivesDetailsToSend(t *testing.T) {
	t.Parallel()
	rec := requestFailingPlans(t, errors.New("read /var/lib/kairos/kairos.db: input/output error"), "en")
	text := webtest.Text(rec.Body.String())
	if rec.Code != http.StatusInternalServerError {
		t.Fatalf("got status %d, want %d: %s", rec.Code, http.StatusInternalServerError, text)
	}
	for _, want := range []string{"Runs continue, and the other pages work.", "Copy details", "kairosd 1.2.3", "GET /plans"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q: %s", want, text)
		}
	}
	details := regexp.MustCompile(`(?s)<pre class="src" id="details">(.*?)</pre>`).FindString(rec.Body.String())
	if !strings.Contains(details, "error ") || strings.Contains(details, "typed") || strings.Contains(text, "kairos.db") {
		t.Errorf("got details: %s", details)
	}
}

// An error page explains the error in the reader's language. The English message is below it,
// marked as English.
func TestErrorsExplainThemselvesInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	for path, want := range map[string][]string{
		"/plans/nothing":        {"No encontrado", "No se encuentra el plan «nothing»"},
		"/nothing":              {"No encontrado", "No hay ninguna página en esta dirección."},
		"/runs/06gzz0000000000": {"No encontrado", "No se encuentra la ejecución 06gzz0000000000."},
		"/runs?q=statsu:failed": {"No hay ningún filtro «statsu»", "¿quería decir status:failed?"},
	} {
		req, err := http.NewRequest(http.MethodGet, site.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Language", "es")
		p := b.Do(req)
		for _, w := range want {
			if !strings.Contains(p.Body, w) {
				t.Errorf("%s (status %d) does not contain %q: %s", path, p.Code, w, webtest.Text(p.Body))
			}
		}
	}
}

// A message without a translation is marked as English on a Spanish page, below an explanation in
// Spanish. A translated message is not marked.
func TestAnUntranslatedMessageIsMarkedAsEnglish(t *testing.T) {
	t.Parallel()
	const message = "file is not a database"
	err := domain.NewError(domain.CodeUnavailable, domain.Verbatim(message), domain.Verbatim("restore a backup"))
	for language, want := range map[string][]string{
		"es": {"kairosd no puede hacer esto ahora.", `lang="en">File is not a database</p>`, `lang="en">Restore a backup</p>`},
		"en": {"<p>File is not a database</p>", "<p>Restore a backup</p>"},
	} {
		rec := requestFailingPlans(t, err, language)
		if rec.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: got status %d, want %d", language, rec.Code, http.StatusServiceUnavailable)
		}
		for _, w := range want {
			if !strings.Contains(rec.Body.String(), w) {
				t.Errorf("%s: the page does not contain %q: %s", language, w, webtest.Text(rec.Body.String()))
			}
		}
	}
}

// The page of a full disk shows its headline once, and how to free space.
func TestThePageOfAFullDiskHasOneHeadline(t *testing.T) {
	t.Parallel()
	err := domain.Errorf(domain.CodeNoSpace, "the disk is full").Suggest("free space")
	for language, headline := range map[string]string{"en": "The disk is full", "es": "El disco está lleno"} {
		rec := requestFailingPlans(t, err, language)
		_, main, _ := strings.Cut(rec.Body.String(), "<main")
		if rec.Code != http.StatusInsufficientStorage || strings.Count(main, headline) != 1 || !strings.Contains(main, "<p>") {
			t.Errorf("%s: status %d: %s", language, rec.Code, webtest.Text(main))
		}
	}
}

// A list with an invalid filter does not poll for new runs. It would request its own page and
// insert the response into itself.
func TestAListWithABadFilterFollowsNothing(t *testing.T) {
	t.Parallel()
	b := webtest.New(t).Browser(t).Login()
	if p := b.Get("/runs?q=statsu:failed"); p.Code != http.StatusBadRequest || strings.Contains(p.Body, `hx-get=""`) {
		t.Errorf("status %d: the list requests itself", p.Code)
	}
}

// The home page without runs reloads when the first run starts.
func TestTheFirstRunBringsHome(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	ask := func() webtest.Page {
		req, err := http.NewRequest(http.MethodGet, site.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("HX-Request", "true")
		req.Header.Set("HX-Target", "first")
		return b.Do(req)
	}
	if p := ask(); p.Code != http.StatusNoContent || p.Header.Get("HX-Refresh") != "" {
		t.Errorf("before any run: got status %d, want %d: %q", p.Code, http.StatusNoContent, p.Header.Get("HX-Refresh"))
	}
	site.Plan(t, "id: hello\nnodes:\n  greet: {type: set, input: 1}\n")
	site.Run(t, "hello", `null`)
	if p := ask(); p.Code != http.StatusNoContent || p.Header.Get("HX-Refresh") != "true" {
		t.Errorf("after a run: got status %d, want %d: %q", p.Code, http.StatusNoContent, p.Header.Get("HX-Refresh"))
	}
}

// A rejected request is not shown as a failure of kairosd, and its page links to other pages.
func TestARefusedRequestIsNoFailure(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	p := site.Browser(t).Login().Get("/nothing")
	for _, want := range []string{`<span class="st need">`, `404`, `<a class="btn" href="/runs">`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
