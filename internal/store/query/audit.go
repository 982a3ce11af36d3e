package query

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

const auditColumns = `audit_events.seq, audit_events.at, audit_events.run_id, audit_events.first_seq, audit_events.run_seq,
audit_events.digest,
audit_events.action, audit_events.actor, audit_events.source, audit_events.object, audit_events.result, audit_events.reason,
audit_events.detail,
audit_events.request, audit_events.address, audit_events.mac, coalesce(runs.public_id, '')`

// commonActions are recorded for every run, so the index by action leaves them out.
var commonActions = []string{core.ActionCheckpoint, "run.status", core.ActionCreated}

// auditQuery is a filter in SQL.
type auditQuery struct {
	from string
	// key contains the conditions that the index covers; where contains those that are checked row
	// by row.
	key, where         string
	keyArgs, whereArgs []any
	// arms are values of column. Each arm is read in order, and the arms are merged.
	column string
	arms   []string
}

// auditTerm is the condition of a filter on one column.
type auditTerm struct {
	column    string
	any, none []string
	prefixes  bool // values may end with * and match a prefix
}

// index returns the index that finds the events with the values of a term, and the condition of its
// rows. It returns "" if no index covers all values.
func (t auditTerm) index() (index, clause string) {
	for _, v := range t.any {
		if index, clause = auditIndex(t.column, v); index == "" || t.prefixes && strings.HasSuffix(v, "*") {
			return "", ""
		}
	}
	return index, clause
}

func auditTerms(f domain.AuditFilter) []auditTerm {
	with := func(one string, more []string) []string {
		if one == "" {
			return more
		}
		return append([]string{one}, more...)
	}
	return []auditTerm{
		{"request", f.Requests, f.Exclude.Requests, false},
		{"address", f.Addresses, f.Exclude.Addresses, false},
		{"action", with(f.Action, f.Actions), f.Exclude.Actions, true},
		{"result", with(f.Result, f.Results), f.Exclude.Results, false},
		{"actor", with(f.Actor, f.Actors), f.Exclude.Actors, false},
		{"object", with(f.Object, f.Objects), f.Exclude.Objects, true},
		{"source", f.Sources, f.Exclude.Sources, false},
	}
}

// auditIndex returns the index that finds the events with a value in a column, and the condition of
// its rows. It returns "" if there is none.
func auditIndex(column, value string) (index, clause string) {
	switch {
	case column == "request":
		return "audit_events_by_request", "audit_events.request <> ''"
	case column == "address":
		return "audit_events_by_address", "audit_events.address <> ''"
	case column == "action" && !slices.Contains(commonActions, value):
		return "audit_events_by_action", "audit_events.action <> 'checkpoint' AND audit_events.action <> 'run.status' AND " +
			"audit_events.action <> 'run.created'"
	case column == "result" && value != "ok":
		return "audit_events_not_ok", "audit_events.result <> 'ok'"
	case column == "actor" && value != domain.System.Name:
		return "audit_events_by_actor", "audit_events.actor <> 'system'"
	}
	return "", ""
}

// newAuditQuery chooses the index for a filter. The index excludes checkpoints, which are numerous.
// The checkpoints of one run are found through its journal.
func newAuditQuery(f domain.AuditFilter, rowID int64) auditQuery {
	q := auditQuery{from: "audit_events"}
	covered := func(clause string, values ...any) {
		q.key, q.keyArgs = q.key+" AND "+clause, append(q.keyArgs, values...)
	}
	add := func(clause string, values ...any) {
		q.where, q.whereArgs = q.where+" AND "+clause, append(q.whereArgs, values...)
	}
	terms := auditTerms(f)
	checkpoints := f.Run != "" ||
		slices.ContainsFunc(terms, func(t auditTerm) bool { return t.column == "action" && slices.Contains(t.any, core.ActionCheckpoint) })
	matched := ""
	if f.Run != "" {
		of, args := "SELECT seq FROM audit_events AS e WHERE e.run_id = ? AND e.run_id IS NOT NULL AND e.digest IS NULL", []any{rowID}
		if !slices.Contains(f.Exclude.Actions, core.ActionCheckpoint) {
			of, args = "SELECT audit_seq FROM step_results WHERE step_results.run_id = ? UNION ALL "+of, append(args, rowID)
		}
		covered("audit_events.seq IN ("+of+")", args...)
	} else {
		for _, t := range terms {
			if index, clause := t.index(); index != "" {
				matched, q.from = t.column, q.from+" INDEXED BY "+index
				covered(clause)
				q.column, q.arms = t.column, slices.Compact(slices.Sorted(slices.Values(t.any)))
				break
			}
		}
		switch {
		case checkpoints:
		case matched == "":
			q.from += " INDEXED BY audit_events_of_people"
			covered("audit_events.action <> 'checkpoint'")
		case matched != "action":
			add("audit_events.action <> 'checkpoint'")
		}
	}
	for _, t := range terms {
		if len(t.any) > 0 && t.column != matched {
			clause, values := t.match(t.any)
			add(clause, values...)
		}
		if len(t.none) > 0 {
			clause, values := t.match(t.none)
			add("NOT "+clause, values...)
		}
	}
	if !f.Since.IsZero() {
		add("audit_events.at >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add("audit_events.at <= ?", f.Until.UnixMicro())
	}
	return q
}

// match returns a condition that is true for events with one of the values.
func (t auditTerm) match(list []string) (string, []any) {
	var exact, args []any
	var clauses []string
	for _, v := range list {
		if begin, ok := strings.CutSuffix(v, "*"); ok && t.prefixes {
			clauses = append(clauses, "substr(audit_events."+t.column+", 1, ?) = ?")
			args = append(args, utf8.RuneCountInString(begin), begin)
		} else {
			exact = append(exact, v)
		}
	}
	if len(exact) > 0 {
		clauses = append(clauses, "audit_events."+t.column+" IN ("+core.Marks(len(exact))+")")
		args = append(args, exact...)
	}
	return "(" + strings.Join(clauses, " OR ") + ")", args
}

// text returns the query for the events with low < seq < high, in the given order.
func (q *auditQuery) text(low, high int64, order string, limit int) (string, []any) {
	text, args := q.of(auditColumns, " LEFT JOIN runs ON runs.id = audit_events.run_id", q.where, q.whereArgs, low, high, order)
	return text + " LIMIT ?", append(args, limit)
}

func (q *auditQuery) keys(low, high int64, order string, skip int) (string, []any) {
	text, args := q.of("audit_events.seq", "", "", nil, low, high, order)
	return text + " LIMIT 1 OFFSET ?", append(args, skip)
}

func (q *auditQuery) of(columns, joins, where string, whereArgs []any, low, high int64, order string) (string, []any) {
	text := "SELECT " + columns + " FROM " + q.from + joins + " WHERE audit_events.seq > ? AND audit_events.seq < ?" + q.key + where
	args := slices.Concat([]any{low, high}, q.keyArgs, whereArgs)
	if len(q.arms) == 0 {
		return text + " ORDER BY audit_events.seq " + order, args
	}
	arms, all := make([]string, len(q.arms)), []any(nil)
	for i, value := range q.arms {
		arms[i], all = text+" AND audit_events."+q.column+" = ?", append(append(all, args...), value)
	}
	return strings.Join(arms, " UNION ALL ") + " ORDER BY 1 " + order, all
}

// AuditEvents lists audit events, newest first. It leaves out checkpoints unless the filter names a
// run or checkpoints. If no index serves the filter, a page contains the matches among the Rows
// that a request reads. Next continues from there, even if the page is short.
func (s *Lists) AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error) {
	var list domain.List[domain.AuditEvent]
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	rowID := int64(0)
	if f.Run != "" {
		var err error
		if rowID, err = s.db.RowID(ctx, f.Run); err != nil {
			return list, err
		}
	}
	at, newer, err := core.Position("audit", f.Page)
	if err != nil {
		return list, err
	}
	first, last, err := s.auditRange(ctx, f)
	if err != nil {
		return list, core.Translate(err, "list audit events")
	}
	limit := core.PageLimit(f.Page.Limit)
	q := newAuditQuery(f, rowID)
	var found []core.Numbered[domain.AuditEvent]
	reached, err := s.scan(
		ctx,
		search{of: q.keys, first: first, last: last, at: at, newer: newer},
		func(ctx context.Context, low, high int64, order string) (bool, error) {
			text, args := q.text(low, high, order, limit+1-len(found))
			rows, err := s.db.Read.QueryContext(ctx, text, args...)
			if err != nil {
				return false, err
			}
			err = gather(rows, &found, func(rows *sql.Rows) (core.Numbered[domain.AuditEvent], error) {
				var e dbsqlc.AuditEvent
				var run string
				err := rows.Scan(
					&e.Seq,
					&e.At,
					&e.RunID,
					&e.FirstSeq,
					&e.RunSeq,
					&e.Digest,
					&e.Action,
					&e.Actor,
					&e.Source,
					&e.Object,
					&e.Result,
					&e.Reason,
					&e.Detail,
					&e.Request,
					&e.Address,
					&e.Mac,
					&run,
				)
				return core.Numbered[domain.AuditEvent]{ID: e.Seq, Item: core.AuditEvent(e, run)}, err
			})
			return len(found) > limit, err
		},
	)
	if err != nil {
		return list, core.Translate(err, "list audit events")
	}
	list.Items, list.Next, list.Prev = core.Window(found, limit, newer, f.Page, "audit")
	if reached > 0 { // the search ended at the limit of rows
		if newer {
			list.Prev = core.Cursor("audit", reached)
		} else {
			list.Next = core.Cursor("audit", reached)
		}
	}
	return list, nil
}

// auditRange returns the range of sequence numbers that contains the events of a period. Sequence
// numbers increase with time.
func (s *Lists) auditRange(ctx context.Context, f domain.AuditFilter) (first, last int64, err error) {
	if last, err = s.db.Q.AuditLast(ctx); err != nil {
		return 0, 0, err
	}
	first = 1
	if !f.Since.IsZero() {
		if first, err = core.FirstAfter(ctx, s.db.AuditFrom, f.Since.Add(-clockSlack), last); err != nil {
			return 0, 0, err
		}
	}
	if !f.Until.IsZero() {
		after, err := core.FirstAfter(ctx, s.db.AuditFrom, f.Until.Add(clockSlack), last)
		if err != nil {
			return 0, 0, err
		}
		last = min(last, after-1)
	}
	return first, last, nil
}

// AuditLog returns at most limit audit events with Seq > after, in order, without their journal
// rows.
func (s *SummaryReader) AuditLog(ctx context.Context, after int64, limit int) ([]domain.AuditEvent, error) {
	rows, err := s.db.Q.AuditAfter(ctx, after, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read the audit log")
	}
	out := make([]domain.AuditEvent, len(rows))
	for i, r := range rows {
		out[i] = core.AuditEvent(r.AuditEvent, r.Run)
	}
	return out, nil
}
