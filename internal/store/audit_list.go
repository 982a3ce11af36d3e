package store

import (
	"context"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

const auditColumns = `audit_events.seq, audit_events.at, audit_events.run_id, audit_events.first_seq, audit_events.run_seq, audit_events.digest,
audit_events.action, audit_events.actor, audit_events.surface, audit_events.object, audit_events.result, audit_events.reason, audit_events.detail,
audit_events.mac, coalesce(runs.public_id, '')`

// commonActions are recorded for every run: no index by action knows them, and
// none is needed to find them.
var commonActions = []string{ActionCheckpoint, "run.status", "run.created"}

const auditAtSQL = "SELECT seq, at FROM audit_events WHERE seq >= ? ORDER BY seq LIMIT 1"

// auditQuery is a filter as SQL: the events with low < seq < high.
type auditQuery struct {
	from  string
	where string
	args  []any
	// actions are read one by one, each in order, and merged.
	actions []string
	// sparse is set when most of the events that the index gives may be refused.
	sparse bool
}

// newAuditQuery finds the index for a filter. Checkpoints, which are many, are
// skipped by an index that leaves them out; those of one run are found through
// its journal.
func newAuditQuery(f kairos.AuditFilter, rowID int64) auditQuery {
	q := auditQuery{from: "audit_events", where: "audit_events.seq > ? AND audit_events.seq < ?"}
	add := func(clause string, values ...any) {
		q.where, q.args = q.where+" AND "+clause, append(q.args, values...)
	}
	matched := ""
	switch {
	case len(f.Actions) > 0:
		q.from += " INDEXED BY audit_events_by_action"
		add("audit_events.action <> 'checkpoint' AND audit_events.action <> 'run.status' AND audit_events.action <> 'run.created'")
		q.actions = f.Actions
	case f.Run != "":
		add(`audit_events.seq IN (SELECT audit_seq FROM step_results WHERE step_results.run_id = ?
UNION ALL SELECT seq FROM audit_events AS e WHERE e.run_id = ? AND e.run_id IS NOT NULL AND e.digest IS NULL)`, rowID, rowID)
	case f.Action != "" && !slices.Contains(commonActions, f.Action):
		q.from += " INDEXED BY audit_events_by_action"
		add("audit_events.action = ? AND audit_events.action <> 'checkpoint' AND audit_events.action <> 'run.status' AND audit_events.action <> 'run.created'", f.Action)
		matched = "action"
	case f.Actor != "" && f.Actor != kairos.System.Name:
		q.from += " INDEXED BY audit_events_by_actor"
		add("audit_events.actor = ? AND audit_events.actor <> 'system'", f.Actor)
		if f.Action != ActionCheckpoint {
			add("audit_events.action <> 'checkpoint'")
		}
		matched = "actor"
	case f.Action != ActionCheckpoint:
		q.from += " INDEXED BY audit_events_of_people"
		add("audit_events.action <> 'checkpoint'")
	}
	for _, c := range []struct{ column, value string }{{"actor", f.Actor}, {"action", f.Action}, {"object", f.Object}, {"result", f.Result}} {
		if c.value != "" && c.column != matched {
			add("audit_events."+c.column+" = ?", c.value)
			q.sparse = q.sparse || f.Run == ""
		}
	}
	if f.NotActor != "" {
		add("audit_events.actor <> ?", f.NotActor)
	}
	if !f.Since.IsZero() {
		add("audit_events.at >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add("audit_events.at <= ?", f.Until.UnixMicro())
	}
	return q
}

func (q *auditQuery) text(low, high int64, order string, limit int) (string, []any) {
	text := "SELECT " + auditColumns + " FROM " + q.from + " LEFT JOIN runs ON runs.id = audit_events.run_id WHERE " + q.where
	args := append([]any{low, high}, q.args...)
	if len(q.actions) == 0 {
		return text + " ORDER BY audit_events.seq " + order + " LIMIT ?", append(args, limit)
	}
	arms, all := make([]string, len(q.actions)), []any(nil)
	for i, action := range q.actions {
		arms[i], all = text+" AND audit_events.action = ?", append(append(all, args...), action)
	}
	return strings.Join(arms, " UNION ALL ") + " ORDER BY 1 " + order + " LIMIT ?", append(all, limit)
}

// AuditEvents lists audit events, newest first. Checkpoints are left out unless
// the filter asks for a run or for them. A filter that no index serves is
// answered with what was found in 20 ms; Next then goes on from there, also when
// the page is short.
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
	first, last, err := s.auditRange(ctx, f)
	if err != nil {
		return list, translate(err, "list audit events")
	}
	limit := pageLimit(f.Page.Limit)
	q := newAuditQuery(f, rowID)
	var ids []int64
	reached, err := scan(q.sparse, first, last, at, newer, func(low, high int64, order string) (bool, error) {
		text, args := q.text(low, high, order, limit+1-len(ids))
		rows, err := s.read.QueryContext(ctx, text, args...)
		if err != nil {
			return false, err
		}
		defer rows.Close()
		for rows.Next() {
			var e dbsqlc.AuditEvent
			var run string
			if err := rows.Scan(&e.Seq, &e.At, &e.RunID, &e.FirstSeq, &e.RunSeq, &e.Digest, &e.Action, &e.Actor, &e.Surface, &e.Object, &e.Result,
				&e.Reason, &e.Detail, &e.Mac, &run); err != nil {
				return false, err
			}
			list.Items, ids = append(list.Items, auditEvent(e, run)), append(ids, e.Seq)
		}
		return len(ids) > limit, rows.Err()
	})
	if err != nil {
		return list, translate(err, "list audit events")
	}
	list.Items, list.Next, list.Prev = window(list.Items, ids, limit, newer, f.Page, "audit")
	if reached > 0 { // not all was looked at
		if newer {
			list.Prev = cursor("audit", reached)
		} else {
			list.Next = cursor("audit", reached)
		}
	}
	return list, nil
}

// auditRange is where the events of a time are: they are numbered in its order.
func (s *Store) auditRange(ctx context.Context, f kairos.AuditFilter) (first, last int64, err error) {
	if last, err = s.q.AuditLast(ctx); err != nil {
		return 0, 0, err
	}
	first = 1
	if !f.Since.IsZero() {
		if first, err = s.firstAfter(ctx, auditAtSQL, f.Since.Add(-clockSlack), last); err != nil {
			return 0, 0, err
		}
	}
	if !f.Until.IsZero() {
		after, err := s.firstAfter(ctx, auditAtSQL, f.Until.Add(clockSlack), last)
		if err != nil {
			return 0, 0, err
		}
		last = min(last, after-1)
	}
	return first, last, nil
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
