// Package apptest makes an App on a real store and a real engine for tests.
package apptest

import (
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// Principals of each role.
var (
	Viewer   = domain.Actor{Name: "vera", Role: domain.RoleViewer, Surface: "ui"}
	Operator = domain.Actor{Name: "otto", Role: domain.RoleOperator, Surface: "ui"}
	Author   = domain.Actor{Name: "anna", Role: domain.RoleAuthor, Surface: "ui"}
)

// World is an App with what it works on. It ends with the test.
type World struct {
	*app.App
	Store  *store.Store
	Engine *enginetest.Engine
}

// New makes an App on an empty store.
func New(tb testing.TB) *World {
	tb.Helper()
	return On(tb, storetest.Open(tb))
}

// On makes an App on a store.
func On(tb testing.TB, s *store.Store) *World {
	tb.Helper()
	return With(tb, s, enginetest.NewRegistry())
}

// With makes an App on a store, whose plans call the handlers of a registry.
func With(tb testing.TB, s *store.Store, r *enginetest.Registry) *World {
	tb.Helper()
	e := enginetest.OpenOn(tb, s, r, engine.Options{})
	return &World{App: app.New(app.Config{Store: s, Engine: e.Engine}), Store: s, Engine: e}
}
