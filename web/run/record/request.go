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

// Ports are what these pages need of the server.
type Ports struct {
	App    *app.App
	Reader Reader
	Engine Engine
	// Layouts remembers drawings of plan versions.
	Layouts *graph.Layouts
	// Cards show approvals.
	Cards approval.Ports
	// System looks after the server; nil: it is not known whether a slot is free.
	System System
	// API reports that the API answers beside these pages.
	API bool
}

// Reader is what these pages read of the store.
type Reader interface {
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// Uses lists agents, tools and providers that took part in a run.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	// ActiveByConcurrency are the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// RunsCount counts matches up to the cap; not whole: there may be more.
	RunsCount(ctx context.Context, f domain.RunFilter, cap int) (n int, whole bool, err error)
	// JournalPage gives rows with Seq > after in order, at most limit (0: all).
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
	// Kept are the digests that the audit log keeps of a run that retention took the
	// journal of.
	Kept(ctx context.Context, run string) (domain.RetainedDigests, error)
	Handoffs(ctx context.Context, run string) ([]domain.Handoff, error)
	// Conversation is what a run's agents said to each other, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	// Lineage are the children, forks and reruns of a run, and what it came from.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	// PlanFlow is how the newest runs of a plan that began since a time went through
	// its nodes; version 0 is any.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

// Engine is what these pages ask the engine.
type Engine interface {
	// Look folds a run, and gives what resuming would do; a nil resume: ask Preview.
	Look(ctx context.Context, actor domain.Actor, run string) (d domain.RunDetail, resume func() (domain.Preview, error), err error)
	// Detail folds a run: its waits, where it stands.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Preview(ctx context.Context, actor domain.Actor, r domain.ActionRequest) (domain.Preview, error)
	// Program compiles a stored version (cached).
	Program(ctx context.Context, hash string) (*walk.Program, error)
	// Effects is what running each node of a stored version may do, in their order.
	Effects(ctx context.Context, hash string) ([]walk.Effect, error)
	// Catalog is what this installation offers to plans.
	Catalog() *planner.Catalog
}

// System is what these pages ask about the server.
type System interface {
	// HealthMetrics is how the daemon does now.
	HealthMetrics(ctx context.Context) (domain.HealthMetrics, error)
	// Retention is what is removed automatically, and when.
	Retention() domain.Retention
}

// Request is one request to these pages.
type Request struct {
	*ui.Context
	*Ports
}
