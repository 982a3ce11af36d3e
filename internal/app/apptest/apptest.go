// Package apptest creates an App with a real store and a real engine for tests.
package apptest

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tool"
)

// Principals of each role.
var (
	Viewer   = domain.Actor{Name: "vera", Role: domain.RoleViewer, Source: "ui"}
	Operator = domain.Actor{Name: "otto", Role: domain.RoleOperator, Source: "ui"}
	Author   = domain.Actor{Name: "anna", Role: domain.RoleAuthor, Source: "ui"}
	Admin    = domain.Actor{Name: "adam", Role: domain.RoleAdmin, Source: "ui"}
)

// World is an App with its store, engine, and services. The end of the test stops it.
type World struct {
	*app.App
	Config app.Config // of the App
	Store  *store.Store
	Engine *enginetest.Engine
}

// New creates an App with an empty store.
func New(tb testing.TB) *World {
	tb.Helper()
	return On(tb, storetest.Open(tb))
}

// On creates an App with a store.
func On(tb testing.TB, s *store.Store) *World {
	tb.Helper()
	return With(tb, s, enginetest.NewRegistry())
}

// With creates an App with a store. Its plans call the handlers of a registry.
func With(tb testing.TB, s *store.Store, r *enginetest.Registry) *World {
	tb.Helper()
	e := enginetest.OpenOn(tb, s, r, engine.Options{})
	c := Config(tb, s, e.Engine)
	return &World{App: app.New(c), Config: c, Store: s, Engine: e}
}

// WatchedDirectory is the directory in which hooks may watch files.
const WatchedDirectory = "/srv/in"

// Config returns the configuration of an App with all required fields.
func Config(tb testing.TB, s *store.Store, e *engine.Engine) app.Config {
	tb.Helper()
	checker := store.NewAuditChecker(s, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { checker.Run(ctx) })
	tb.Cleanup(func() { stop(); background.Wait() })
	tools, err := tool.NewBox(ctx, tool.BoxOptions{Pins: s})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(tools.Close)
	none := app.NoServer{Refusal: domain.Errorf(domain.CodeUnavailable, "no daemon runs in this test")}
	people, err := auth.New(auth.Config{Store: s, Audit: s})
	if err != nil {
		tb.Fatal(err)
	}
	work := bulk.New(bulk.Config{Store: s, Engine: e})
	tb.Cleanup(work.Close)
	plans := planning.NewService(planning.New(planning.Config{Mode: planning.ByRules}), e, nil)
	drafts := draft.New(draft.Config{Store: s, Planner: plans, Engine: e})
	tb.Cleanup(drafts.Close)
	return app.Config{Store: s, Engine: e, Auth: people, Bulk: work, Drafts: drafts, Planner: plans, Checker: checker,
		Tools: func() *tool.Box { return tools }, Server: none, Settings: none,
		WatchedDirectories: func() []string { return []string{WatchedDirectory} }}
}
