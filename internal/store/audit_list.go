package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// AuditEvent returns one event with the journal rows that it covers. It returns CodeNotFound if the
// event does not exist or was deleted.
func (s auditLog) AuditEvent(ctx context.Context, seq int64) (domain.AuditEvent, error) {
	events, err := s.store.EventsAfter(ctx, seq-1, "", 1)
	if err != nil {
		return domain.AuditEvent{}, err
	}
	if len(events) == 0 || events[0].Seq != seq {
		cut, err := cutOf(ctx, s.store.q)
		if err == nil && seq > 0 && seq <= cut.Seq {
			return domain.AuditEvent{}, domain.Errorf(domain.CodeNotFound, "retention deleted audit event %d", seq)
		}
		return domain.AuditEvent{}, cmp.Or(err, error(domain.Errorf(domain.CodeNotFound, "audit event %d not found", seq)))
	}
	return events[0], nil
}

// AuditLink returns the position of an event in the chain: the link that covers it, and the link
// before.
func (s auditLog) AuditLink(ctx context.Context, seq int64) (domain.AuditLink, error) {
	var l domain.AuditLink
	cut, err := cutOf(ctx, s.store.q)
	if err != nil {
		return l, err
	}
	l.Cut = cut.Seq
	next, err := s.store.q.AuditLinkFrom(ctx, seq)
	switch {
	case errors.Is(err, sql.ErrNoRows): // its batch is being written
	case err != nil:
		return l, core.Translate(err, "read the chain")
	default:
		l.Seq, l.Mac = next.Seq, hex.EncodeToString(next.Mac)
	}
	before, err := s.store.q.AuditLinkBefore(ctx, seq)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		l.Before, l.BeforeMac = cut.Seq, cut.Mac
	case err != nil:
		return l, core.Translate(err, "read the chain")
	default:
		l.Before, l.BeforeMac = before.Seq, hex.EncodeToString(before.Mac)
	}
	l.Last, err = s.store.q.AuditLast(ctx)
	return l, core.Translate(err, "read the chain")
}
