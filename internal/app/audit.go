package app

import (
	"context"
	"encoding/json"
	"io"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Audit contains the operations on the audit log.
type Audit struct{ *kernel }

type auditStore interface {
	AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error)
	AuditEvent(ctx context.Context, seq int64) (domain.AuditEvent, error)
	AuditLink(ctx context.Context, seq int64) (domain.AuditLink, error)
	domain.ExportSigner
}

// List returns a page of the events that a filter matches, newest first.
//
// Errors: invalid (the position of a page), forbidden.
func (a *Audit) List(ctx context.Context, by domain.Actor, f domain.AuditFilter) (domain.List[domain.AuditEvent], error) {
	if err := a.allow(ctx, ListAudit, by, ""); err != nil {
		return domain.List[domain.AuditEvent]{}, err
	}
	return a.store.AuditEvents(ctx, f)
}

// Event returns one event with its journal rows.
//
// Errors: not_found, forbidden.
func (a *Audit) Event(ctx context.Context, by domain.Actor, seq int64) (domain.AuditEvent, error) {
	if err := a.allow(ctx, GetAuditEvent, by, ""); err != nil {
		return domain.AuditEvent{}, err
	}
	return a.store.AuditEvent(ctx, seq)
}

// Link returns the position of an event in the chain of the log.
//
// Errors: forbidden.
func (a *Audit) Link(ctx context.Context, by domain.Actor, seq int64) (domain.AuditLink, error) {
	if err := a.allow(ctx, GetAuditEvent, by, ""); err != nil {
		return domain.AuditLink{}, err
	}
	return a.store.AuditLink(ctx, seq)
}

// exportPage is the number of events that an export reads at a time.
const exportPage = 200

// AuditExport is an export that has begun. Write writes it.
type AuditExport struct {
	*kernel
	filter domain.AuditFilter
	page   domain.List[domain.AuditEvent]
}

// Export begins an export of the events that a filter matches, newest first. It reads the first
// events, so that the caller can still respond to an error.
//
// Errors: forbidden.
func (a *Audit) Export(ctx context.Context, by domain.Actor, f domain.AuditFilter) (*AuditExport, error) {
	if err := a.allow(ctx, ExportAudit, by, ""); err != nil {
		return nil, err
	}
	f.Page = domain.Page{Limit: exportPage}
	page, err := a.store.AuditEvents(ctx, f)
	return &AuditExport{a.kernel, f, page}, err
}

// Write writes one JSON object per line and a signature at the end. It calls flush after each page.
// If flush or a write fails, it stops without an error, because the client has disconnected. An
// error means that the export is not complete.
func (e *AuditExport) Write(ctx context.Context, w io.Writer, flush func() error) error {
	lines := domain.NewSignedLines(w)
	out := json.NewEncoder(lines)
	out.SetEscapeHTML(false)
	for {
		for _, event := range e.page.Items {
			if out.Encode(apitypes.AuditEventOf(event)) != nil {
				return nil
			}
		}
		if flush() != nil {
			return nil
		}
		if e.page.Next == "" {
			if err := lines.Sign(ctx, e.store); err != nil {
				e.log.Error("an export of the audit log is not signed", "err", err)
			}
			return nil
		}
		e.filter.Page.After = e.page.Next
		var err error
		if e.page, err = e.store.AuditEvents(ctx, e.filter); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			e.log.Error("export of the audit log ended early", "err", err)
			return err
		}
	}
}

// Check returns the verification in progress, or else the last one, or the zero value.
//
// Errors: forbidden.
func (a *Audit) Check(ctx context.Context, by domain.Actor) (domain.AuditCheck, error) {
	if err := a.allow(ctx, GetAuditCheck, by, ""); err != nil {
		return domain.AuditCheck{}, err
	}
	return a.checker.AuditCheck(ctx)
}

// Verify starts a verification of the whole log in the background, and returns its state. A restart
// of kairosd starts it again.
//
// Errors: conflict (one is in progress), forbidden.
func (a *Audit) Verify(ctx context.Context, m Meta) (domain.AuditCheck, error) {
	check := object[domain.AuditCheck]{
		id:   func(domain.AuditCheck) string { return "" },
		find: func(ctx context.Context, _ string) (domain.AuditCheck, error) { return a.checker.AuditCheck(ctx) },
	}
	found, repeated, err := performWithWork(ctx, a.kernel, VerifyAudit, m, nil, check, func(tx *store.Tx) (domain.AuditCheck, error) {
		if !a.checker.Busy() {
			tx.Audit("", "", nil)
		}
		return domain.AuditCheck{}, nil
	})
	if err != nil || repeated {
		return found, err
	}
	return a.checker.Begin(m.By), nil
}
