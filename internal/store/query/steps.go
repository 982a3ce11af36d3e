package query

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// The journal is ordered by time and indexed by run. Steps across runs are therefore read run by
// run, newest run first, within the Rows of a request. Only failed attempts have an index of their
// own.

const (
	// flowRuns is the maximum number of runs in a PlanFlow.
	flowRuns = 500
	// hitsPerNode is the number of failures and slow attempts that a node shows.
	hitsPerNode = 5
)

// stepQuery is a filter of steps in SQL: the runs of an index, and the conditions that each run is
// checked against.
type stepQuery struct {
	from, key string
	keyArgs   []any
	where     string
	whereArgs []any
	none      bool
}

func (q *stepQuery) also(clause string, args ...any) {
	q.where += " AND " + clause
	q.whereArgs = append(q.whereArgs, args...)
}

func (s *Lists) stepQuery(ctx context.Context, f domain.StepFilter) (*stepQuery, error) {
	q := &stepQuery{from: "runs INDEXED BY runs_by_age", key: "runs.deleted_at = 0", where: notDry}
	if f.PlanKey != "" {
		p, err := s.db.PlanRow(ctx, f.PlanKey)
		if domain.CodeOf(err) == domain.CodeNotFound {
			q.none = true
			return q, nil
		} else if err != nil {
			return nil, err
		}
		q.from = "runs INDEXED BY runs_by_plan"
		q.key, q.keyArgs = q.key+" AND runs.plan_id = ?", []any{p.ID}
		if f.Version > 0 {
			v, err := s.db.Q.VersionByNumber(ctx, p.PublicID, int64(f.Version))
			if errors.Is(err, sql.ErrNoRows) {
				q.none = true
				return q, nil
			} else if err != nil {
				return nil, core.Translate(err, "find plan version")
			}
			q.also("runs.version_id = ?", v.PlanVersion.ID)
		}
	}
	return q, nil
}

// stepAt is a position in the journals of all runs: before row seq of a run.
type stepAt struct{ run, seq int64 }

// stepsBefore returns the position at which a search has read a number of rows: runs down to low,
// and the journal rows of matching runs. whole is true if there are no more rows. visit receives
// the matching runs, and returns false to end the search before the next one.
func (s *Lists) stepsBefore(
	ctx context.Context,
	q *stepQuery,
	low int64,
	at stepAt,
	rows int64,
	visit func(run int64) bool,
) (end stepAt, whole bool, err error) {
	text, args := q.runs(low, at.run, rows)
	list, err := s.db.Read.QueryContext(ctx, text, args...)
	if err != nil {
		return at, false, err
	}
	defer list.Close()
	for end = at; rows > 0; rows-- {
		if !list.Next() {
			return stepAt{low, 0}, true, list.Err()
		}
		var run, last int64
		var matches bool
		if err := list.Scan(&run, &last, &matches); err != nil {
			return at, false, err
		}
		if !matches {
			end = stepAt{run, 0}
			continue
		}
		if !visit(run) {
			return end, false, nil
		}
		if run == at.run {
			last = min(last, at.seq-1)
		}
		if last >= rows {
			return stepAt{run, last - rows + 1}, false, nil
		}
		rows -= max(last, 0)
		end = stepAt{run, 0}
	}
	return end, false, nil
}

// runs returns the query for runs with their last journal row, and whether they match.
func (q *stepQuery) runs(low, high, limit int64) (string, []any) {
	return "SELECT runs.id, runs.last_seq, " + q.where + " FROM " + q.from + " WHERE " + q.key + " AND runs.id >= ? AND " +
			"runs.id <= ? ORDER BY runs.id DESC LIMIT ?",
		slices.Concat(
			q.whereArgs,
			q.keyArgs,
			[]any{low, high, limit},
		)
}

const failuresSQL = "SELECT s.run_id, s.seq FROM step_results AS s INDEXED BY step_results_that_failed WHERE s.status = " +
	"'failed' AND s.run_id >= ? AND " +
	"(s.run_id, s.seq) < (?, ?) ORDER BY s.run_id DESC, s.seq DESC LIMIT 1 OFFSET ?"

// failuresBefore is stepsBefore for the index of failed attempts.
func (s *Lists) failuresBefore(ctx context.Context, low int64, at stepAt, rows int64) (end stepAt, whole bool, err error) {
	err = s.db.Read.QueryRowContext(ctx, failuresSQL, low, at.run, at.seq, rows-1).Scan(&end.run, &end.seq)
	if errors.Is(err, sql.ErrNoRows) {
		return stepAt{low, 0}, true, nil
	}
	return end, false, err
}

// stepRowFilter is the condition that each attempt is checked against.
type stepRowFilter struct {
	where string
	args  []any
}

// build builds the condition for a filter. It excludes the rows that a fork copied from its origin.
func (f *stepRowFilter) build(filter domain.StepFilter) {
	f.where = "s.kind = 'result' AND s.at >= runs.created_at"
	add := func(clause string, args ...any) {
		f.where += " AND " + clause
		f.args = append(f.args, args...)
	}
	if len(filter.Nodes) > 0 {
		add("s.node IN ("+core.Marks(len(filter.Nodes))+")", values(filter.Nodes)...)
	}
	if len(filter.Statuses) > 0 {
		add("s.status IN ("+core.Marks(len(filter.Statuses))+")", values(filter.Statuses)...)
	}
	if len(filter.ErrorCodes) > 0 {
		add(
			"CASE WHEN s.failure LIKE '{%' THEN json_extract(s.failure, '$.code') END IN ("+core.Marks(len(filter.ErrorCodes))+")",
			values(filter.ErrorCodes)...)
	}
	const took = "CASE WHEN s.started_at <> 0 THEN s.at - s.started_at ELSE 0 END"
	if filter.MinTook > 0 {
		add(took+" > ?", filter.MinTook.Microseconds())
	}
	if filter.MaxTook > 0 {
		add(took+" < ?", filter.MaxTook.Microseconds())
	}
	if filter.MinAttempt > 0 {
		add("s.attempt > ?", filter.MinAttempt)
	}
}

// onlyFailed reports whether a filter matches only failed attempts.
func onlyFailed(f domain.StepFilter) bool {
	return len(f.Statuses) == 1 && f.Statuses[0] == domain.NodeFailed || len(f.Statuses) == 0 && len(f.ErrorCodes) > 0
}

const hitColumns = `runs.id, runs.public_id, runs.version_id, runs.plan_id, s.seq, s.node, s.visit, s.item, s.attempt,
s.status, s.started_at, s.at,
CASE WHEN s.status <> 'completed' THEN s.failure END`

// stepHit is a hit and the row ids of its run, plan, and version.
type stepHit struct {
	hit                domain.StepHit
	row, plan, version int64
}

// Steps finds attempts of steps across runs, newest run first. It reads the Rows of a request, and
// reports how far it read.
func (s *Lists) Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error) {
	var out domain.StepHits
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	at, err := openStepCursor(f.Page.After)
	if err != nil {
		return out, err
	}
	q, err := s.stepQuery(ctx, f)
	if err != nil || q.none {
		out.Whole = true
		return out, err
	}
	low, high, err := s.stepWindow(ctx, f.Since, f.Until)
	if err != nil {
		return out, err
	}
	if at.run >= high {
		at = stepAt{high - 1, math.MaxInt64}
	}
	limit := core.PageLimit(f.Page.Limit)
	windows := s.windows()
	if f.Slowest {
		windows = []int{s.rows}
	}
	var hits []stepHit
	whole := at.run < low
	for _, rows := range windows {
		if whole || len(hits) > limit {
			break
		}
		var end stepAt
		if onlyFailed(f) {
			end, whole, err = s.failuresBefore(ctx, low, at, int64(rows))
		} else {
			end, whole, err = s.stepsBefore(ctx, q, low, at, int64(rows), func(int64) bool { return true })
		}
		if err == nil {
			err = s.stepsBetween(ctx, q, f, end, at, limit+1-len(hits), &hits)
		}
		if err != nil {
			return out, core.Translate(err, "search steps")
		}
		at = end
	}
	if len(hits) > limit {
		hits = hits[:limit]
		last := hits[limit-1]
		at, whole = stepAt{last.row, last.hit.Seq}, false
	}
	if !whole && !f.Slowest {
		out.Next = at.cursor()
	}
	names := planNames{s: s}
	for _, h := range hits {
		if h.hit.PlanKey, h.hit.Version, err = names.of(ctx, h.plan, h.version); err != nil {
			return out, core.Translate(err, "search steps")
		}
		out.Items = append(out.Items, h.hit)
	}
	out.Whole = whole && f.Page.After == ""
	if _, since, err := s.runFrom(ctx, at.run); err == nil {
		out.Since = core.FromMicros(since)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return out, core.Translate(err, "search steps")
	}
	return out, nil
}

const stepCursor = "steps"

func (a stepAt) cursor() string {
	return core.Cursor(stepCursor, a.run) + "-" + core.Cursor(stepCursor, a.seq)
}

// openStepCursor parses the position before which a page begins. If the cursor is invalid, the
// error is CodeInvalid.
func openStepCursor(c string) (at stepAt, err error) {
	if c == "" {
		return stepAt{math.MaxInt64, math.MaxInt64}, nil
	}
	run, seq, ok := strings.Cut(c, "-")
	if !ok {
		return at, core.BadCursor()
	}
	if at.run, err = core.OpenCursor(stepCursor, run); err == nil {
		at.seq, err = core.OpenCursor(stepCursor, seq)
	}
	return at, err
}

// stepsBetween appends the attempts from one position up to another: newest run first, or slowest
// first.
func (s *Lists) stepsBetween(ctx context.Context, q *stepQuery, f domain.StepFilter, from, to stepAt, limit int, into *[]stepHit) error {
	text, args := q.between(f, from, to, limit)
	return s.eachHit(ctx, text, args, func(row, versionID, planID int64, h domain.StepHit) {
		*into = append(*into, stepHit{h, row, planID, versionID})
	})
}

func (q *stepQuery) between(f domain.StepFilter, from, to stepAt, limit int) (string, []any) {
	var match stepRowFilter
	match.build(f)
	text, order := q.from+" CROSS JOIN step_results AS s ON s.run_id = runs.id WHERE runs.id >= ? AND runs.id <= ? AND "+
		"s.seq >= CASE runs.id WHEN ? THEN ? ELSE 0 END AND s.seq < CASE runs.id WHEN ? THEN ? ELSE 9223372036854775807 END",
		"runs.id DESC, s.seq DESC"
	args := []any{from.run, to.run, from.run, from.seq, to.run, to.seq}
	if onlyFailed(f) {
		text, order = "step_results AS s INDEXED BY step_results_that_failed CROSS JOIN runs ON runs.id = s.run_id WHERE "+
			"s.status = 'failed' AND "+
			"(s.run_id, s.seq) >= (?, ?) AND (s.run_id, s.seq) < (?, ?)", "s.run_id DESC, s.seq DESC"
		args = []any{from.run, from.seq, to.run, to.seq}
	}
	if f.Slowest {
		order, limit = "CASE WHEN s.started_at <> 0 THEN s.at - s.started_at ELSE 0 END DESC", limit-1
	}
	text = "SELECT " + hitColumns + " FROM " + text + " AND " + q.key + " AND " + q.where + " AND " + match.where + " ORDER BY " +
		order + " LIMIT ?"
	return text, slices.Concat(args, q.keyArgs, q.whereArgs, match.args, []any{limit})
}

// stepWindow returns the row ids of the runs that were created in a period: from low, below high.
func (s *Lists) stepWindow(ctx context.Context, since, until time.Time) (low, high int64, err error) {
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return 0, 0, core.Translate(err, "search steps")
	}
	low, high = 1, last+1
	if !until.IsZero() {
		if high, err = core.FirstAfter(ctx, s.runFrom, until, last); err != nil {
			return 0, 0, core.Translate(err, "search steps")
		}
	}
	if !since.IsZero() {
		if low, err = core.FirstAfter(ctx, s.runFrom, since.Add(-time.Microsecond), last); err != nil {
			return 0, 0, core.Translate(err, "search steps")
		}
	}
	return low, high, nil
}

// eachHit calls do for each row with hitColumns.
func (s *Lists) eachHit(ctx context.Context, text string, args []any, do func(row, version, plan int64, h domain.StepHit)) error {
	rows, err := s.db.Read.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var h domain.StepHit
		var row, version, plan, started, at int64
		var status string
		var failure *string
		if err := rows.Scan(&row, &h.Run, &version, &plan, &h.Seq, &h.Node, &h.Visit, &h.Item, &h.Attempt, &status, &started, &at,
			&failure); err != nil {
			return err
		}
		h.Status, h.StartedAt, h.At = domain.NodeStatus(status), core.FromMicros(started), core.FromMicros(at)
		h.Code, h.Message = failureOf(failure)
		do(row, version, plan, h)
	}
	return rows.Err()
}

// failureOf returns code and message of a stored failure.
func failureOf(text *string) (code, message string) {
	var f struct{ Code, Message string }
	if text == nil || json.Unmarshal([]byte(*text), &f) != nil { // a large failure is not stored in the row
		return "", ""
	}
	return f.Code, f.Message
}
