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

// The audit log is only ever cut at its beginning, at a link of its chain, and
// the cut is itself an event: signed, because the chain goes on over it (ruling
// 19). A verification begins at the cut with the link that the event names; a
// beginning that no such event vouches for is a problem.

const (
	// settingCut holds the last cut; the database lets go of no event after it.
	settingCut = "audit_cut"
	// actionCut is the event that vouches for it.
	actionCut = "audit.cut"
	// cutStep is how many events one statement removes.
	cutStep = 200
)

// actionNewKey is the event of a restore, or a start, without the key that the log was
// written with: its detail is an auditCut that names the last event of before,
// whose chain nobody can check any more. It is signed with the new key.
const actionNewKey = "audit.new_key"

// auditCut is where the log begins.
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

// keyedFrom is the last event that was written with a key that was lost; 0: none
// was.
func (s auditLog) keyedFrom(ctx context.Context) (int64, error) {
	list, err := s.store.AuditEvents(ctx, domain.AuditFilter{Action: actionNewKey, Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return 0, err
	}
	var c auditCut
	if err := json.Unmarshal(list.Items[0].Detail, &c); err != nil || c.Seq >= list.Items[0].Seq {
		return 0, nil // a forged event: the chain will say so
	}
	return c.Seq, nil
}

// CutAudit removes the audit events of before a time for good, up to the last
// link of the chain before it, and returns how many. The newest event always
// stays.
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
			return []auditRow{{record: domain.AuditRecord{Action: actionCut, Actor: actor.Name, Surface: actor.Surface,
				Request: actor.Request, Detail: domain.RawJSON(detail)}}}, nil
		}); err != nil {
			return 0, err
		}
	}
	removed := int64(0)
	for more := old.Seq > 0; more; { // also what an earlier cut did not come to
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
