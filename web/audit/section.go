// Package audit has the pages of the audit log: the list with its filter, an event, the
// verification of the chain, and the export.
package audit

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	App      *app.App
	Reader   Reader
	Settings Settings // nil: nothing is known of how long events are kept
}

// Reader finds the run that a filter names.
type Reader interface {
	// FindRun finds a run by id, or by any unambiguous tail or prefix of at
	// least 4 characters; CodeNotFound, CodeConflict when ambiguous.
	FindRun(ctx context.Context, id string) (domain.Run, error)
}

// Settings returns how long events are kept.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the pages.
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
