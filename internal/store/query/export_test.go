package query

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Statements of lists. A test checks which indexes they read.

const (
	OneHandoffSQL   = oneHandoffSQL
	LikeHandoffsSQL = likeHandoffsSQL
)

// RunStatement is the query for a page of runs.
func (s *Lists) RunStatement(ctx context.Context, f domain.RunFilter, order string) (string, []any, error) {
	q, err := s.runQuery(ctx, f)
	if err != nil {
		return "", nil, err
	}
	text, args := q.text(runColumns, runJoins, 0, 1<<62, order, 51)
	return text, args, nil
}

// UnlistedStatement is the query for the runs that a count subtracts.
func (s *Lists) UnlistedStatement(ctx context.Context, f domain.RunFilter) (string, []any, error) {
	q, err := s.runQuery(ctx, f)
	if err != nil {
		return "", nil, err
	}
	rest := q.onlyUnlisted()
	text, args := rest.text("runs.id", "", 0, 1<<62, "DESC", 51)
	return text, args, nil
}

// RunKeys is the query for the last row that a page of runs reads.
func (s *Lists) RunKeys(ctx context.Context, f domain.RunFilter, order string) (string, []any, error) {
	q, err := s.runQuery(ctx, f)
	if err != nil {
		return "", nil, err
	}
	text, args := q.keys(0, 1<<62, order, 51)
	return text, args, nil
}

// HandoffKeys is RunKeys for handoffs; AuditKeys is RunKeys for audit events.
func HandoffKeys(f domain.HandoffFilter) (string, []any) { return handoffKeys(f)(0, 1<<62, "DESC", 51) }

func AuditKeys(f domain.AuditFilter) (string, []any) {
	q := newAuditQuery(f, 0)
	return q.keys(0, 1<<62, "DESC", 51)
}

// StepStatements are the queries for a page of steps and for its last row.
func (s *Lists) StepStatements(ctx context.Context, f domain.StepFilter) (out []Statement, err error) {
	q, err := s.stepQuery(ctx, f)
	if err != nil {
		return nil, err
	}
	text, args := q.between(f, stepAt{1, 1}, stepAt{9, 9}, 51)
	out = append(out, Statement{text, args})
	text, args = q.runs(1, 9, 51)
	return append(out, Statement{text, args}, Statement{failuresSQL, []any{1, 9, 9, 51}}), nil
}

// Statement is an SQL statement with its arguments.
type Statement struct {
	Text string
	Args []any
}

// HandoffStatement is the query for a page of handoffs.
func HandoffStatement(f domain.HandoffFilter) (string, []any) {
	text, args := handoffQuery(f)
	return text + " ORDER BY h.id DESC LIMIT ?", append(append([]any{0, 1 << 62}, args...), 51)
}

// ApprovalStatement is the query for a page of approvals.
func ApprovalStatement(f domain.ApprovalFilter, newer bool) (string, []any) {
	q := newApprovalQuery(f)
	return q.page(approvalColumns, withRun, approvalSpan{after: &approvalAt{1, 1}, before: &approvalAt{9, 9}, newer: newer}, 51)
}

// ApprovalKeys is the query for the last row that a page of approvals reads.
func ApprovalKeys(f domain.ApprovalFilter) (string, []any) {
	q := newApprovalQuery(f)
	return q.nth(approvalSpan{after: &approvalAt{1, 1}}, 51)
}

// AuditStatement is the query for a page of audit events.
func AuditStatement(f domain.AuditFilter) (string, []any) {
	q := newAuditQuery(f, 0)
	return q.text(0, 1<<62, "DESC", 51)
}
