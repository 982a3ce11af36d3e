package query

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

const runColumns = `runs.id, runs.public_id, runs.tail, runs.plan_id, runs.version_id, runs.status, runs.wait_reason,
runs.attention, runs.last_seq,
runs.steps, runs.path, runs.headline, runs.message, runs.node, runs.error_code, runs.actor, runs.origin, runs.priority,
runs.run_key, runs.concurrency_key, runs.parent_run,
runs.forked_from, runs.fork_seq, runs.rerun_of, runs.undoes, runs.start_at, runs.due_at, runs.input_tokens, runs.output_tokens, runs.cost,
runs.crashes, runs.paused,
runs.created_at, runs.started_at, runs.ended_at, runs.running_us, runs.deleted_at, runs.purged_at, runs.fingerprint, runs.schedule,
	runs.slot, runs.profile,
coalesce(run_details.error_message, ''), coalesce(run_details.error_text, ''), coalesce(run_details.error_node, ''),
coalesce(run_details.session, ''),
coalesce(run_details.limits, ''), coalesce(run_details.labels, ''),
coalesce(run_details.given_labels, ''), run_details.parent, run_details.concurrency,
plans.public_id, plans.key, plan_versions.number, plan_versions.hash`

// Lists also contain runs without details, and mark them.
const runJoins = ` LEFT JOIN run_details ON run_details.run_id = runs.id JOIN plans ON plans.id = runs.plan_id JOIN ` +
	`plan_versions ON plan_versions.id = runs.version_id`

const (
	// clockSlack is the largest backward change of the clock that the search by time tolerates.
	clockSlack = time.Hour
	// listDeadline is the maximum duration of a list query.
	listDeadline = 2 * time.Second
)

// Runs lists runs, newest first, paged by key. If no index serves the filter, a page contains the
// matches among the Rows that a request reads. Next continues from there, even if the page is
// short.
func (s *Lists) Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error) {
	var list domain.List[domain.Run]
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	kind := "runs:" + core.FilterDigest(f)
	at, newer, err := core.Position(kind, f.Page)
	if err != nil {
		return list, err
	}
	q, err := s.runQuery(ctx, f)
	if err != nil || q.none {
		return list, err
	}
	limit := core.PageLimit(f.Page.Limit)
	var found []core.Numbered[domain.Run]
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return list, core.Translate(err, "list runs")
	}
	if q.below > 0 {
		last = min(last, q.below-1)
	}
	reached, err := s.scan(ctx, q.search(s, last, at, newer), func(ctx context.Context, low, high int64, order string) (bool, error) {
		text, args := q.text(runColumns, runJoins, low, high, order, limit+1-len(found))
		rows, err := s.db.Read.QueryContext(ctx, text, args...)
		if err != nil {
			return false, err
		}
		err = gather(rows, &found, scanRun)
		return len(found) > limit, err
	})
	if err != nil {
		return list, core.Translate(err, "list runs")
	}
	list.Items, list.Next, list.Prev = core.Window(found, limit, newer, f.Page, kind)
	if reached > 0 { // the search ended at the limit of rows
		if newer {
			list.Prev = core.Cursor(kind, reached)
		} else {
			list.Next = core.Cursor(kind, reached)
		}
		_, at, err := s.runFrom(ctx, reached)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return list, core.Translate(err, "list runs")
		}
		list.Stopped = core.FromMicros(at)
	}
	return list, nil
}

// gather appends all rows to into, or none if a row cannot be read.
func gather[T any](rows *sql.Rows, into *[]T, read func(*sql.Rows) (T, error)) error {
	defer rows.Close()
	all := *into
	for rows.Next() {
		item, err := read(rows)
		if err != nil {
			return err
		}
		all = append(all, item)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	*into = all
	return nil
}

// scanRun reads a row with runColumns.
func scanRun(rows *sql.Rows) (core.Numbered[domain.Run], error) {
	var r dbsqlc.Run
	var d dbsqlc.RunDetail
	var planID, planKey, hash string
	var number int64
	if err := rows.Scan(&r.ID, &r.PublicID, &r.Tail, &r.PlanID, &r.VersionID, &r.Status, &r.WaitReason, &r.Attention, &r.LastSeq,
		&r.Steps, &r.Path,
		&r.Headline, &r.Message, &r.Node, &r.ErrorCode, &r.Actor, &r.Origin, &r.Priority, &r.RunKey, &r.ConcurrencyKey, &r.ParentRun,
		&r.ForkedFrom, &r.ForkSeq, &r.RerunOf, &r.Undoes,
		&r.StartAt, &r.DueAt, &r.InputTokens, &r.OutputTokens, &r.Cost, &r.Crashes, &r.Paused, &r.CreatedAt, &r.StartedAt,
		&r.EndedAt, &r.RunningUs,
		&r.DeletedAt, &r.PurgedAt, &r.Fingerprint, &r.Schedule, &r.Slot, &r.Profile,
		&d.ErrorMessage, &d.ErrorText, &d.ErrorNode, &d.Session, &d.Limits, &d.Labels,
		&d.GivenLabels,
		&d.Parent, &d.Concurrency,
		&planID, &planKey, &number, &hash); err != nil {
		return core.Numbered[domain.Run]{}, err
	}
	return core.Numbered[domain.Run]{ID: r.ID, Item: core.Run(&r, &d, planID, planKey, number, hash)}, nil
}

func (s *Lists) runFrom(ctx context.Context, id int64) (int64, int64, error) {
	r, err := s.db.Q.RunFrom(ctx, id)
	return r.ID, r.CreatedAt, err
}
