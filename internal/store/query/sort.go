package query

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// sortWindow is the maximum age of the runs in a list that is not sorted by age.
const sortWindow = 7 * 24 * time.Hour

// sortKeys are the sort keys besides age, in SQL. Runs that have not ended count as the longest,
// oldest first, so that the order does not depend on the clock.
var sortKeys = map[domain.RunSort]string{
	domain.SortTook:  "(CASE WHEN runs.ended_at <> 0 THEN runs.ended_at ELSE 9223372036854775807 END - runs.created_at)",
	domain.SortCost:  "CAST(runs.cost * 1000000 AS INTEGER)",
	domain.SortEnded: "runs.ended_at",
}

// SortedRuns lists the runs with the highest values among the newest matches: of one week, within
// the Rows of a request. seen reports how far it read.
func (s *Lists) SortedRuns(
	ctx context.Context,
	f domain.RunFilter,
	by domain.RunSort,
) (runs []domain.Run, seen domain.SortWindow, err error) {
	key := sortKeys[by]
	if key == "" {
		return nil, seen, domain.Errorf(domain.CodeInvalid, "cannot sort runs by %q", by).Suggest("use took, cost, or ended")
	}
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	q, err := s.runQuery(ctx, f)
	if err != nil || q.none {
		return nil, seen, err
	}
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return nil, seen, core.Translate(err, "sort runs")
	}
	if q.below > 0 {
		last = min(last, q.below-1)
	}
	first, err := core.FirstAfter(ctx, s.runFrom, s.db.Now().Add(-sortWindow), last)
	if err != nil {
		return nil, seen, core.Translate(err, "sort runs")
	}
	low, more, err := s.skip(ctx, q.keys, first-1, last+1, "DESC", s.rows)
	if err != nil {
		return nil, seen, err
	}
	if low++; !more {
		low = first
	}
	ids, err := s.topOf(ctx, q, key, low-1, last+1, core.PageLimit(f.Page.Limit))
	if err != nil {
		return nil, seen, err
	}
	seen = domain.SortWindow{Runs: last - low + 1, Whole: low <= 1}
	_, at, err := s.runFrom(ctx, low)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, seen, core.Translate(err, "sort runs")
	}
	seen.Since = core.FromMicros(at)
	if len(ids) == 0 {
		return nil, seen, nil
	}
	rows, err := s.db.Read.QueryContext(
		ctx,
		"SELECT "+runColumns+" FROM runs"+runJoins+" WHERE runs.id IN ("+core.Marks(len(ids))+")",
		values(ids)...)
	if err != nil {
		return nil, seen, core.Translate(err, "sort runs")
	}
	defer rows.Close()
	byID := map[int64]domain.Run{}
	for rows.Next() {
		r, err := scanRun(rows)
		if err != nil {
			return nil, seen, err
		}
		byID[r.ID] = r.Item
	}
	for _, id := range ids {
		if r, ok := byID[id]; ok {
			runs = append(runs, r)
		}
	}
	return runs, seen, core.Translate(rows.Err(), "sort runs")
}

// topOf returns the runs with the highest keys in a range of rows.
func (s *Lists) topOf(ctx context.Context, q *runQuery, key string, low, high int64, limit int) (ids []int64, err error) {
	text, args := q.text("runs.id AS id, "+key+" AS k", "", low, high, "DESC", math.MaxInt32)
	rows, err := s.db.Read.QueryContext(ctx, "SELECT id FROM ("+text+") ORDER BY k DESC, id DESC LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, core.Translate(err, "sort runs")
	}
	return ids, core.Translate(gather(rows, &ids, scanID), "sort runs")
}
