package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

func approvalParams(a kairos.Approval, rowID int64) dbsqlc.ApprovalPutParams {
	return dbsqlc.ApprovalPutParams{PublicID: a.ID, RunID: rowID, PlanKey: a.PlanKey, Node: a.Node, Visit: int64(a.Visit), Item: int64(a.Item),
		Message: a.Message, Form: jsonText(a.Form), Digest: a.Digest, Status: a.Status, OnTimeout: a.OnTimeout, DueAt: micros(a.DueAt),
		CreatedAt: micros(a.CreatedAt), StartedBy: a.StartedBy, DecidedAt: micros(a.DecidedAt), DecidedBy: a.DecidedBy, Comment: a.Comment,
		Entered: jsonText(a.Values), Rev: a.Rev}
}

func approval(a dbsqlc.Approval, run string) kairos.Approval {
	return kairos.Approval{ID: a.PublicID, Run: run, PlanKey: a.PlanKey, Node: a.Node, Visit: int(a.Visit), Item: int(a.Item), Message: a.Message,
		Form: rawJSON(a.Form), Digest: a.Digest, Status: a.Status, OnTimeout: a.OnTimeout, DueAt: fromMicros(a.DueAt),
		CreatedAt: fromMicros(a.CreatedAt), StartedBy: a.StartedBy, DecidedAt: fromMicros(a.DecidedAt), DecidedBy: a.DecidedBy, Comment: a.Comment,
		Values: rawJSON(a.Entered), Rev: a.Rev}
}

// Approval finds one approval; CodeNotFound.
func (s *Store) Approval(ctx context.Context, id string) (kairos.Approval, error) {
	r, err := s.q.ApprovalGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return kairos.Approval{}, kairos.Errorf(kairos.CodeNotFound, "no approval %q", id)
	}
	return approval(r.Approval, r.Run), translate(err, "read approval")
}

// Approvals lists approvals of one status (open, if none is given), newest
// first, or all of one run.
func (s *Store) Approvals(ctx context.Context, f kairos.ApprovalFilter) (kairos.List[kairos.Approval], error) {
	var list kairos.List[kairos.Approval]
	limit := pageLimit(f.Page.Limit)
	var ids []int64
	if f.Run != "" {
		rows, err := s.q.ApprovalListByRun(ctx, f.Run)
		if err != nil {
			return list, translate(err, "list approvals")
		}
		for _, r := range rows {
			if f.Status == "" || r.Approval.Status == f.Status {
				list.Items = append(list.Items, approval(r.Approval, r.Run))
			}
		}
		return list, nil
	}
	status := cmp.Or(f.Status, "open")
	newer := f.Page.Before != ""
	if newer {
		id, err := openCursor("approvals", f.Page.Before)
		if err != nil {
			return list, err
		}
		rows, err := s.q.ApprovalListNewer(ctx, status, id, int64(limit)+1)
		if err != nil {
			return list, translate(err, "list approvals")
		}
		for _, r := range rows {
			list.Items, ids = append(list.Items, approval(r.Approval, r.Run)), append(ids, r.Approval.ID)
		}
	} else {
		before := int64(math.MaxInt64)
		if f.Page.After != "" {
			id, err := openCursor("approvals", f.Page.After)
			if err != nil {
				return list, err
			}
			before = id
		}
		rows, err := s.q.ApprovalListOlder(ctx, status, before, int64(limit)+1)
		if err != nil {
			return list, translate(err, "list approvals")
		}
		for _, r := range rows {
			list.Items, ids = append(list.Items, approval(r.Approval, r.Run)), append(ids, r.Approval.ID)
		}
	}
	list.Items, list.Next, list.Prev = window(list.Items, ids, limit, newer, f.Page, "approvals")
	return list, nil
}

// AuditEvents lists audit events, newest first. Checkpoints are left out unless
// the filter asks for a run or for them.
func (s *Store) AuditEvents(ctx context.Context, f kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error) {
	var list kairos.List[kairos.AuditEvent]
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	var where []string
	var args []any
	add := func(clause string, value any) { where, args = append(where, clause), append(args, value) }
	if f.Run != "" {
		rowID, err := s.rowID(ctx, f.Run)
		if err != nil {
			return list, err
		}
		add("audit_events.run_id = ?", rowID)
	} else if f.Action == "" {
		where = append(where, "audit_events.action <> 'checkpoint'")
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
	order, newer := "DESC", false
	if f.Page.After != "" {
		id, err := openCursor("audit", f.Page.After)
		if err != nil {
			return list, err
		}
		add("audit_events.seq < ?", id)
	} else if f.Page.Before != "" {
		id, err := openCursor("audit", f.Page.Before)
		if err != nil {
			return list, err
		}
		add("audit_events.seq > ?", id)
		order, newer = "ASC", true
	}
	query := `SELECT audit_events.seq, audit_events.at, audit_events.first_seq, audit_events.run_seq, audit_events.action, audit_events.actor,
audit_events.surface, audit_events.object, audit_events.result, audit_events.reason, audit_events.detail, audit_events.mac, coalesce(runs.public_id, '')
FROM audit_events LEFT JOIN runs ON runs.id = audit_events.run_id`
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	limit := pageLimit(f.Page.Limit)
	rows, err := s.read.QueryContext(ctx, query+" ORDER BY audit_events.seq "+order+" LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return list, translate(err, "list audit events")
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var e dbsqlc.AuditEvent
		var run string
		if err := rows.Scan(&e.Seq, &e.At, &e.FirstSeq, &e.RunSeq, &e.Action, &e.Actor, &e.Surface, &e.Object, &e.Result, &e.Reason, &e.Detail, &e.Mac, &run); err != nil {
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
