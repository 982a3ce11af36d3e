package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

func (s *Store) approvalParams(a domain.Approval, rowID int64) dbsqlc.ApprovalPutParams {
	row := dbsqlc.Approval{PublicID: a.ID, RunID: rowID, PlanKey: a.PlanKey, Node: a.Node, Visit: int64(a.Visit), Item: int64(a.Item),
		Message: a.Message, Form: jsonText(a.Form), Tool: a.Tool, Arguments: jsonText(a.Arguments), Digest: a.Digest, Status: a.Status, OnTimeout: a.OnTimeout, DueAt: micros(a.DueAt),
		CreatedAt: micros(a.CreatedAt), StartedBy: a.StartedBy, DecidedAt: micros(a.DecidedAt), DecidedBy: a.DecidedBy, Comment: a.Comment,
		Entered: jsonText(a.Values), Rev: a.Rev, Agent: a.Agent, MayAsk: flag(a.MayAsk), Label: a.Label, Answers: answersText(a.Choices), Answer: a.Answer,
		Assignee: a.Assignee, DueKey: dueKey(a.DueAt)}
	return dbsqlc.ApprovalPutParams{PublicID: row.PublicID, RunID: row.RunID, PlanKey: row.PlanKey, Node: row.Node, Visit: row.Visit, Item: row.Item,
		Message: row.Message, Form: row.Form, Tool: row.Tool, Arguments: row.Arguments, Digest: row.Digest, Status: row.Status, OnTimeout: row.OnTimeout, DueAt: row.DueAt,
		CreatedAt: row.CreatedAt, StartedBy: row.StartedBy, DecidedAt: row.DecidedAt, DecidedBy: row.DecidedBy, Comment: row.Comment,
		Entered: row.Entered, Rev: row.Rev, Agent: row.Agent, MayAsk: row.MayAsk, Label: row.Label, Answers: row.Answers, Answer: row.Answer,
		Assignee: row.Assignee, DueKey: row.DueKey, Seal: s.approvalSeal(&row)}
}

// answersText is the answers of a request as they are stored.
func answersText(list []domain.Answer) string {
	text, err := json.Marshal(append([]domain.Answer{}, list...))
	if err != nil {
		panic("store: answers: " + err.Error()) // they are texts
	}
	return string(text)
}

// choices reads the answers of a request. Of an open one, the seal was checked; of
// another, they are only shown.
func choices(text string) (list []domain.Answer) {
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}

// dueKey orders approvals by deadline; those without one come last.
func dueKey(due time.Time) int64 {
	if due.IsZero() {
		return math.MaxInt64
	}
	return due.UnixMicro()
}

func approval(a dbsqlc.Approval, run string) domain.Approval {
	return domain.Approval{ID: a.PublicID, Run: run, PlanKey: a.PlanKey, Node: a.Node, Visit: int(a.Visit), Item: int(a.Item), Message: a.Message,
		Form: rawJSON(a.Form), Tool: a.Tool, Arguments: rawJSON(a.Arguments), Digest: a.Digest, Status: a.Status, OnTimeout: a.OnTimeout, DueAt: fromMicros(a.DueAt),
		CreatedAt: fromMicros(a.CreatedAt), StartedBy: a.StartedBy, DecidedAt: fromMicros(a.DecidedAt), DecidedBy: a.DecidedBy, Comment: a.Comment,
		Values: rawJSON(a.Entered), Rev: a.Rev, Agent: a.Agent, MayAsk: a.MayAsk != 0, Label: a.Label, Choices: choices(a.Answers), Answer: a.Answer, Assignee: a.Assignee}
}

// Approval finds one approval; CodeNotFound. An open one that something other than
// kairosd changed is CodeCorrupt.
func (s *Store) Approval(ctx context.Context, id string) (domain.Approval, error) {
	r, err := s.q.ApprovalGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Approval{}, domain.Errorf(domain.CodeNotFound, "no approval %q", id)
	}
	if err == nil && r.Approval.Status == "open" && !s.matches(r.Approval.Seal, s.approvalSeal(&r.Approval)) {
		return domain.Approval{}, domain.Errorf(domain.CodeCorrupt, "approval request %s was changed by something other than kairosd", id).
			Suggest("run kairosd doctor at the server; kairosd user repair cancels the request")
	}
	return approval(r.Approval, r.Run), translate(err, "read approval")
}

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
			index = "approvals_decided_alike"
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
		return nil, badCursor()
	}
	b, err := core.CursorEncoding.DecodeString(c)
	if err != nil {
		return nil, badCursor()
	}
	text, sum, _ := strings.Cut(string(b), ".")
	due, id, ok := strings.Cut(text, "-")
	var at approvalAt
	if at.due, err = strconv.ParseInt(due, 10, 64); err != nil || !ok || sum != core.Check(approvalCursor, text) {
		return nil, badCursor()
	}
	if at.id, err = strconv.ParseInt(id, 10, 64); err != nil {
		return nil, badCursor()
	}
	return &at, nil
}

// Approvals lists approvals: open ones, if nothing else is asked for, by deadline,
// then age; others newest first; or all of one run.
func (s *Store) Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	var list domain.List[domain.Approval]
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
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	newer := f.Page.Before != ""
	at, err := openApprovalCursor(cmp.Or(f.Page.Before, f.Page.After))
	if err != nil {
		return list, err
	}
	limit := pageLimit(f.Page.Limit)
	q := newApprovalQuery(f)
	text, args := q.text(at, newer, limit+1)
	rows, err := s.read.QueryContext(ctx, text, args...)
	if err != nil {
		return list, translate(err, "list approvals")
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
			return list, translate(err, "list approvals")
		}
		all = append(all, found{approval(a, run), approvalAt{a.DueKey, a.ID}})
	}
	if err := rows.Err(); err != nil {
		return list, translate(err, "list approvals")
	}
	all, list.Next, list.Prev = windowBy(all, limit, newer, f.Page, func(x found) string { return x.at.cursor() })
	for _, x := range all {
		list.Items = append(list.Items, x.approval)
	}
	return list, nil
}

// ApprovalsCount counts matches up to a limit.
func (s *Store) ApprovalsCount(ctx context.Context, f domain.ApprovalFilter, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	q := newApprovalQuery(f)
	n := 0
	err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+q.from+" WHERE "+q.where+" LIMIT ?)", append(q.args, limit)...).Scan(&n)
	return n, translate(err, "count approvals")
}

// AssignApproval says who is to answer an open approval; "": whoever may.
// CodeForbidden without the role operator, CodeConflict when it is not open, or
// assigned to others than before by now.
func (s *Store) AssignApproval(ctx context.Context, actor domain.Actor, id, before, assignee, reason string) (domain.Approval, error) {
	const action = "approval.assign"
	if !actor.Role.Includes(domain.RoleOperator) {
		err := domain.Errorf(domain.CodeForbidden, "this needs the role %s; %s has the role %s", domain.RoleOperator, actor.Name, actor.Role)
		if auditErr := s.Audit(ctx, domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "approval:" + id, Result: "denied", Reason: err.Message}); auditErr != nil {
			return domain.Approval{}, auditErr
		}
		err.Audited = true
		return domain.Approval{}, err
	}
	if len(assignee) > 128 {
		return domain.Approval{}, domain.Errorf(domain.CodeInvalid, "a name has at most 128 characters")
	}
	a, err := s.Approval(ctx, id)
	if err != nil {
		return a, err
	}
	rowID, err := s.db.RowID(ctx, a.Run)
	if err != nil {
		return a, err
	}
	err = s.writer.perform(func(w *writer) ([]auditRow, error) {
		row, err := w.q.ApprovalGet(w.ctx, id)
		if err != nil {
			return nil, err
		}
		row.Approval.Assignee = assignee
		n, err := w.q.ApprovalAssign(w.ctx, dbsqlc.ApprovalAssignParams{Assignee: assignee, Seal: s.approvalSeal(&row.Approval), PublicID: id, Before: before})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, domain.Errorf(domain.CodeConflict, "it was decided, or given to somebody else, meanwhile").Suggest("look at it again")
		}
		return []auditRow{{rowID: rowID, record: domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Run: a.Run, Object: "approval:" + id,
			Reason: reason, Detail: domain.ChangeDetail(map[string]string{"assignee": before}, map[string]string{"assignee": assignee})}}}, nil
	})
	a.Assignee = assignee
	return a, translate(err, "assign approval")
}
