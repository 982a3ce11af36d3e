package docs_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// Every page of the index is served, and every link in it leads somewhere.
func TestEveryPageOfTheDocumentationIsServed(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	seen := map[string]bool{"/docs": true}
	queue := []string{"/docs"}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		p := b.Get(at)
		if p.Code != http.StatusOK {
			t.Errorf("%s: %d", at, p.Code)
			continue
		}
		if strings.Contains(p.Body, "raw HTML omitted") {
			t.Errorf("%s has HTML in its Markdown", at)
		}
		for _, part := range strings.Split(p.Body, `"/docs`)[1:] {
			to, _, _ := strings.Cut(part, `"`)
			to, _, _ = strings.Cut("/docs"+to, "#")
			if !seen[to] && !strings.Contains(to, "?") {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d pages", len(seen))
	}
}

// A search finds pages by all of its words, and says so when it finds nothing.
func TestTheDocumentationIsSearched(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	if p := b.Get("/docs?q=on_timeout+approval"); !strings.Contains(p.Body, "/docs/reference/plan-language#approvals") {
		t.Error("a search for on_timeout does not find the page about approvals")
	}
	for _, id := range []string{`id="mcpexit"`, `id="provider_auth"`, `id="http_429-and-other-http-statuses"`} {
		if p := b.Get("/docs/reference/errors"); !strings.Contains(p.Body, id) {
			t.Errorf("the reference of errors has no %s, to which pages of runs lead", id)
		}
	}
	if p := b.Get("/docs?q=nosuchwordanywhere"); !strings.Contains(p.Body, "Results: 0") {
		t.Error("a search without results does not say so")
	}
	if p := b.Get("/docs?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E"); strings.Contains(p.Body, "<script>alert") {
		t.Error("a search is not escaped")
	}
	for _, address := range []string{"/docs/nothing", "/docs/reference/nothing", "/docs/img/nothing.png", "/docs/..%2fgo/mod"} {
		if p := b.Get(address); p.Code != http.StatusNotFound {
			t.Errorf("%s: %d", address, p.Code)
		}
	}
}
