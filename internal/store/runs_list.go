package store

import (
	"context"
	"encoding/base32"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// The run list has too many combinations of filters for one fixed query that
// uses an index in each. It is therefore put together here, from constant
// pieces only; every value is bound.

const runColumns = `runs.id, runs.public_id, runs.tail, runs.plan_id, runs.version_id, runs.status, runs.wait_reason, runs.attention, runs.last_seq,
runs.steps, runs.path, runs.headline, runs.node, runs.error_code, runs.actor, runs.origin, runs.priority, runs.run_key, runs.conc_key, runs.parent_run,
runs.forked_from, runs.fork_seq, runs.rerun_of, runs.start_at, runs.due_at, runs.input_tokens, runs.output_tokens, runs.cost, runs.crashes, runs.paused,
runs.created_at, runs.started_at, runs.ended_at, runs.running_us, runs.deleted_at, runs.purged_at,
run_details.error_message, run_details.error_node, run_details.session, run_details.limits, run_details.labels, run_details.parent, run_details.concurrency,
plans.public_id, plans.key, plan_versions.number, plan_versions.hash`

const runJoins = ` JOIN run_details ON run_details.run_id = runs.id JOIN plans ON plans.id = runs.plan_id JOIN plan_versions ON plan_versions.id = runs.version_id`

// listDeadline bounds one list query; what it has found by then is not shown,
// the caller narrows the filter.
const listDeadline = 2 * time.Second

// runWhere builds the conditions of a filter and the index that serves it.
func (s *Store) runWhere(ctx context.Context, f kairos.RunFilter) (where []string, args []any, index string, err error) {
	add := func(clause string, values ...any) {
		where = append(where, clause)
		args = append(args, values...)
	}
	index = "runs_by_age"
	if !f.WithDeleted {
		add("runs.deleted_at = 0")
	}
	if f.PlanKey != "" {
		p, err := s.Plan(ctx, f.PlanKey)
		if kairos.CodeOf(err) == kairos.CodeNotFound {
			add("0")
		} else if err != nil {
			return nil, nil, "", err
		} else {
			row, err := s.q.PlanByPublicID(ctx, p.ID)
			if err != nil {
				return nil, nil, "", translate(err, "find plan")
			}
			add("runs.plan_id = ?", row.ID)
			index = "runs_by_plan"
		}
	}
	if len(f.Statuses) > 0 {
		marks := make([]string, len(f.Statuses))
		values := make([]any, len(f.Statuses))
		for i, st := range f.Statuses {
			marks[i], values[i] = "?", string(st)
		}
		add("runs.status IN ("+strings.Join(marks, ", ")+")", values...)
		if len(f.Statuses) == 1 {
			index = strings.Replace(strings.Replace(index, "runs_by_plan", "runs_by_plan_status", 1), "runs_by_age", "runs_by_status", 1)
		}
	}
	if len(f.WaitReasons) > 0 {
		marks := make([]string, len(f.WaitReasons))
		values := make([]any, len(f.WaitReasons))
		for i, r := range f.WaitReasons {
			marks[i], values[i] = "?", string(r)
		}
		add("runs.wait_reason IN ("+strings.Join(marks, ", ")+")", values...)
	}
	if f.NeedsAttention {
		add("runs.attention = 1")
		if index == "runs_by_age" {
			index = "runs_that_need_attention"
		}
	}
	for _, c := range []struct{ column, value string }{{"runs.node", f.Node}, {"runs.error_code", f.ErrorCode}, {"runs.actor", f.Actor}} {
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if f.Parent != "" {
		add("runs.parent_run = ? AND runs.parent_run <> ''", f.Parent)
		index = "runs_by_parent"
	}
	if f.RelatedTo != "" {
		add("(runs.forked_from = ? OR runs.rerun_of = ?)", f.RelatedTo, f.RelatedTo)
	}
	if f.Version > 0 {
		add("plan_versions.number = ?", f.Version)
	}
	for _, k := range sortedKeys(f.Labels) {
		add("EXISTS (SELECT 1 FROM run_labels WHERE run_labels.key = ? AND run_labels.value = ? AND run_labels.run_id = runs.id)", k, f.Labels[k])
	}
	if f.IDTail != "" {
		tail := strings.ToLower(f.IDTail)
		add("(runs.public_id >= ? AND runs.public_id < ? OR runs.tail >= ? AND runs.tail < ?)", tail, after(tail), reversed(tail), after(reversed(tail)))
	}
	if f.Text != "" {
		add("instr(lower(runs.headline), lower(?)) > 0", f.Text)
	}
	if !f.Since.IsZero() {
		add("CASE WHEN runs.ended_at <> 0 THEN runs.ended_at ELSE runs.created_at END >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add("CASE WHEN runs.ended_at <> 0 THEN runs.ended_at ELSE runs.created_at END <= ?", f.Until.UnixMicro())
	}
	return where, args, index, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Runs lists runs, newest first, by key.
func (s *Store) Runs(ctx context.Context, f kairos.RunFilter) (kairos.List[kairos.Run], error) {
	var list kairos.List[kairos.Run]
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	where, args, index, err := s.runWhere(ctx, f)
	if err != nil {
		return list, err
	}
	if f.WithDeleted {
		index = ""
	}
	limit := pageLimit(f.Page.Limit)
	order, newer := "DESC", false
	switch {
	case f.Page.After != "":
		id, err := openCursor("runs", f.Page.After)
		if err != nil {
			return list, err
		}
		where, args = append(where, "runs.id < ?"), append(args, id)
	case f.Page.Before != "":
		id, err := openCursor("runs", f.Page.Before)
		if err != nil {
			return list, err
		}
		where, args = append(where, "runs.id > ?"), append(args, id)
		order, newer = "ASC", true
	}
	query := "SELECT " + runColumns + " FROM runs"
	if index != "" {
		query += " INDEXED BY " + index
	}
	query += runJoins
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += " ORDER BY runs.id " + order + " LIMIT ?"
	rows, err := s.read.QueryContext(ctx, query, append(args, limit+1)...)
	if err != nil {
		return list, translate(err, "list runs")
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var r dbsqlc.Run
		var d dbsqlc.RunDetail
		var planID, planKey, hash string
		var number int64
		if err := rows.Scan(&r.ID, &r.PublicID, &r.Tail, &r.PlanID, &r.VersionID, &r.Status, &r.WaitReason, &r.Attention, &r.LastSeq, &r.Steps, &r.Path,
			&r.Headline, &r.Node, &r.ErrorCode, &r.Actor, &r.Origin, &r.Priority, &r.RunKey, &r.ConcKey, &r.ParentRun, &r.ForkedFrom, &r.ForkSeq, &r.RerunOf,
			&r.StartAt, &r.DueAt, &r.InputTokens, &r.OutputTokens, &r.Cost, &r.Crashes, &r.Paused, &r.CreatedAt, &r.StartedAt, &r.EndedAt, &r.RunningUs,
			&r.DeletedAt, &r.PurgedAt, &d.ErrorMessage, &d.ErrorNode, &d.Session, &d.Limits, &d.Labels, &d.Parent, &d.Concurrency,
			&planID, &planKey, &number, &hash); err != nil {
			return list, translate(err, "list runs")
		}
		out, err := run(r, d, planID, planKey, number, hash)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, out)
		ids = append(ids, r.ID)
	}
	if err := rows.Err(); err != nil {
		return list, translate(err, "list runs")
	}
	list.Items, list.Next, list.Prev = window(list.Items, ids, limit, newer, f.Page, "runs")
	return list, nil
}

// window cuts a page of limit+1 rows to size and gives the cursors around it.
func window[T any](items []T, ids []int64, limit int, newer bool, p kairos.Page, kind string) (page []T, next, prev string) {
	more := len(items) > limit
	if more {
		items, ids = items[:limit], ids[:limit]
	}
	if newer {
		slices.Reverse(items)
		slices.Reverse(ids)
	}
	if len(items) == 0 {
		return items, "", ""
	}
	first, last := cursor(kind, ids[0]), cursor(kind, ids[len(ids)-1])
	if newer {
		next = last
		if more {
			prev = first
		}
		return items, next, prev
	}
	if more {
		next = last
	}
	if p.After != "" {
		prev = first
	}
	return items, next, prev
}

// RunsCount counts matches up to the cap.
func (s *Store) RunsCount(ctx context.Context, f kairos.RunFilter, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	where, args, _, err := s.runWhere(ctx, f)
	if err != nil {
		return 0, err
	}
	query := "SELECT count(*) FROM (SELECT 1 FROM runs JOIN plan_versions ON plan_versions.id = runs.version_id"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	var n int
	err = s.read.QueryRowContext(ctx, query+" LIMIT ?)", append(args, limit)...).Scan(&n)
	return n, translate(err, "count runs")
}

func pageLimit(n int) int {
	if n <= 0 {
		return 50
	}
	return min(n, 200)
}

var cursorEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// cursor is an opaque position in a list of one kind.
func cursor(kind string, id int64) string {
	text := strconv.FormatInt(id, 10)
	return cursorEncoding.EncodeToString([]byte(text + "." + check(kind, text)))
}

func openCursor(kind, c string) (int64, error) {
	bad := func() error {
		e := kairos.Errorf(kairos.CodeInvalid, "the cursor is not valid here")
		e.Reason = "cursor.invalid"
		return e.Suggest("begin with the first page")
	}
	if len(c) > 128 {
		return 0, bad()
	}
	b, err := cursorEncoding.DecodeString(c)
	if err != nil {
		return 0, bad()
	}
	text, sum, _ := strings.Cut(string(b), ".")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || sum != check(kind, text) {
		return 0, bad()
	}
	return id, nil
}

func check(kind, text string) string {
	h := fnv.New32a()
	h.Write([]byte(kind + ":" + text))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}
