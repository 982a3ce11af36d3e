package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// arm reads one index in the order of run ids.
type arm struct {
	from  string // with its INDEXED BY clause
	where string // the conditions that the index covers
	args  []any
	id    string // the column that orders the rows; empty: runs.id
	join  string // joins runs if from is another table
	// also is a condition that is checked for each row of the index.
	also     string
	alsoArgs []any
}

// runQuery is a filter in SQL.
type runQuery struct {
	arms []arm
	// where contains the conditions that are checked row by row.
	where []string
	args  []any
	// scan is true if the conditions in where may reject rows of the arms.
	scan bool
	// listed leaves out dry runs and runs of blocks.
	listed bool
	none   bool // nothing can match
	// byReason is true if the arms cover the wait reasons, and byWords if they cover the searched
	// words.
	byReason, byWords bool
	phrase            bool // the arms cover several words
	// below is an exclusive upper bound of the ids of all matches; 0 means unknown.
	below int64
}

func (q *runQuery) also(clause string, args ...any) {
	q.where = append(q.where, clause)
	q.args = append(q.args, args...)
	q.scan = true
}

// text returns the query for the runs with low < id < high, in the given order.
func (q *runQuery) text(columns, joins string, low, high int64, order string, limit int) (string, []any) {
	var b strings.Builder
	var args []any
	for i, a := range q.arms {
		b.WriteString(a.begin(i, columns, a.join+joins) + a.also)
		args = slices.Concat(args, a.args, []any{low, high}, a.alsoArgs)
		for _, clause := range q.where {
			b.WriteString(" AND " + clause)
		}
		args = append(args, q.args...)
	}
	b.WriteString(q.inOrder(order) + " LIMIT ?")
	return b.String(), append(args, limit)
}

// phraseIDs is the number of row ids that a search for several words reads for each row of a
// request. The index reads all positions of each word, even if the words are not next to each
// other.
const phraseIDs = 50

func (q *runQuery) search(s *Lists, last, at int64, newer bool) search {
	r := search{of: q.keys, first: 1, last: last, at: at, newer: newer}
	if q.phrase {
		r.ids = int64(s.rows) * phraseIDs
	}
	return r
}

func (q *runQuery) keys(low, high int64, order string, skip int) (string, []any) {
	var b strings.Builder
	var args []any
	for i, a := range q.arms {
		b.WriteString(a.begin(i, "runs.id", ""))
		args = append(append(args, a.args...), low, high)
	}
	b.WriteString(q.inOrder(order) + " LIMIT 1 OFFSET ?")
	return b.String(), append(args, skip)
}

// begin returns the query of an arm with the conditions that its index covers.
func (a *arm) begin(i int, columns, joins string) string {
	union, id := "", cmp.Or(a.id, "runs.id")
	if i > 0 {
		union = " UNION ALL "
	}
	return union + "SELECT " + strings.Replace(
		columns,
		"runs.id",
		id,
		1,
	) + " FROM " + a.from + joins + " WHERE " + a.where + " AND " + id + " > ? AND " + id + " < ?"
}

func (q *runQuery) inOrder(order string) string {
	if len(q.arms) == 1 {
		return " ORDER BY " + cmp.Or(q.arms[0].id, "runs.id") + " " + order
	}
	return " ORDER BY 1 " + order
}

func values[T ~string | ~int64](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		switch v := any(v).(type) {
		case int64:
			out[i] = v
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return out
}
