package auth

import (
	"context"
	"log/slog"

	"github.com/kairosd/kairosd/internal/domain"
)

// recorder writes audit records of logins and of changes of access.
type recorder struct {
	audit Audit // nil: no records
	store *fullDiskStore
	log   *slog.Logger
}

// success returns the records that a change stores in its own transaction.
func (r recorder) success(ctx context.Context, actor domain.Actor, action, object, reason string) []domain.AuditRecord {
	if r.audit == nil {
		return nil
	}
	return []domain.AuditRecord{recordOf(ctx, actor, domain.AuditRecord{Action: action, Object: object, Result: "ok", Reason: reason})}
}

// recordOf adds the actor and the request.
func recordOf(ctx context.Context, actor domain.Actor, r domain.AuditRecord) domain.AuditRecord {
	r.Actor, r.Source, r.Request = actor.Name, actor.Source, actor.Request
	if r.Request == (domain.Request{}) {
		r.Request = domain.RequestOf(ctx)
	}
	return r
}

// record stores an outcome. The caller must fail if it cannot be stored.
func (r recorder) record(ctx context.Context, actor domain.Actor, action, object, result, reason string) error {
	if r.audit == nil {
		return nil
	}
	return r.audit.Audit(ctx, recordOf(ctx, actor, domain.AuditRecord{Action: action, Object: object, Result: result, Reason: reason}))
}

// denied stores a refusal. The request stays refused even if storing fails.
func (r recorder) denied(ctx context.Context, actor domain.Actor, action, object, reason string) {
	if r.audit == nil {
		return
	}
	if err := r.store.denied(ctx, recordOf(ctx, actor,
		domain.AuditRecord{Action: action, Object: object, Result: "denied", Reason: reason})); err != nil {
		r.log.Error("record a refusal", "action", action, "err", err)
	}
}
