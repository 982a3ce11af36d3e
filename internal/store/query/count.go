package query

import (
	"context"
	"math"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// RunsCount counts matches up to a limit. If no index serves the filter, it counts among the Rows
// that a request reads, and whole is false if there may be more.
func (s *Lists) RunsCount(ctx context.Context, f domain.RunFilter, limit int) (n int, whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	if onlyEnded(f) {
		n, err := s.endedSince(ctx, f, limit)
		return n, true, err
	}
	q, err := s.runQuery(ctx, f)
	if err != nil || q.none {
		return 0, true, err
	}
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return 0, false, core.Translate(err, "count runs")
	}
	if q.below > 0 {
		last = min(last, q.below-1)
	}
	if q.listed && !q.scan && len(q.where) == 1 && !slices.ContainsFunc(q.arms, func(a arm) bool { return a.id != "" }) {
		n, err := s.countByIndex(ctx, q, last, limit)
		return n, true, err
	}
	reached, err := s.scan(
		ctx,
		q.search(s, last, math.MaxInt64, false),
		func(ctx context.Context, low, high int64, order string) (bool, error) {
			text, args := q.text("runs.id", "", low, high, order, limit-n)
			var found int
			if err := s.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM ("+text+")", args...).Scan(&found); err != nil {
				return false, err
			}
			n += found
			return n >= limit, nil
		},
	)
	return n, reached == 0, core.Translate(err, "count runs")
}

// countByIndex counts runs that an index alone identifies, and subtracts those that lists leave out. Reading
// the row of every run would take too long.
func (s *Lists) countByIndex(ctx context.Context, q *runQuery, last int64, limit int) (int, error) {
	count := func(q runQuery, limit int) (n int, err error) {
		text, args := q.text("runs.id", "", 0, last+1, "DESC", limit)
		err = s.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM ("+text+")", args...).Scan(&n)
		return n, core.Translate(err, "count runs")
	}
	all := *q
	all.where = nil
	without, err := count(q.onlyUnlisted(), math.MaxInt32)
	if err != nil {
		return 0, err
	}
	n, err := count(all, limit+without)
	return max(n-without, 0), err
}

// onlyUnlisted returns the same query restricted to runs that lists leave out.
func (q *runQuery) onlyUnlisted() runQuery {
	rest := *q
	rest.where, rest.arms = nil, slices.Clone(q.arms)
	for i := range rest.arms {
		rest.arms[i].from = "runs INDEXED BY runs_unlisted"
		rest.arms[i].where += " AND " + unlisted
	}
	return rest
}

// onlyEnded reports whether a filter selects only by final status and a start of the period. An
// index by end time counts such runs.
func onlyEnded(f domain.RunFilter) bool {
	if len(f.Statuses) == 0 || f.Since.IsZero() || !f.Until.IsZero() ||
		slices.ContainsFunc(f.Statuses, func(s domain.RunStatus) bool { return !s.Final() }) {
		return false
	}
	f.Statuses = nil
	return core.FilterDigest(f) == core.FilterDigest(domain.RunFilter{})
}

func (s *Lists) endedSince(ctx context.Context, f domain.RunFilter, limit int) (int, error) {
	n := int64(0)
	for _, status := range slices.Compact(slices.Sorted(slices.Values(f.Statuses))) {
		more, err := s.db.Q.RunEndedSince(ctx, string(status), f.Since.UnixMicro(), int64(limit)-n)
		if err != nil {
			return 0, core.Translate(err, "count runs")
		}
		n += more
	}
	return int(n), nil
}
