package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// The audit log is only cut at its beginning, at a link of its chain. The cut is a signed event,
// because the chain continues over it. A verification starts at the cut with the link in that
// event. A log that starts elsewhere is a problem.

const (
	// settingCut holds the last cut. The database rejects the deletion of later events.
	settingCut = "audit_cut"
	// actionCut is the audit action of a cut.
	actionCut = "audit.cut"
	// cutStep is the number of events that one statement removes.
	cutStep = 200
)

// actionNewKey is the audit action of a restore or a start without the previous key. Its detail is
// an auditCut that names the last event written with that key. The chain before it can no longer be
// verified. The event is signed with the new key.
const actionNewKey = "audit.new_key"

// auditCut is the start of the log.
type auditCut struct {
	Seq int64  `json:"seq"` // of the last event that was removed
	Mac string `json:"mac"` // its link, hex
}

func cutOf(ctx context.Context, q *dbsqlc.Queries) (auditCut, error) {
	var c auditCut
	text, err := q.SettingGet(ctx, settingCut)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	} else if err != nil {
		return c, core.Translate(err, "read where the audit log begins")
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, domain.Errorf(domain.CodeCorrupt, "cannot read where the audit log begins: %w", err)
	}
	return c, nil
}

// keyedFrom returns the last event that was written with a lost key, or 0.
func (s auditLog) keyedFrom(ctx context.Context) (int64, error) {
	list, err := s.store.AuditEvents(ctx, domain.AuditFilter{Action: actionNewKey, Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return 0, err
	}
	var c auditCut
	if err := json.Unmarshal(list.Items[0].Detail, &c); err != nil || c.Seq >= list.Items[0].Seq {
		return 0, nil // a forged event; the verification of the chain reports it
	}
	return c.Seq, nil
}

// CutAudit permanently deletes the audit events before a time, up to the last link of the chain
// before it, and returns their number. The newest event always stays.
func (s auditLog) CutAudit(ctx context.Context, before time.Time, actor domain.Actor) (int64, error) {
	last, err := s.store.q.AuditLast(ctx)
	if err != nil {
		return 0, core.Translate(err, "read the audit log")
	}
	end, err := core.FirstAfter(ctx, s.store.db.AuditFrom, before, last)
	if err != nil {
		return 0, core.Translate(err, "find old events")
	}
	at, err := s.store.q.AuditLinkBefore(ctx, min(end, last))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, core.Translate(err, "find old events")
	}
	old, cutErr := cutOf(ctx, s.store.q)
	if cutErr != nil {
		return 0, cutErr
	}
	if err == nil && at.Seq > old.Seq {
		old = auditCut{at.Seq, hex.EncodeToString(at.Mac)}
		detail := core.EncodeJSON(old)
		if err := s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
			if err := w.q.SettingPut(w.ctx, settingCut, detail); err != nil {
				return nil, err
			}
			return []auditRow{{record: domain.AuditRecord{Action: actionCut, Actor: actor.Name, Source: actor.Source,
				Request: actor.Request, Detail: domain.RawJSON(detail)}}}, nil
		}); err != nil {
			return 0, err
		}
	}
	removed := int64(0)
	for more := old.Seq > 0; more; { // also removes events that an earlier cut has left
		var n int64
		if err := s.store.inSteps(ctx, func() { n, more = 0, true }, func(w *writer) (bool, error) {
			k, err := w.q.AuditDelete(w.ctx, old.Seq, cutStep)
			n, more = n+k, k == cutStep
			return more, err
		}); err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}
