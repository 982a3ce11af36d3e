package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

func (s approvals) approvalParams(a domain.Approval, rowID int64) dbsqlc.ApprovalPutParams {
	row := dbsqlc.Approval{PublicID: a.ID, RunID: rowID, PlanKey: a.PlanKey, Node: a.Node, Visit: int64(a.Visit), Item: int64(a.Item),
		Message: a.Message, Form: core.JSONText(a.Form), Tool: a.Tool, Arguments: core.JSONText(a.Arguments), Digest: a.Digest,
		Status: a.Status, OnTimeout: a.OnTimeout, DueAt: core.Micros(a.DueAt),
		CreatedAt: core.Micros(
			a.CreatedAt,
		), StartedBy: a.StartedBy, DecidedAt: core.Micros(a.DecidedAt), DecidedBy: a.DecidedBy, Comment: a.Comment,
		CommentText: a.Text.Encode(),
		Entered: core.JSONText(
			a.Values,
		), Rev: a.Rev, Agent: a.Agent, MayAsk: core.Flag(a.MayAsk), Label: a.Label, Answers: answersText(a.Choices), Answer: a.Answer,
		Assignee: a.Assignee, DueKey: dueKey(a.DueAt)}
	return dbsqlc.ApprovalPutParams{
		PublicID:    row.PublicID,
		RunID:       row.RunID,
		PlanKey:     row.PlanKey,
		Node:        row.Node,
		Visit:       row.Visit,
		Item:        row.Item,
		Message:     row.Message,
		Form:        row.Form,
		Tool:        row.Tool,
		Arguments:   row.Arguments,
		Digest:      row.Digest,
		Status:      row.Status,
		OnTimeout:   row.OnTimeout,
		DueAt:       row.DueAt,
		CreatedAt:   row.CreatedAt,
		StartedBy:   row.StartedBy,
		DecidedAt:   row.DecidedAt,
		DecidedBy:   row.DecidedBy,
		Comment:     row.Comment,
		CommentText: row.CommentText,
		Entered:     row.Entered,
		Rev:         row.Rev,
		Agent:       row.Agent,
		MayAsk:      row.MayAsk,
		Label:       row.Label,
		Answers:     row.Answers,
		Answer:      row.Answer,
		Assignee:    row.Assignee,
		DueKey:      row.DueKey,
		Seal:        s.store.approvalSeal(&row),
	}
}

// answersText encodes the answers of a request for storage.
func answersText(list []domain.Answer) string {
	text, err := json.Marshal(append([]domain.Answer{}, list...))
	if err != nil {
		panic("store: answers: " + err.Error()) // answers contain only texts
	}
	return string(text)
}

// dueKey orders approvals by deadline. Approvals without a deadline come last.
func dueKey(due time.Time) int64 {
	if due.IsZero() {
		return math.MaxInt64
	}
	return due.UnixMicro()
}

// Approval finds one approval. It returns CodeNotFound, or CodeCorrupt for a pending one that
// another program changed.
func (s approvals) Approval(ctx context.Context, id string) (domain.Approval, error) {
	r, err := s.store.q.ApprovalGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Approval{}, domain.Errorf(domain.CodeNotFound, "approval request %q not found", id)
	}
	if err == nil && r.Approval.Status == "pending" && !s.store.matches(r.Approval.Seal, s.store.approvalSeal(&r.Approval)) {
		return domain.Approval{}, domain.Errorf(domain.CodeCorrupt, "approval request %s was changed by another program", id).
			Suggest("run kairosd doctor on the server; kairosd user repair cancels the request")
	}
	return core.Approval(r.Approval, r.Run), core.Translate(err, "read approval")
}

// AssignApproval sets who must answer a pending approval; "" means anyone with the permission. It
// returns CodeNotFound, or CodeConflict if the approval is not pending or was reassigned in the
// meantime.
func (tx *Tx) AssignApproval(id, before, assignee, reason string) (domain.Approval, error) {
	w := tx.w
	row, err := w.q.ApprovalGet(w.ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Approval{}, domain.Errorf(domain.CodeNotFound, "approval request %q not found", id)
	} else if err != nil {
		return domain.Approval{}, err
	}
	row.Approval.Assignee = assignee
	n, err := w.q.ApprovalAssign(
		w.ctx,
		dbsqlc.ApprovalAssignParams{Assignee: assignee, Seal: w.s.approvalSeal(&row.Approval), PublicID: id, Before: before},
	)
	if err != nil {
		return domain.Approval{}, err
	}
	if n == 0 {
		return domain.Approval{}, domain.Errorf(domain.CodeConflict, "the request was decided or reassigned in the meantime").
			Suggest("reload it and try again")
	}
	tx.audit(
		tx.op.Action,
		auditRow{rowID: row.Approval.RunID, record: domain.AuditRecord{Run: row.Run, Object: "approval:" + id, Reason: reason,
			Detail: domain.ChangeDetail(map[string]string{"assignee": before}, map[string]string{"assignee": assignee})}},
	)
	return core.Approval(row.Approval, row.Run), nil
}
