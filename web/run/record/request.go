package record

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of the pages of a run.
type Ports struct {
	App    *app.App
	Reader Reader
	Engine Engine
	// Layouts caches drawings of plan versions.
	Layouts *graph.Layouts
	// Cards shows approval requests.
	Cards approval.Ports
	// Workflow returns the address of Temporal's page about a run, or "". It may be nil.
	Workflow func(run string) string
	// System reads the state of the server. If it is nil, pages do not show whether a slot is free.
	System System
	// API reports whether the server also serves the HTTP API.
	API bool
}

// Reader reads from the store.
type Reader interface {
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// Uses returns the agents, tools, and providers that a run used.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	// ActiveByConcurrency returns the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// RunsCount counts runs up to cap. If whole is false, there may be more.
	RunsCount(ctx context.Context, f domain.RunFilter, cap int) (n int, whole bool, err error)
	// JournalPage returns up to limit rows with Seq > after, in order. A limit of 0 means all rows.
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
	// Kept returns the digests that the audit log keeps of a run whose journal retention removed.
	Kept(ctx context.Context, run string) (domain.RetainedDigests, error)
	Handoffs(ctx context.Context, run string) ([]domain.Handoff, error)
	// Conversation returns the messages between the agents of a run, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	// Lineage returns the children, forks, and reruns of a run, and its origin.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
	// Relatives returns the ids of these runs.
	Relatives(ctx context.Context, run domain.Run) ([]string, error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	// PlanFlow returns statistics of the plan's steps over the newest runs that started after
	// since. Version 0 means all versions.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

// Engine executes runs.
type Engine interface {
	// Look returns a run, and a function that previews a resume. If the function is nil, call
	// Preview.
	Look(ctx context.Context, actor domain.Actor, run string) (d domain.RunDetail, resume func() (domain.Preview, error), err error)
	// Detail returns a run with its journal and waits.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Preview(ctx context.Context, actor domain.Actor, r domain.ActionRequest) (domain.Preview, error)
	// Program returns a compiled version, which is cached.
	Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error)
	// Effects returns the side-effect classes of the steps of a version, in their order.
	Effects(ctx context.Context, ref domain.ProgramRef) ([]walk.Effect, error)
	// Catalog returns the agents, tools, and providers that plans can use.
	Catalog() *planner.Catalog
}

// System reads the state of the server.
type System interface {
	// HealthMetrics returns the current health metrics of the daemon.
	HealthMetrics(ctx context.Context) (domain.HealthMetrics, error)
	// Retention returns the retention rules.
	Retention() domain.Retention
}

// Request is a request of these pages.
type Request struct {
	*ui.Context
	*Ports
}
