package bulk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
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
		t.Fatalf("status %d %s", p.Code, p.Body)
	}
	form := p.Hidden()
	form["run"] = []string{seed.Completed.ID, seed.Waiting.ID}
	if p := b.Post("/bulk", form); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "Enter a reason") {
		t.Errorf("deleting runs without a reason: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	form.Set("reason", "a test")
	if p = b.Post("/bulk", form); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	if p := b.Get("/bulk/new?do=odd&q=x"); p.Code != http.StatusNotFound {
		t.Errorf("an unknown action: got status %d, want %d", p.Code, http.StatusNotFound)
	}
}

// The page of a bulk operation shows the number of processed runs and the rate. Its list is
// filtered by outcome and stays live. The form that stops the operation is above the list.
func TestABulkOperationShowsItsProgressByOutcome(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: sum\nnodes:\n  one: {type: set, input: 1}\n")
	for range 4 {
		site.Run(t, "sum", "null")
	}
	act, err := site.Bulk.Start(t.Context(), site.Admin, domain.BulkRequest{
		Action: domain.ActionRerun, Query: "plan:sum", Rate: 2, NotBefore: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	at := "/bulk/" + act.ID
	p := b.Get(at)
	webtest.Has(t, p, "the page", "4 pending", "2 runs per minute", "about 2 min left", "All 4", "Pending 4", `id="stop"`)
	if strings.Index(p.Body, `id="stop"`) > strings.Index(p.Body, `id="items"`) {
		t.Error("the Stop form is below the list")
	}
	p = b.Get(at + "?status=refused")
	webtest.HasTexts(t, p, http.StatusOK, "No run has this outcome.", `hx-get="`+at+`?status=refused"`)
	if n := strings.Count(b.Get(at+"?status=pending").Body, "<tr>"); n != 5 {
		t.Errorf("%d rows are pending, with the head", n)
	}
	if p := b.Get(at + "?status=odd"); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown status: %d", p.Code)
	}
	form := webtest.Form(t, p.Body, `name="reason"`)
	form.Set("reason", "enough")
	if p := b.Post(at+"/stop", form); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	p = b.Get(at)
	webtest.HasTexts(t, p, http.StatusOK, "Stopped", "Pending runs were not changed.", "4 pending")
	if strings.Contains(p.Body, `id="stop"`) {
		t.Error("a stopped operation can be stopped again")
	}
}
