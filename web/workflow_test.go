package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// The page of a run links to its workflow, if it has one.
func TestARunLinksToItsWorkflow(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	run := site.Seed(t).Waiting
	config := site.Web
	address := "https://temporal.example/namespaces/default/workflows/"
	config.Links.Workflow = func(run string) string { return address + run }
	s, err := web.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	link := `href="` + address + run.ID + `"`
	if p := b.Get("/runs/" + run.ID); strings.Contains(p.Body, link) {
		t.Error("a run without a workflow has a link")
	}
	req := httptest.NewRequest(http.MethodGet, "http://"+config.Hosts[0]+"/runs/"+run.ID, nil)
	for _, c := range b.Cookies() {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), link) {
		t.Errorf("status %d, no link", w.Code)
	}
}
