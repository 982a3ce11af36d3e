package runs_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The path summary of a run shows which step is active or retrying. Steps that have not started are
// dashed.
func TestThePathSummaryShowsWhatHasNotStarted(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	busy := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }),
	)
	defer busy.Close()
	site.Plan(t, `
id: shape
nodes:
  one: {type: set, input: 1}
  pull: {type: http, needs: [one], effect: read, retry: {max_attempts: 4, backoff: [1h]}, input: {url: "`+busy.URL+`"}}
  three: {type: set, needs: [pull], input: 3}
  four: {type: set, needs: [three], input: 4}
`)
	run := webtest.StartUntil(t, site, "shape", domain.WaitRetry)
	b := site.Browser(t).Login()
	shape := func() string {
		t.Helper()
		_, cell, _ := strings.Cut(b.Get("/runs?q=plan:shape").Body, `id="p-`+run.ID+`"`)
		cell, _, _ = strings.Cut(cell, "</td>")
		var out []string
		for _, part := range strings.Split(cell, `<rect class="`)[1:] {
			class, _, _ := strings.Cut(part, `"`)
			out = append(out, class)
		}
		return strings.Join(out, " ")
	}
	if got := shape(); got != "g-ok g-need g-wait g-wait" {
		t.Errorf("while the step retries, the cell shows: %s", got)
	}
	if p := b.Get("/runs/changes?q=&ids=" + run.ID); strings.Count(p.Body, `id="p-`+run.ID+`"`) != 1 {
		t.Error("the path summary is not live")
	}
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: run.ID, Action: domain.ActionCancel}); err != nil {
		t.Fatal(err)
	}
	if got := shape(); !strings.HasPrefix(got, "g-ok g-idle") || strings.Contains(got, "g-need") {
		t.Errorf("after cancelling, the cell shows: %s", got)
	}
}
