package metric_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/metric"
)

// The chart of the last day continues after a restart. It contains the earlier samples in order,
// and a gap for the downtime.
func TestSamplesSurviveARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vitals.json")
	now := began
	life := func(samples int) *metric.Recorder {
		r := metric.New(metric.Options{Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
		source(r)
		r.Keep(file)
		for range samples {
			now = now.Add(time.Minute)
			r.Sample(t.Context())
		}
		synctest.Test(t, func(t *testing.T) { // Run writes the samples when it ends
			ctx, end := context.WithCancel(t.Context())
			end()
			r.Run(ctx)
		})
		return r
	}
	life(5)
	now = now.Add(30 * time.Minute) // the process is not running
	r := life(3)
	v, err := r.HealthMetrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Samples) != 8 || !v.Samples[0].At.Equal(began.Add(time.Minute)) || v.Samples[5].At.Sub(v.Samples[4].At) != 31*time.Minute {
		t.Errorf("samples: %+v", v.Samples)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info, err)
	}

	now = now.Add(25 * time.Hour) // the first samples are now too old
	r = life(1)
	if v, err = r.HealthMetrics(t.Context()); err != nil || len(v.Samples) != 1 {
		t.Errorf("after a day: %d samples, %v", len(v.Samples), err)
	}
	if err := os.WriteFile(file, []byte(`[{"at":`), 0o600); err != nil {
		t.Fatal(err)
	}
	r = life(2)
	if v, err = r.HealthMetrics(t.Context()); err != nil || len(v.Samples) != 2 {
		t.Errorf("a damaged file: %d samples, %v", len(v.Samples), err)
	}
}
