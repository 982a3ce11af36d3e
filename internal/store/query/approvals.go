package query

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// approvalQuery is a filter as SQL, over the index that serves it.
type approvalQuery struct {
	from, where string
	args        []any
	open        bool // in the order of the inbox, else newest first
}

func newApprovalQuery(f domain.ApprovalFilter) approvalQuery {
	q := approvalQuery{from: "approvals"}
	add := func(clause string, values ...any) {
		if q.where != "" {
			q.where += " AND "
		}
		q.where, q.args = q.where+clause, append(q.args, values...)
	}
	index := ""
	switch status := cmp.Or(f.Status, "open"); {
	case f.Decided:
		add("approvals.status <> 'open'")
		switch index = "approvals_decided"; {
		case f.Plan != "" && f.Node != "":
			index = "approvals_decided_of_step"
			add("approvals.tool = ?", f.Tool)
		case f.Plan != "":
			index = "approvals_decided_of_plan"
		}
	case status == "open":
		q.open = true
		add("approvals.status = 'open'")
		switch index = "approvals_open"; {
		case f.Assignee != "":
			index = "approvals_open_of_person"
			add("approvals.assignee <> ''")
		case f.Agent != "":
			index = "approvals_open_of_agent"
			add("approvals.agent <> ''")
		case f.Plan != "":
			index = "approvals_open_of_plan"
		}
	default:
		index = "approvals_by_status"
		add("approvals.status = ?", status)
	}
	q.from += " INDEXED BY " + index
	for _, c := range []struct{ column, value string }{{"plan_key", f.Plan}, {"agent", f.Agent}, {"node", f.Node}, {"assignee", f.Assignee}} {
		if c.value != "" {
			add("approvals."+c.column+" = ?", c.value)
		}
	}
	if f.For != "" {
		add("(approvals.assignee = '' OR approvals.assignee = ?)", f.For)
	}
	if f.NotFor != "" {
		add("approvals.assignee <> '' AND approvals.assignee <> ?", f.NotFor)
	}
	if !f.Overdue.IsZero() {
		add("(approvals.due_at > 0 AND approvals.due_at < ? OR approvals.due_at = 0 AND approvals.created_at < ?)", f.Overdue.UnixMicro(), f.Overdue.AddDate(0, 0, -1).UnixMicro())
	}
	return q
}

const approvalColumns = `approvals.id, approvals.public_id, approvals.run_id, approvals.plan_key, approvals.node, approvals.visit, approvals.item, approvals.message,
approvals.form, approvals.tool, approvals.arguments, approvals.digest, approvals.status, approvals.on_timeout, approvals.due_at, approvals.created_at, approvals.started_by,
approvals.decided_at, approvals.decided_by, approvals.comment, approvals.entered, approvals.rev, approvals.agent, approvals.may_ask, approvals.label, approvals.answers,
approvals.answer, approvals.assignee, approvals.due_key, runs.public_id`

// text is the page from a position on; newer: towards its beginning.
func (q *approvalQuery) text(at *approvalAt, newer bool, limit int) (string, []any) {
	text, args := "SELECT "+approvalColumns+" FROM "+q.from+" JOIN runs ON runs.id = approvals.run_id WHERE "+q.where, append([]any(nil), q.args...)
	order, than := "ASC", ">"
	if q.open == newer {
		order, than = "DESC", "<"
	}
	keys := "approvals.id"
	if q.open {
		keys = "approvals.due_key " + order + ", approvals.id"
		if at != nil {
			text, args = text+" AND (approvals.due_key, approvals.id) "+than+" (?, ?)", append(args, at.due, at.id)
		}
	} else if at != nil {
		text, args = text+" AND approvals.id "+than+" ?", append(args, at.id)
	}
	return text + " ORDER BY " + keys + " " + order + " LIMIT ?", append(args, limit)
}

// approvalAt is a position in the inbox.
type approvalAt struct{ due, id int64 }

const approvalCursor = "approvals"

func (a approvalAt) cursor() string {
	text := strconv.FormatInt(a.due, 10) + "-" + strconv.FormatInt(a.id, 10)
	return core.CursorEncoding.EncodeToString([]byte(text + "." + core.Check(approvalCursor, text)))
}

func openApprovalCursor(c string) (*approvalAt, error) {
	if c == "" {
		return nil, nil
	}
	if len(c) > 128 {
		return nil, core.BadCursor()
	}
	b, err := core.CursorEncoding.DecodeString(c)
	if err != nil {
		return nil, core.BadCursor()
	}
	text, sum, _ := strings.Cut(string(b), ".")
	due, id, ok := strings.Cut(text, "-")
	var at approvalAt
	if at.due, err = strconv.ParseInt(due, 10, 64); err != nil || !ok || sum != core.Check(approvalCursor, text) {
		return nil, core.BadCursor()
	}
	if at.id, err = strconv.ParseInt(id, 10, 64); err != nil {
		return nil, core.BadCursor()
	}
	return &at, nil
}

// Approvals lists approvals: open ones, if nothing else is asked for, by deadline,
// then age; others newest first; or all of one run.
func (s *Lists) Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	var list domain.List[domain.Approval]
	if f.Run != "" {
		rows, err := s.db.Q.ApprovalListByRun(ctx, f.Run)
		if err != nil {
			return list, core.Translate(err, "list approvals")
		}
		for _, r := range rows {
			if f.Status == "" || r.Approval.Status == f.Status {
				list.Items = append(list.Items, core.Approval(r.Approval, r.Run))
			}
		}
		return list, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	newer := f.Page.Before != ""
	at, err := openApprovalCursor(cmp.Or(f.Page.Before, f.Page.After))
	if err != nil {
		return list, err
	}
	limit := core.PageLimit(f.Page.Limit)
	q := newApprovalQuery(f)
	text, args := q.text(at, newer, limit+1)
	rows, err := s.db.Read.QueryContext(ctx, text, args...)
	if err != nil {
		return list, core.Translate(err, "list approvals")
	}
	defer rows.Close()
	type found struct {
		approval domain.Approval
		at       approvalAt
	}
	var all []found
	for rows.Next() {
		var a dbsqlc.Approval
		var run string
		if err := rows.Scan(&a.ID, &a.PublicID, &a.RunID, &a.PlanKey, &a.Node, &a.Visit, &a.Item, &a.Message, &a.Form, &a.Tool, &a.Arguments, &a.Digest, &a.Status, &a.OnTimeout,
			&a.DueAt, &a.CreatedAt, &a.StartedBy, &a.DecidedAt, &a.DecidedBy, &a.Comment, &a.Entered, &a.Rev, &a.Agent, &a.MayAsk, &a.Label, &a.Answers, &a.Answer, &a.Assignee,
			&a.DueKey, &run); err != nil {
			return list, core.Translate(err, "list approvals")
		}
		all = append(all, found{core.Approval(a, run), approvalAt{a.DueKey, a.ID}})
	}
	if err := rows.Err(); err != nil {
		return list, core.Translate(err, "list approvals")
	}
	all, list.Next, list.Prev = core.WindowBy(all, limit, newer, f.Page, func(x found) string { return x.at.cursor() })
	for _, x := range all {
		list.Items = append(list.Items, x.approval)
	}
	return list, nil
}

// ApprovalsCount counts matches up to a limit.
func (s *Lists) ApprovalsCount(ctx context.Context, f domain.ApprovalFilter, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	q := newApprovalQuery(f)
	n := 0
	err := s.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+q.from+" WHERE "+q.where+" LIMIT ?)", append(q.args, limit)...).Scan(&n)
	return n, core.Translate(err, "count approvals")
}
