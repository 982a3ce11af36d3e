// Package drafts serves the pages of plans made from requests: the request, the draft, and its
// acceptance.
package drafts

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App     *app.App
	Reader  Reader
	Engine  Engine
	Planner Planner
	// Layouts caches the graph layouts of versions.
	Layouts *graph.Layouts
}

// Reader reads plans from the store.
type Reader interface {
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	// PlanFlow aggregates by node the newest runs of a plan that began since a time. Version 0
	// means all versions. The number of runs is limited.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
}

// Engine compiles and checks plans, and provides the catalog.
type Engine interface {
	graph.Programs
	// Catalog returns the tools, agents, and providers of this server.
	Catalog() *planner.Catalog
	// CheckPlan validates a document without storing it.
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
}

// Planner explains plans.
type Planner interface {
	// Classify estimates the complexity of a request without a model.
	Classify(request string) domain.Classification
	// Explain returns the reason for each step of a plan, given the request it was made from, and
	// the plan's assumptions.
	Explain(ctx context.Context, request string, canonical []byte) domain.PlanExplanation
}

type section struct{ Ports }

// Section returns the routes, fragments, and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	progress := ui.Fragment{
		Page:      "/plans/drafts/:draft",
		ID:        "draft-progress",
		Operation: app.GetDraft,
		Topics:    []string{"draft-:draft"},
		Build:     s.progress,
	}
	return ui.Section{Fragments: []ui.Fragment{progress}, Routes: []ui.Route{
		{Get: "/ask", Operation: app.StartDraft, Handle: s.askPage},
		{Post: "/ask", Operation: app.StartDraft, Handle: s.makeDraft},
		{Post: "/plans/drafts", Operation: app.StartDraft, Handle: s.makeDraft},
		{Get: "/plans/drafts/:draft", Operation: app.GetDraft, Handle: s.draftPage},
		{Post: "/plans/drafts/:draft/refine", Operation: app.RefineDraft, Handle: s.refineDraft},
		{Get: "/plans/drafts/:draft/accept", Operation: app.AcceptDraft, Handle: s.acceptPage},
		{Post: "/plans/drafts/:draft/accept", Operation: app.AcceptDraft, Handle: s.acceptDraft},
		{Get: "/plans/drafts/:draft/discard", Operation: app.DiscardDraft, Handle: s.discardPage},
		{Post: "/plans/drafts/:draft/discard", Operation: app.DiscardDraft, Handle: s.discardDraft},
	}}
}
