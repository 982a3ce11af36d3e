package runs_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// While a filter is being typed, the list shows the runs that match its finished terms. An
// unfinished term neither empties the list nor shows an error. A finished invalid term does.
func TestATypedFilterKeepsTheList(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	typed := func(q string) webtest.Page {
		req, err := http.NewRequest(http.MethodGet, site.URL+"/runs?q="+url.QueryEscape(q), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("HX-Request", "true")
		req.Header.Set("HX-Target", "list")
		return b.Do(req)
	}
	for q, want := range map[string]int{
		"provi": 5, "status:fai": 5, "status:failed pla": 2, "status:failed plan:led": 2, "status:failed": 2,
	} {
		p := typed(q)
		if n := strings.Count(p.Body, `name="run"`); p.Code != http.StatusOK || n != want || strings.Contains(p.Body, `role="alert"`) {
			t.Errorf("while %q is typed: got status %d, want %d, %d runs", q, p.Code, http.StatusOK, n)
		}
	}
	webtest.HasTexts(t, typed("status:failed pla"), http.StatusOK, "pla matches no run. The list ignores it.")
	webtest.HasTexts(t, typed("status:fai "), http.StatusBadRequest, `role="alert"`)
}
