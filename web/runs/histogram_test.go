package runs_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// A list filtered by plan, status, or time has a histogram. Each column links to the runs that
// ended in it and keeps the other terms. Lists with other filters have no histogram.
func TestTheRunListHasAHistogram(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	chart := func(q string) (string, bool) {
		p := b.Get("/runs?q=" + url.QueryEscape(q))
		if p.Code != http.StatusOK {
			t.Fatalf("%s: got status %d, want %d", q, p.Code, http.StatusOK)
		}
		_, svg, ok := strings.Cut(p.Body, `<svg class="chart"`)
		svg, _, _ = strings.Cut(svg, "</svg>")
		return svg, ok
	}
	if svg, ok := chart(""); !ok || !strings.Contains(svg, "1 completed, 2 failed, 0 cancelled") {
		t.Errorf("all runs: %s", svg)
	}
	svg, ok := chart("status:failed plan:ledger since:24h")
	if !ok || !strings.Contains(svg, "0 completed, 1 failed, 0 cancelled") ||
		!strings.Contains(svg, `href="/runs?q=status%3Afailed+plan%3Aledger+since%3A`) || !strings.Contains(svg, "until%3A") {
		t.Errorf("failed runs of a plan: %s", svg)
	}
	for _, q := range []string{"tool:http", "status:running", "ledger", "since:90d"} {
		if _, ok := chart(q); ok {
			t.Errorf("%q has a histogram", q)
		}
	}
}
