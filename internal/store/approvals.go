package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

func approvalParams(a kairos.Approval, rowID int64) dbsqlc.ApprovalPutParams {
	return dbsqlc.ApprovalPutParams{PublicID: a.ID, RunID: rowID, PlanKey: a.PlanKey, Node: a.Node, Visit: int64(a.Visit), Item: int64(a.Item),
		Message: a.Message, Form: jsonText(a.Form), Tool: a.Tool, Arguments: jsonText(a.Arguments), Digest: a.Digest, Status: a.Status, OnTimeout: a.OnTimeout, DueAt: micros(a.DueAt),
		CreatedAt: micros(a.CreatedAt), StartedBy: a.StartedBy, DecidedAt: micros(a.DecidedAt), DecidedBy: a.DecidedBy, Comment: a.Comment,
		Entered: jsonText(a.Values), Rev: a.Rev}
}

func approval(a dbsqlc.Approval, run string) kairos.Approval {
	return kairos.Approval{ID: a.PublicID, Run: run, PlanKey: a.PlanKey, Node: a.Node, Visit: int(a.Visit), Item: int(a.Item), Message: a.Message,
		Form: rawJSON(a.Form), Tool: a.Tool, Arguments: rawJSON(a.Arguments), Digest: a.Digest, Status: a.Status, OnTimeout: a.OnTimeout, DueAt: fromMicros(a.DueAt),
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
