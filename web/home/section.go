// Package home serves the first page: problems, pending decisions, active runs, and the form that
// acknowledges failures.
package home

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/failure"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App      *app.App
	Reader   Reader
	Programs part.Programs
	System   System
	Cards    approval.Ports
}

// Reader reads runs and statistics from the store.
type Reader interface {
	ui.Reader
	failure.Reader
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// RunsCount counts matching runs up to cap. whole is false if there may be more.
	RunsCount(ctx context.Context, f domain.RunFilter, cap int) (n int, whole bool, err error)
	// FailureTimes returns the times at which the newest runs of a failure group failed.
	FailureTimes(ctx context.Context, ref domain.FailureRef) ([]time.Time, error)
	// Outcomes counts by plan and half hour the runs that ended since a time.
	Outcomes(ctx context.Context, since time.Time) ([]domain.Outcome, error)
}

// System reports the state of the server.
type System interface {
	Server(ctx context.Context) (domain.Server, error)
	HealthMetrics(ctx context.Context) (domain.HealthMetrics, error)
}

type section struct {
	Ports
	rows part.Rows
}

// Section returns the routes and fragments of these pages.
func Section(p Ports) ui.Section {
	s := &section{p, part.Rows{Programs: p.Programs}}
	return ui.Section{
		Fragments: s.fragments(),
		Routes: []ui.Route{
			{Get: "/", Operation: app.ListFailures, Handle: s.home},
			{Get: "/failures", Operation: app.ListFailures, Handle: s.groups},
			{Get: "/failures/ack", Operation: app.AcknowledgeFailures, Handle: s.ackForm},
			{Post: "/failures/ack", Operation: app.AcknowledgeFailures, Handle: s.ack},
			{Get: "/failures/unack", Operation: app.UnacknowledgeFailures, Handle: s.ackForm},
			{Post: "/failures/unack", Operation: app.UnacknowledgeFailures, Handle: s.ack},
		},
		Done: []ui.Done{
			{Name: "failure-noted", Path: "/failures/ack", Message: locale.Mark("Failure acknowledged.")},
			{Name: "failure-back", Path: "/failures/unack",
				Message: locale.Mark("Acknowledgment removed; the failure needs attention again.")},
		},
	}
}
