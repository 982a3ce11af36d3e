package steps

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Registry is a worker, or the test environment of the SDK.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	ActivityRegistry
}

// ActivityRegistry is the part of a Registry for activities.
type ActivityRegistry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Record is kairosd's record of runs. A repeated report changes nothing.
type Record interface {
	Report(ctx context.Context, r wire.Report) (*wire.Reported, error)
	// Child returns a child run that a resumed run needs.
	Child(ctx context.Context, id string) (wire.Child, error)
	// Rows returns some of the rows from the first on. If the record has none of them yet, it returns an error.
	Rows(ctx context.Context, q wire.Rows) ([]domain.Entry, error)
	// Recall reads the memory of a session.
	Recall(ctx context.Context, q wire.Recall) ([]domain.Memory, error)
	// Replan calls the planner, or stores the version of its recorded answer.
	Replan(ctx context.Context, q wire.Replan) (wire.Replanned, error)
	// Reserve reserves the usage of a model call from the shared budgets. A repeated call has the same answer.
	Reserve(ctx context.Context, q runledger.SharedAsk) (runledger.SharedAnswer, error)
}

// RegisterBudgets registers the activity of kairosd on the queue of questions about shared budgets.
func RegisterBudgets(r ActivityRegistry, record Record) {
	r.RegisterActivityWithOptions(beating(record.Reserve), activity.RegisterOptions{Name: wire.ReserveActivity})
}

// RegisterRecord registers the activities of kairosd on the queue of reports. Their heartbeats show that kairosd lives, so that they
// are repeated soon after it was killed.
func RegisterRecord(r ActivityRegistry, record Record) {
	r.RegisterActivityWithOptions(beating(record.Report), activity.RegisterOptions{Name: wire.ReportActivity})
	r.RegisterActivityWithOptions(beating(record.Child), activity.RegisterOptions{Name: wire.ChildActivity})
	r.RegisterActivityWithOptions(beating(record.Recall), activity.RegisterOptions{Name: wire.RecallActivity})
	r.RegisterActivityWithOptions(beating(record.Rows), activity.RegisterOptions{Name: wire.RowsActivity})
	r.RegisterActivityWithOptions(beating(record.Replan), activity.RegisterOptions{Name: wire.ReplanActivity})
}

// beating returns an activity that sends heartbeats.
func beating[In, Out any](fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		active, stop := context.WithCancel(ctx)
		defer stop()
		go heartbeat(active, &tail.Recorder{})
		return fn(ctx, in)
	}
}

// Register registers the workflow of runs and its activities.
func Register(r Registry, w *driver.Workflows, a *Activities) {
	r.RegisterWorkflowWithOptions(w.Run, workflow.RegisterOptions{Name: wire.RunWorkflow})
	r.RegisterActivityWithOptions(a.Prepare, activity.RegisterOptions{Name: wire.PrepareActivity})
	RegisterAttempts(r, a)
}

// RegisterAttempts registers what a worker needs that only executes attempts.
func RegisterAttempts(r ActivityRegistry, a *Activities) {
	r.RegisterActivityWithOptions(a.Attempt, activity.RegisterOptions{Name: wire.AttemptActivity})
}
