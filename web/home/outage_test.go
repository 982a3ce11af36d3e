package home_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// An outage is one line on home. Its button opens a preview, and the preview starts a bulk
// operation, which has a page.
func TestAnOutageIsOneLineOnHome(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	for range 4 {
		site.Run(t, "ledger", `{"amount": 50, "currency": "EUR"}`)
	}
	b := site.Browser(t).Login()
	home := b.Get("/")
	query := "status:failed is:attention plan:ledger step:post error:" + seed.Failed.Error.Code
	address := "/bulk/new?" + url.Values{"do": {"resume"}, "q": {query}}.Encode()
	if !strings.Contains(home.Body, strings.ReplaceAll(address, "&", "&amp;")) || !strings.Contains(home.Body, "Resume 5…") {
		t.Fatalf("the home page has no line for the outage with %s:\n%s", address, home.Body)
	}
	p := b.Get(address)
	for _, want := range []string{"Resume 5 runs", "5 runs matched", "1 step again", `name="canary" value="1" checked`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the preview does not contain %q", want)
		}
	}
	form := p.Hidden()
	form.Set("canary", "1")
	form.Set("reason", "it is up again")
	stale := url.Values{}
	for k, v := range form {
		stale[k] = v
	}
	stale.Set("digest", "old")
	stale.Set("idem", "x")
	if p := b.Post("/bulk", stale); p.Code != http.StatusConflict || !strings.Contains(p.Body, "The current state follows") {
		t.Errorf("a stale preview: got status %d, want %d", p.Code, http.StatusConflict)
	}
	first, second := b.Post("/bulk", form), b.Post("/bulk", form)
	if first.Code != http.StatusSeeOther || first.Location != second.Location || !strings.HasPrefix(first.Location, "/bulk/") {
		t.Fatalf("got status %d, want %d: %s, status %d %s\n%s",
			first.Code, http.StatusSeeOther, first.Location, second.Code, second.Location, first.Body)
	}
	// The operation resumes only the canary, which fails. The other runs wait.
	id := strings.TrimPrefix(first.Location, "/bulk/")
	for {
		act, err := site.Bulk.Bulk(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if act.State.Final() {
			break
		}
	}
	p = b.Get(first.Location)
	for _, want := range []string{"Stopped", "failed the same way", "1 of 5", "it is up again", "bulk%3A" + id} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page of the operation does not contain %q", want)
		}
	}
	if p := b.Get("/bulk"); !strings.Contains(p.Body, first.Location) {
		t.Error("the list of bulk operations does not contain the operation")
	}
	if p := b.Get("/runs?q=bulk:" + id); strings.Count(p.Body, `name="run"`) != 5 {
		t.Errorf("its runs as a list: %d", strings.Count(p.Body, `name="run"`))
	}
}
