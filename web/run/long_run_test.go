package run_test

import (
	"net/http"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// long is a plan with a step that runs 50,000 times.
const long = `id: long
start: a
limits: {max_steps: 60000}
nodes:
  a: {type: set, max_visits: 50000, input: {n: 1}}
edges: [{from: a, to: a}]
`

func BenchmarkLongRun(b *testing.B) {
	site := webtest.New(b)
	site.Plan(b, long)
	run := site.Run(b, "long", "null")
	b.Logf("%s %s %d", run.Status, run.Headline, run.Steps)
	br := site.Browser(b).Login()
	b.ResetTimer()
	for b.Loop() {
		if p := br.Get("/runs/" + run.ID); p.Code != http.StatusOK {
			b.Fatal(p.Code)
		} else {
			b.ReportMetric(float64(len(p.Body)), "bytes")
		}
	}
}
