package driver_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

func replay(t *testing.T, path string, run any) error {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: wire.Converter()})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: wire.RunWorkflow})
	return r.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), path)
}

// Histories that a server has recorded replay with the same commands. `kairos-temporal history RUN` prints such a history.
// A change of the driver or of the machine that fails here needs a version of the workflow.
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
		slower := func(ctx workflow.Context, in wire.Input) (domain.Run, error) {
			if err := workflow.Sleep(ctx, time.Second); err != nil {
				return domain.Run{}, err
			}
			return flows.Run(ctx, in)
		}
		if replay(t, path, slower) == nil {
			t.Errorf("%s: another workflow replays, too", path)
		}
	}
}
