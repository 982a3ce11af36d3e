package bench

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	kairos "github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

const (
	runsAlone = 50 * runs // so that the measurement takes a second
	clients   = 8         // that start runs and wait for them
)

// alone is one kairosd with its own SQLite file, which executes the same plan without Temporal.
type alone struct{ *kairos.Client }

func startAlone(t *testing.T, bin string) alone {
	dir := datadir.Dir(t.TempDir())
	process(t, nil, filepath.Join(bin, "kairosd"), "serve", "--data", string(dir), "--listen", "127.0.0.1:0")
	a := alone{kairos.Unix(dir.Socket())}
	if _, _, _, problems, err := a.SavePlan(t.Context(), []byte(plan()), planner.FormatYAML, "", ""); err != nil {
		t.Fatal(err, problems)
	}
	a.measure(t)
	return a
}

// measure returns the number of steps per second, with the start of the runs over the API.
func (a alone) measure(t *testing.T) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	begin := time.Now()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			var list []string
			for range runsAlone / clients {
				run, err := a.Start(ctx, domain.StartRequest{Plan: "chain", Input: domain.RawJSON(`{"n": 1}`)})
				if err != nil {
					t.Error(err)
					return
				}
				list = append(list, run.ID)
			}
			for _, id := range list {
				if run, err := a.Wait(ctx, id); err != nil || run.Status != domain.RunCompleted {
					t.Errorf("run %s is %s, %v", id, run.Status, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return runsAlone * steps / time.Since(begin).Seconds()
}
