// Package audit serves the pages of the audit log: the list with its filter, an event, the
// verification of the chain, and the export.
package audit

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App      *app.App
	Reader   Reader
	Settings Settings // nil hides the retention period
}

// Reader finds runs.
type Reader interface {
	// FindRun finds a run by id, or by an unambiguous prefix or suffix of at least 4 characters. It
	// returns CodeNotFound, or CodeConflict if several runs match.
	FindRun(ctx context.Context, id string) (domain.Run, error)
}

// Settings provides the configuration, which contains the retention period of events.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the routes of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{
		Routes: []ui.Route{
			{Get: "/audit", Operation: app.ListAudit, Handle: s.audit},
			{Get: "/audit.jsonl", Operation: app.ExportAudit, Handle: s.exportAudit},
			{Get: "/audit/suggest", Operation: app.ListAudit, Handle: s.suggestAudit},
			{Get: "/audit/verify", Operation: app.VerifyAudit, Handle: s.verifyPage},
			{Post: "/audit/verify", Operation: app.VerifyAudit, Handle: s.verify},
			{Get: "/audit/:event", Operation: app.GetAuditEvent, Handle: s.auditEvent},
		},
		Done: []ui.Done{
			{Name: "verifying", Path: "/audit/verify",
				Message: locale.Mark("kairosd is verifying the chain. The result will appear below.")},
		},
	}
}
