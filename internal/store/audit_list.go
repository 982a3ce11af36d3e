package store

import (
	"context"
	"math"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

const auditColumns = `audit_events.seq, audit_events.at, audit_events.run_id, audit_events.first_seq, audit_events.run_seq, audit_events.digest,
audit_events.action, audit_events.actor, audit_events.surface, audit_events.object, audit_events.result, audit_events.reason, audit_events.detail,
audit_events.mac, coalesce(runs.public_id, '')`

// auditQuery lists events with low < seq < high. Checkpoints, which are many,
// are skipped by an index that leaves them out; those of one run are found
// through its journal.
func auditQuery(f kairos.AuditFilter, rowID, low, high int64, order string, limit int) (string, []any) {
	from, where := "audit_events", []string{"audit_events.seq > ?", "audit_events.seq < ?"}
	args := []any{low, high}
	add := func(clause string, values ...any) { where, args = append(where, clause), append(args, values...) }
	switch {
	case f.Run != "":
		add(`audit_events.seq IN (SELECT audit_seq FROM step_results WHERE step_results.run_id = ?
UNION ALL SELECT seq FROM audit_events AS e WHERE e.run_id = ? AND e.run_id IS NOT NULL AND e.digest IS NULL)`, rowID, rowID)
	case f.Action != ActionCheckpoint:
		from += " INDEXED BY audit_events_of_people"
		add("audit_events.action <> 'checkpoint'")
	}
	for _, c := range []struct{ column, value string }{{"actor", f.Actor}, {"action", f.Action}, {"object", f.Object}, {"result", f.Result}} {
		if c.value != "" {
			add("audit_events."+c.column+" = ?", c.value)
		}
	}
	if !f.Since.IsZero() {
		add("audit_events.at >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add("audit_events.at <= ?", f.Until.UnixMicro())
	}
	return "SELECT " + auditColumns + " FROM " + from + " LEFT JOIN runs ON runs.id = audit_events.run_id WHERE " + strings.Join(where, " AND ") +
		" ORDER BY audit_events.seq " + order + " LIMIT ?", append(args, limit)
}

// AuditEvents lists audit events, newest first. Checkpoints are left out unless
// the filter asks for a run or for them.
func (s *Store) AuditEvents(ctx context.Context, f kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error) {
	var list kairos.List[kairos.AuditEvent]
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	rowID := int64(0)
	if f.Run != "" {
		var err error
		if rowID, err = s.rowID(ctx, f.Run); err != nil {
			return list, err
		}
	}
	at, newer, err := position("audit", f.Page)
	if err != nil {
		return list, err
	}
	low, high, order := int64(0), at, "DESC"
	if newer {
		low, high, order = at, math.MaxInt64, "ASC"
	}
	limit := pageLimit(f.Page.Limit)
	text, args := auditQuery(f, rowID, low, high, order, limit+1)
	rows, err := s.read.QueryContext(ctx, text, args...)
	if err != nil {
		return list, translate(err, "list audit events")
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var e dbsqlc.AuditEvent
		var run string
		if err := rows.Scan(&e.Seq, &e.At, &e.RunID, &e.FirstSeq, &e.RunSeq, &e.Digest, &e.Action, &e.Actor, &e.Surface, &e.Object, &e.Result,
			&e.Reason, &e.Detail, &e.Mac, &run); err != nil {
			return list, translate(err, "list audit events")
		}
		list.Items, ids = append(list.Items, auditEvent(e, run)), append(ids, e.Seq)
	}
	if err := rows.Err(); err != nil {
		return list, translate(err, "list audit events")
	}
	list.Items, list.Next, list.Prev = window(list.Items, ids, limit, newer, f.Page, "audit")
	return list, nil
}

// AuditLog gives audit events with Seq > after in order, without their journal
// rows, at most limit.
func (s *Store) AuditLog(ctx context.Context, after int64, limit int) ([]kairos.AuditEvent, error) {
	rows, err := s.q.AuditAfter(ctx, after, int64(limit))
	if err != nil {
		return nil, translate(err, "read the audit log")
	}
	out := make([]kairos.AuditEvent, len(rows))
	for i, r := range rows {
		out[i] = auditEvent(r.AuditEvent, r.Run)
	}
	return out, nil
}
