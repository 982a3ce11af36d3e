package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// P44: the second of two authors who edit a plan sees what the first has saved. The typed text is
// kept, and the second author decides whether to save it anyway.
func TestTheSecondOfTwoAuthorsIsWarned(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: shared\nnodes:\n  a: {type: set, input: 1}\n")
	b := site.Browser(t).Login()
	mine, theirs := b.Get("/plans/shared/edit").Hidden(), b.Get("/plans/shared/edit").Hidden()
	for f, n := range map[*url.Values]string{&mine: "2", &theirs: "3"} {
		f.Set("source", "id: shared\nnodes:\n  a: {type: set, input: "+n+"}\n")
		f.Set("do", "save")
	}
	if p := b.Post("/plans/shared/edit", theirs); p.Location != "/plans/shared/v/2" {
		t.Fatalf("status %d %s", p.Code, p.Location)
	}
	p := b.Post("/plans/shared/edit", mine)
	if p.Code != http.StatusConflict || !strings.Contains(p.Body, "Another user saved this plan after you opened it") ||
		!strings.Contains(p.Body, "/plans/shared/diff/1/2") ||
		!strings.Contains(p.Body, "input: 2") {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusConflict, webtest.Text(p.Body))
	}
	again := p.Hidden()
	again.Set("source", mine.Get("source"))
	again.Set("do", "save")
	if p := b.Post("/plans/shared/edit", again); p.Location != "/plans/shared/v/3" {
		t.Errorf("status %d %s\n%s", p.Code, p.Location, webtest.Text(p.Body))
	}
}
