package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkRunPage asks for the page of a run of 1,000 steps, and for the parts of it that
// follow events.
func BenchmarkRunPage(b *testing.B) {
	o := &told{runs: []*story{manyStory(b, "01jr8k2mf0s0000000007qx4", 1000)}}
	site := o.serve(b)
	for _, part := range []string{"", "head", "view"} {
		b.Run(fmt.Sprintf("part=%s", part), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/runs/"+o.runs[0].run.ID, nil)
				if part != "" {
					r.Header.Set("HX-Request", "true")
					r.Header.Set("HX-Target", part)
				}
				w := httptest.NewRecorder()
				site.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatalf("%q: %d", part, w.Code)
				}
			}
		})
	}
}
