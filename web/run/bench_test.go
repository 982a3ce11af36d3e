package run_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// largeRuns returns runs with many steps in a row, and with many items of one step.
func largeRuns(tb testing.TB) map[string]*story {
	return map[string]*story{
		"1,000 steps":  wideStory(tb, "01jr8k2mf0s0000000007qx1", 1000),
		"1,000 items":  manyStory(tb, "01jr8k2mf0s0000000007qx2", 1000),
		"10,000 items": manyStory(tb, "01jr8k2mf0s0000000007qx3", 10000),
	}
}

// runPart requests the page of a run, or one of its live regions.
func runPart(tb testing.TB, site http.Handler, s *story, part string) []byte {
	tb.Helper()
	r := httptest.NewRequest(http.MethodGet, "/runs/"+s.run.ID, nil)
	if part != "page" {
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Target", part)
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		tb.Fatalf("%s: %d", part, w.Code)
	}
	return w.Body.Bytes()
}

// The page of a run stays small, regardless of the number of steps.
func TestLargeRunsAreSmallPages(t *testing.T) {
	t.Parallel()
	const kb = 1024
	budgets := map[string]int{"page": 100 * kb, "head": 10 * kb, "view": 80 * kb}
	for name, s := range largeRuns(t) {
		site := (&storyServer{runs: []*story{s}}).serve(t)
		for part, most := range budgets {
			n := len(runPart(t, site, s, part))
			t.Logf("%s, %s: %.1f KB", name, part, float64(n)/kb)
			if n > most {
				t.Errorf("%s, %s: %d bytes, the budget is %d", name, part, n, most)
			}
		}
	}
}

// BenchmarkRunPage measures the size and the allocations of a large run's page and live regions.
func BenchmarkRunPage(b *testing.B) {
	for name, s := range largeRuns(b) {
		site := (&storyServer{runs: []*story{s}}).serve(b)
		for _, part := range []string{"page", "head", "view"} {
			b.Run(name+"/"+part, func(b *testing.B) {
				b.ReportAllocs()
				sent := 0
				for b.Loop() {
					sent = len(runPart(b, site, s, part))
				}
				b.ReportMetric(float64(sent), "bytes-sent")
			})
		}
	}
}

// Only the rows on the requested page of a timeline are drawn. A step on another page costs a
// fraction of a drawn one. The test counts allocations, because times depend on the machine.
func TestOnlyTheRowsOfAPageAreDrawn(t *testing.T) {
	cost := func(steps int) float64 {
		s := wideStory(t, "01jr8k2mf0s0000000007qx1", steps)
		site := (&storyServer{runs: []*story{s}}).serve(t)
		runPart(t, site, s, "view")
		return testing.AllocsPerRun(2, func() { runPart(t, site, s, "view") })
	}
	drawn := (cost(280) - cost(80)) / 200
	other := (cost(3000) - cost(1000)) / 2000
	t.Logf("%.0f allocations for a step that is drawn, %.0f for another", drawn, other)
	if other > drawn/4 {
		t.Errorf("a step that is not shown costs %.0f allocations, one that is %.0f", other, drawn)
	}
}
