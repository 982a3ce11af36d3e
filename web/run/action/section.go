// Package action contains the pages with which operators act on a run: the preview of an action,
// and the form that performs it.
package action

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of the package.
type Ports struct {
	App    *app.App
	Reader Reader
	Engine Engine
}

// Reader reads from the store.
type Reader interface {
	// Uses returns the agents, tools, and providers that a run used.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
}

// Engine executes runs.
type Engine interface {
	// Detail returns a run with its journal and waits.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	// Program returns a compiled version, which is cached.
	Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error)
}

type section struct{ Ports }

// request is a request of these pages.
type request struct {
	*ui.Context
	*section
	// wrong contains the invalid texts of the form by field.
	wrong map[string]typed
}

// page returns a handler that calls handle with a request.
func (s *section) page(handle func(*request) error) func(*ui.Context) error {
	return func(c *ui.Context) error { return handle(&request{Context: c, section: s}) }
}

// Section returns the routes of the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Done: done, Routes: []ui.Route{
		{Get: "/runs/:run/note", Operation: app.AddNote, Handle: s.page((*request).notePage)},
		{Post: "/runs/:run/note", Operation: app.AddNote, Handle: s.page((*request).note)},
		{Get: "/runs/:run/ack", Operation: app.AcknowledgeRun, Handle: s.page((*request).ackRunPage)},
		{Post: "/runs/:run/ack", Operation: app.AcknowledgeRun, Handle: s.page((*request).ackRun)},
		{Get: "/runs/:run/unack", Operation: app.UnacknowledgeRun, Handle: s.page((*request).unackPage)},
		{Post: "/runs/:run/unack", Operation: app.UnacknowledgeRun, Handle: s.page((*request).unack)},
		{Get: "/runs/:run/confirm", Operation: app.ConfirmAction, Handle: s.confirms(confirmation.page)},
		{Post: "/runs/:run/confirm", Operation: app.ConfirmAction, Handle: s.confirms(confirmation.confirm)},
		{Get: "/runs/:run/:action", Operation: app.ActOnRun, Handle: s.page((*request).previewPage)},
		{Post: "/runs/:run/:action", Operation: app.ActOnRun, Handle: s.page((*request).act)},
		{Post: "/runs/:run/nodes/:node/resolve", Operation: app.ResolveNode, Handle: s.page((*request).resolve)},
	}}
}

// done are the confirmations after actions.
var done = []ui.Done{
	{
		Name:    "run-paused",
		Path:    "/runs/:run/:action",
		Action:  "pause",
		Message: locale.Mark("The run is paused: it stops after the running step, if there is one."),
	},
	{Name: "run-continued", Path: "/runs/:run/:action", Action: "unpause", Message: locale.Mark("Run continued.")},
	{Name: "run-confirmed", Path: "/runs/:run/confirm", Message: locale.Mark("Confirmed. The MCP client can now act once.")},
	{Name: "run-noted", Path: "/runs/:run/ack", Message: locale.Mark("Run acknowledged.")},
	{Name: "run-unacknowledged", Path: "/runs/:run/unack", Message: locale.Mark("The run needs attention again.")},
	{Name: "run-note", Path: "/runs/:run/ack", Action: "note", Message: locale.Mark("The note is kept with the run.")},
}
