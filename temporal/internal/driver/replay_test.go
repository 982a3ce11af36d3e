package driver_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/connect"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

func replay(t *testing.T, path string, run any) error {
	t.Helper()
	values, err := connect.Server{}.Converter()
	if err != nil {
		t.Fatal(err)
	}
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: values})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: wire.RunWorkflow})
	return r.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), path)
}

// Histories that a server has recorded replay with the same commands. `kairos-temporal history RUN` prints such a history.
// A change of the driver or of the machine that fails here needs a version of the driver. With one, it does not concern runs that
// began before. A worker refuses the runs of a newer driver.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d histories: %v", len(paths), err)
	}
	for _, path := range paths {
		flows := &driver.Workflows{}
		if err := replay(t, path, flows.Run); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		changed := func(since int) any {
			return func(ctx workflow.Context, in wire.Input) (domain.Run, error) {
				if in.Driver >= since {
					if err := workflow.Sleep(ctx, time.Second); err != nil {
						return domain.Run{}, err
					}
				}
				return flows.Run(ctx, in)
			}
		}
		if replay(t, path, changed(0)) == nil {
			t.Errorf("%s: a changed workflow replays, too", path)
		}
		if err := replay(t, path, changed(driver.Version+1)); err != nil {
			t.Errorf("%s: a change in the next version of the driver: %v", path, err)
		}
		newer := func(ctx workflow.Context, in wire.Input) (domain.Run, error) {
			in.Driver = driver.Version + 1
			return flows.Run(ctx, in)
		}
		if err := replay(t, path, newer); err == nil || !strings.Contains(err.Error(), "upgrade the worker") {
			t.Errorf("%s: a run of a newer driver: %v", path, err)
		}
	}
}
