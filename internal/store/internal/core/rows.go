package core

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// RowID returns the row id of a run. Row ids never change, so they are cached.
func (d *DB) RowID(ctx context.Context, runID string) (int64, error) {
	if runID == "" {
		return 0, nil
	}
	if id, ok := d.rowIDs.Load(runID); ok {
		return id.(int64), nil
	}
	row, err := d.Q.RunRowID(ctx, runID)
	if err != nil {
		return 0, Translate(err, "find run "+runID)
	}
	d.rowIDs.Store(runID, row.ID)
	return row.ID, nil
}

// PlanRow finds a plan by key or id. If it does not exist, the error is CodeNotFound.
func (d *DB) PlanRow(ctx context.Context, idOrKey string) (dbsqlc.Plan, error) {
	return PlanRow(ctx, d.Q, idOrKey)
}

// PlanRow is [DB.PlanRow] with other queries, such as those of a transaction.
func PlanRow(ctx context.Context, q *dbsqlc.Queries, idOrKey string) (dbsqlc.Plan, error) {
	p, err := q.PlanNamed(ctx, idOrKey)
	if errors.Is(err, sql.ErrNoRows) {
		return dbsqlc.Plan{}, domain.Errorf(domain.CodeNotFound, "plan %q not found", idOrKey)
	}
	return p, Translate(err, "read plan")
}

// RunsByPart finds the rows of runs whose id begins or ends with part.
func (d *DB) RunsByPart(ctx context.Context, part string) ([]int64, error) {
	if strings.Trim(part, "0123456789abcdefghjkmnpqrstvwxyz") != "" {
		return nil, nil
	}
	tails, err := d.Q.RunRowsByTail(ctx, Reversed(part), After(Reversed(part)))
	if err != nil {
		return nil, Translate(err, "find runs")
	}
	prefixes, err := d.Q.RunRowsByPrefix(ctx, part, After(part))
	if err != nil {
		return nil, Translate(err, "find runs")
	}
	ids := append(tails, prefixes...)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Remember caches the row id of a run.
func (d *DB) Remember(runID string, row int64) { d.rowIDs.Store(runID, row) }

// Forget removes a run from the cache.
func (d *DB) Forget(runID string) { d.rowIDs.Delete(runID) }

// After returns the least text that is greater than every text with the prefix s.
func After(s string) string {
	return s[:len(s)-1] + string(s[len(s)-1]+1)
}

// AuditFrom returns the number and time (µs) of the first audit event whose number is at least seq.
func (d *DB) AuditFrom(ctx context.Context, seq int64) (int64, int64, error) {
	e, err := d.Q.AuditFrom(ctx, seq)
	return e.Seq, e.At, err
}

// FirstAfter returns the first row, up to last, that is later than t. The rows are numbered in the
// order of time; from returns number and time (µs) of the first row with at least a number. The
// search starts at the newest row, so that a wrong clock long ago does not matter.
func FirstAfter(
	ctx context.Context,
	from func(ctx context.Context, number int64) (first, at int64, err error),
	t time.Time,
	last int64,
) (int64, error) {
	later := func(n int64) (bool, error) {
		_, at, err := from(ctx, n)
		if errors.Is(err, sql.ErrNoRows) {
			return true, nil
		}
		return at > t.UnixMicro(), err
	}
	low, high := int64(1), last+1 // high is later than t, or beyond the last row
	for stride := int64(1); high-stride >= 1; stride *= 4 {
		ok, err := later(high - stride)
		if err != nil {
			return 0, err
		}
		if !ok {
			low = high - stride + 1
			break
		}
		high -= stride
	}
	for low < high {
		middle := low + (high-low)/2
		ok, err := later(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}
