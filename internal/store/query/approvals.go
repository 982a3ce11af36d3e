package query

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// approvalQuery is a filter in SQL.
type approvalQuery struct {
	from string // with its INDEXED BY clause
	key  clauses
	rest clauses // conditions checked row by row
	open bool    // sorted by deadline, like pending requests; otherwise newest first
}

// clauses are SQL conditions with their arguments.
type clauses struct {
	text string
	args []any
}

func (c *clauses) add(clause string, args ...any) {
	if c.text != "" {
		c.text += " AND "
	}
	c.text, c.args = c.text+clause, append(c.args, args...)
}

// approvalColumn is a column and the value that a filter requires.
type approvalColumn struct{ column, value string }

func newApprovalQuery(f domain.ApprovalFilter) approvalQuery {
	var q approvalQuery
	index := q.choose(f)
	q.from = "approvals INDEXED BY " + index.name
	for _, c := range []approvalColumn{{"plan_key", f.Plan}, {"agent", f.Agent}, {"node", f.Node}, {"tool", f.Tool},
		{"assignee", f.Assignee}} {
		switch {
		case c.value == "":
		case slices.Contains(index.columns, c.column):
			q.key.add("approvals."+c.column+" = ?", c.value)
		default:
			q.rest.add("approvals."+c.column+" = ?", c.value)
		}
	}
	if f.For != "" {
		q.rest.add("(approvals.assignee = '' OR approvals.assignee = ?)", f.For)
	}
	if f.NotFor != "" {
		q.rest.add("approvals.assignee <> '' AND approvals.assignee <> ?", f.NotFor)
	}
	if !f.Overdue.IsZero() {
		q.rest.add("(approvals.due_at > 0 AND approvals.due_at < ? OR approvals.due_at = 0 AND approvals.created_at < ?)",
			f.Overdue.UnixMicro(), f.Overdue.AddDate(0, 0, -1).UnixMicro())
	}
	return q
}

// approvalIndex is an index and the columns of the filter that it covers.
type approvalIndex struct {
	name    string
	columns []string
}

// choose selects the narrowest index that covers part of a filter.
func (q *approvalQuery) choose(f domain.ApprovalFilter) approvalIndex {
	switch status := cmp.Or(f.Status, "pending"); {
	case f.Run != "":
		q.key.add("approvals.run_id = (SELECT r.id FROM runs AS r WHERE r.public_id = ?)", f.Run)
		if f.Decided {
			q.rest.add("approvals.status <> 'pending'")
		} else if f.Status != "" {
			q.rest.add("approvals.status = ?", f.Status)
		}
		return approvalIndex{name: "approvals_by_run"}
	case f.Decided:
		q.key.add("approvals.status <> 'pending'")
		switch {
		case f.Plan != "" && f.Node != "":
			if f.Tool == "" {
				q.key.add("approvals.tool = ''")
			}
			return approvalIndex{"approvals_decided_of_step", []string{"plan_key", "node", "tool"}}
		case f.Plan != "":
			return approvalIndex{"approvals_decided_of_plan", []string{"plan_key"}}
		}
		return approvalIndex{name: "approvals_decided"}
	case status == "pending":
		q.open = true
		q.key.add("approvals.status = 'pending'")
		switch {
		case f.Assignee != "":
			q.key.add("approvals.assignee <> ''")
			return approvalIndex{"approvals_pending_of_person", []string{"assignee"}}
		case f.Agent != "":
			q.key.add("approvals.agent <> ''")
			return approvalIndex{"approvals_pending_of_agent", []string{"agent"}}
		case f.Plan != "":
			return approvalIndex{"approvals_pending_of_plan", []string{"plan_key"}}
		}
		return approvalIndex{name: "approvals_pending"}
	default:
		q.key.add("approvals.status = ?", status)
		return approvalIndex{name: "approvals_by_status"}
	}
}

const approvalColumns = `approvals.id, approvals.public_id, approvals.run_id, approvals.plan_key, approvals.node,
approvals.visit, approvals.item, approvals.message,
approvals.form, approvals.tool, approvals.arguments, approvals.digest, approvals.status, approvals.on_timeout,
approvals.due_at, approvals.created_at, approvals.started_by,
approvals.decided_at, approvals.decided_by, approvals.comment, approvals.comment_text, approvals.entered, approvals.rev, approvals.agent,
approvals.may_ask, approvals.label, approvals.answers,
approvals.answer, approvals.assignee, approvals.due_key, runs.public_id`

// approvalAt is a position in a list of approvals.
type approvalAt struct{ due, id int64 }

// approvalSpan is the part of a list between two positions, both exclusive. nil means no limit on
// that side. If newer is true, the span is read backwards.
type approvalSpan struct {
	after, before *approvalAt
	newer         bool
}

// text returns the query for the rows of a span, with the conditions that the index covers.
func (q *approvalQuery) text(columns, joins string, span approvalSpan) (string, []any, string) {
	order, after, before := "ASC", ">", "<"
	if q.open == span.newer {
		order, after, before = "DESC", "<", ">"
	}
	where := clauses{q.key.text, slices.Clone(q.key.args)}
	for _, end := range []struct {
		at   *approvalAt
		than string
	}{{span.after, after}, {span.before, before}} {
		switch {
		case end.at == nil:
		case q.open:
			where.add("(approvals.due_key, approvals.id) "+end.than+" (?, ?)", end.at.due, end.at.id)
		default:
			where.add("approvals.id "+end.than+" ?", end.at.id)
		}
	}
	keys := " ORDER BY approvals.id " + order
	if q.open {
		keys = " ORDER BY approvals.due_key " + order + ", approvals.id " + order
	}
	return "SELECT " + columns + " FROM " + q.from + joins + " WHERE " + where.text, where.args, keys
}

const withRun = " JOIN runs ON runs.id = approvals.run_id"

// page returns the query for the matches of a span.
func (q *approvalQuery) page(columns, joins string, span approvalSpan, limit int) (string, []any) {
	text, args, order := q.text(columns, joins, span)
	if q.rest.text != "" {
		text, args = text+" AND "+q.rest.text, append(args, q.rest.args...)
	}
	return text + order + " LIMIT ?", append(args, limit)
}

// nth returns the query for the position after a number of rows.
func (q *approvalQuery) nth(span approvalSpan, rows int) (string, []any) {
	text, args, order := q.text("approvals.due_key, approvals.id", "", span)
	return text + order + " LIMIT 1 OFFSET ?", append(args, rows)
}

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

// Approvals lists approvals. Without a filter it lists pending ones by deadline, then age. With
// another filter, the newest come first. If no index serves the filter, a page contains the matches
// among the Rows that a request reads. Next continues from there, even if the page is short.
func (s *Lists) Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	var list domain.List[domain.Approval]
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	at, err := openApprovalCursor(cmp.Or(f.Page.Before, f.Page.After))
	if err != nil {
		return list, err
	}
	limit := core.PageLimit(f.Page.Limit)
	q, span := newApprovalQuery(f), approvalSpan{after: at, newer: f.Page.Before != ""}
	var all []foundApproval
	var reached *approvalAt
	for _, rows := range s.windows() {
		if span.before, err = s.approvalAfter(ctx, &q, span, rows); err != nil {
			return list, core.Translate(err, "list approvals")
		}
		text, args := q.page(approvalColumns, withRun, span, limit+1-len(all))
		rows, err := s.db.Read.QueryContext(ctx, text, args...)
		if err == nil {
			err = gather(rows, &all, scanApproval)
		}
		if err != nil {
			return list, core.Translate(err, "list approvals")
		}
		if reached = span.before; reached == nil {
			break
		}
		if q.open != span.newer { // the next request starts with this row
			reached.id--
		} else {
			reached.id++
		}
		if len(all) > limit {
			reached = nil
			break
		}
		span.after, span.before = reached, nil
	}
	all, list.Next, list.Prev = core.WindowBy(all, limit, span.newer, f.Page, func(x foundApproval) string { return x.at.cursor() })
	if reached != nil && span.newer {
		list.Prev = reached.cursor()
	} else if reached != nil {
		list.Next = reached.cursor()
	}
	for _, x := range all {
		list.Items = append(list.Items, x.approval)
	}
	return list, nil
}

// approvalAfter returns the position after a number of rows of a span, or nil if there are no more.
func (s *Lists) approvalAfter(ctx context.Context, q *approvalQuery, span approvalSpan, rows int) (*approvalAt, error) {
	text, args := q.nth(span, rows)
	var at approvalAt
	err := s.db.Read.QueryRowContext(ctx, text, args...).Scan(&at.due, &at.id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &at, err
}

// foundApproval is an approval with its position.
type foundApproval struct {
	approval domain.Approval
	at       approvalAt
}

// scanApproval reads a row with approvalColumns.
func scanApproval(rows *sql.Rows) (foundApproval, error) {
	var a dbsqlc.Approval
	var run string
	err := rows.Scan(
		&a.ID,
		&a.PublicID,
		&a.RunID,
		&a.PlanKey,
		&a.Node,
		&a.Visit,
		&a.Item,
		&a.Message,
		&a.Form,
		&a.Tool,
		&a.Arguments,
		&a.Digest,
		&a.Status,
		&a.OnTimeout,
		&a.DueAt,
		&a.CreatedAt,
		&a.StartedBy,
		&a.DecidedAt,
		&a.DecidedBy,
		&a.Comment,
		&a.CommentText,
		&a.Entered,
		&a.Rev,
		&a.Agent,
		&a.MayAsk,
		&a.Label,
		&a.Answers,
		&a.Answer,
		&a.Assignee,
		&a.DueKey,
		&run,
	)
	if err != nil {
		return foundApproval{}, err
	}
	return foundApproval{core.Approval(a, run), approvalAt{a.DueKey, a.ID}}, nil
}

// ApprovalsCount counts matches up to a limit, among the Rows that a request reads.
func (s *Lists) ApprovalsCount(ctx context.Context, f domain.ApprovalFilter, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	q := newApprovalQuery(f)
	end, err := s.approvalAfter(ctx, &q, approvalSpan{}, s.rows)
	if err != nil {
		return 0, core.Translate(err, "count approvals")
	}
	text, args := q.page("1", "", approvalSpan{before: end}, limit)
	n := 0
	err = s.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM ("+text+")", args...).Scan(&n)
	return n, core.Translate(err, "count approvals")
}
