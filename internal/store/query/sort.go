package query

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

const (
	// sortRuns and sortWindow bound what a list that is not in the order of age
	// looks at.
	sortRuns   = 100_000
	sortWindow = 7 * 24 * time.Hour
)

// sortKeys are what a list may be sorted by besides age, as SQL.
var sortKeys = map[domain.RunSort]string{
	domain.SortTook:  "(CASE WHEN runs.ended_at <> 0 THEN runs.ended_at ELSE CAST(unixepoch('subsec') * 1000000 AS INTEGER) END - runs.created_at)",
	domain.SortCost:  "CAST(runs.cost * 1000000 AS INTEGER)",
	domain.SortEnded: "runs.ended_at",
}

// SortedRuns lists the runs with the most of something, among the newest that
// match: of a week, at most 100,000, and as far as 20 ms lead. seen says how far.
func (s *Lists) SortedRuns(ctx context.Context, f domain.RunFilter, by domain.RunSort) (runs []domain.Run, seen domain.SortWindow, err error) {
	key := sortKeys[by]
	if key == "" {
		return nil, seen, domain.Errorf(domain.CodeInvalid, "runs cannot be sorted by %q", by).Suggest("by took, cost or ended")
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
	first = max(first, last-sortRuns+1)
	limit := core.PageLimit(f.Page.Limit)
	type found struct{ id, key int64 }
	var top []found
	low, p := last+1, newSearch(scanWindow, 2, s.bounds)
	for low > first && !p.over() {
		from := max(first, low-p.size)
		var rows [][2]int64
		done, err := p.step(ctx, func(ctx context.Context) (err error) {
			rows, err = s.topOf(ctx, q, key, from-1, low, limit)
			return err
		})
		if err != nil {
			return nil, seen, err
		}
		if !done {
			continue
		}
		low = from
		for _, r := range rows {
			top = append(top, found{r[0], r[1]})
		}
		slices.SortFunc(top, func(a, b found) int { return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(b.id, a.id)) })
		top = top[:min(len(top), limit)]
	}
	seen = domain.SortWindow{Runs: last - low + 1, Whole: low <= 1}
	if last > 0 {
		_, at, err := s.runFrom(ctx, low)
		if err != nil {
			return nil, seen, core.Translate(err, "sort runs")
		}
		seen.Since = core.FromMicros(at)
	}
	if len(top) == 0 {
		return nil, seen, nil
	}
	ids := make([]int64, len(top))
	for i, t := range top {
		ids[i] = t.id
	}
	rows, err := s.db.Read.QueryContext(ctx, "SELECT "+runColumns+" FROM runs"+runJoins+" WHERE runs.id IN ("+core.Marks(len(ids))+")", values(ids)...)
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

// topOf gives id and key of the runs with the highest keys in a range of rows.
func (s *Lists) topOf(ctx context.Context, q *runQuery, key string, low, high int64, limit int) (out [][2]int64, err error) {
	text, args := q.text("runs.id AS id, "+key+" AS k", "", low, high, "DESC", math.MaxInt32)
	rows, err := s.db.Read.QueryContext(ctx, "SELECT id, k FROM ("+text+") ORDER BY k DESC, id DESC LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, core.Translate(err, "sort runs")
	}
	defer rows.Close()
	for rows.Next() {
		var r [2]int64
		if err := rows.Scan(&r[0], &r[1]); err != nil {
			return nil, core.Translate(err, "sort runs")
		}
		out = append(out, r)
	}
	return out, core.Translate(rows.Err(), "sort runs")
}
