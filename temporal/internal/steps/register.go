package steps

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Registry is a worker, or the test environment of the SDK.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the workflow of runs and its activities.
func Register(r Registry, w *driver.Workflows, a *Activities) {
	r.RegisterWorkflowWithOptions(w.Run, workflow.RegisterOptions{Name: wire.RunWorkflow})
	r.RegisterActivityWithOptions(a.Prepare, activity.RegisterOptions{Name: wire.PrepareActivity})
	r.RegisterActivityWithOptions(a.Attempt, activity.RegisterOptions{Name: wire.AttemptActivity})
	r.RegisterActivityWithOptions(a.Report, activity.RegisterOptions{Name: wire.ReportActivity})
}
