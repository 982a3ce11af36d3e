package bulk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

func TestChosenRunsAreActedOn(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	address := "/bulk/new?" + url.Values{"do": {"delete"}, "q": {""}, "run": {seed.Completed.ID, seed.Waiting.ID}}.Encode()
	p := b.Get(address)
	if !strings.Contains(p.Body, "Delete 1 run") || !strings.Contains(p.Body, "the run is waiting") {
		t.Fatalf("%d %s", p.Code, p.Body)
	}
	form := p.Hidden()
	form["run"] = []string{seed.Completed.ID, seed.Waiting.ID}
	if p := b.Post("/bulk", form); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "Say why") {
		t.Errorf("deleting many without a reason: %d", p.Code)
	}
	form.Set("reason", "a test")
	if p = b.Post("/bulk", form); p.Code != http.StatusSeeOther {
		t.Fatalf("%d\n%s", p.Code, p.Body)
	}
	if p := b.Get("/bulk/new?do=odd&q=x"); p.Code != http.StatusNotFound {
		t.Errorf("an act there is not: %d", p.Code)
	}
}
