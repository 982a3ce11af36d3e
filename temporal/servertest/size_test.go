package servertest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// An ended run whose record is far larger than a value of Temporal is resumed: its workflow reads the rows. A step whose output
// Temporal does not store fails with this reason.
func TestLargeRuns(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	k := s.kairosd()
	s.worker(s.config())
	var broken atomic.Bool
	broken.Store(true)
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := 500_000
		switch {
		case r.URL.Path == "/broken" && broken.Load():
			http.Error(w, "not now", http.StatusBadRequest)
			return
		case r.URL.Path == "/huge":
			size = 1_950_000
		}
		raw := make([]byte, size)
		source := rand.New(rand.NewPCG(1, uint64(len(r.URL.Path))))
		for i := range raw {
			raw[i] = byte(source.Uint32())
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `%q`, hex.EncodeToString(raw))
	}))
	t.Cleanup(data.Close)
	plan := func(id string, paths ...string) string {
		var nodes, edges strings.Builder
		for i, path := range paths {
			fmt.Fprintf(&nodes, "  s%d: {type: http, input: {url: %q}}\n", i, data.URL+path)
			if i > 0 {
				fmt.Fprintf(&edges, "  - {from: s%d, to: s%d}\n", i-1, i)
			}
		}
		return "id: " + id + "\nnodes:\n" + nodes.String() + "edges:\n" + edges.String() + "start: s0\n"
	}
	paths := []string{"/a", "/bb", "/ccc", "/dddd", "/eeeee", "/ffffff", "/ggggggg", "/broken"}
	run := k.begin(k.save(plan("large", paths...)))
	k.until(run.ID, domain.RunFailed, "")
	broken.Store(false)
	k.act(run.ID, domain.ActionResume)
	k.until(run.ID, domain.RunCompleted, "")
	rows, err := k.Journal(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, r := range rows {
		size += len(r.Output)
	}
	if size < 7_000_000 {
		t.Errorf("the rows have only %d bytes of outputs", size)
	}

	run = k.begin(k.save(plan("huge", "/a", "/huge")))
	failed := k.until(run.ID, domain.RunFailed, "")
	if e := failed.Error; e == nil || e.Code != "output_too_large" || !strings.Contains(e.Message, "more than 2 MB") {
		t.Errorf("the run failed with %+v", e)
	}
}
