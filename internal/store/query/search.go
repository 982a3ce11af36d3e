package query

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Rows is the maximum number of rows that a request reads without showing them. It limits a search
// that no index serves: the page ends where the search stopped, and its cursor continues there. The
// limit is a number of rows instead of a time, so that the same request on the same data returns
// the same page. BenchmarkSearch measures the cost of a row.
const Rows = 5_000

// keys returns the query for the key after skip rows of an index between low and high, both
// exclusive. It counts rows before any other condition. The query returns at most one row.
type keys func(low, high int64, order string, skip int) (text string, args []any)

// windows are the numbers of rows that the steps of one request read. Most pages are full after the
// first step and need no search for the limit of rows.
func (s *Lists) windows() []int {
	first := max(s.rows/10, 1)
	return []int{first, s.rows - first}
}

// search is a range of rows to read, newest first, or oldest first if newer is true.
type search struct {
	of          keys
	first, last int64
	at          int64 // the starting position
	newer       bool
	ids         int64 // maximum number of row ids to read; 0: no limit
}

// scan calls step for ranges of row ids until step has enough, no rows remain, or the request has
// read its maximum number of rows. In the last case, reached is the last row id; otherwise it is 0.
func (s *Lists) scan(
	ctx context.Context,
	r search,
	step func(ctx context.Context, low, high int64, order string) (bool, error),
) (reached int64, err error) {
	low, high, order := r.first-1, min(r.at, r.last+1), "DESC"
	if r.newer {
		low, high, order = max(r.at, r.first-1), r.last+1, "ASC"
	}
	cut := r.ids > 0 && high-low > r.ids
	if cut && r.newer {
		high = low + r.ids
	} else if cut {
		low = high - r.ids
	}
	for _, rows := range s.windows() {
		end, more, err := s.skip(ctx, r.of, low, high, order, rows)
		if err != nil {
			return 0, err
		}
		from, to := low, high
		switch {
		case more && r.newer:
			to = end
		case more:
			from = end
		}
		if enough, err := step(ctx, from, to, order); err != nil || enough {
			return 0, err
		}
		if r.newer {
			low = to - 1
			reached = low
		} else {
			high = from + 1
			reached = high
		}
		if !more && cut {
			return reached, nil
		} else if !more {
			return 0, nil
		}
	}
	return reached, nil
}

// skip returns the key after n rows. If there are no more rows, ok is false.
func (s *Lists) skip(ctx context.Context, of keys, low, high int64, order string, rows int) (key int64, more bool, err error) {
	text, args := of(low, high, order, rows)
	err = s.db.Read.QueryRowContext(ctx, text, args...).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return key, err == nil, core.Translate(err, "search")
}
