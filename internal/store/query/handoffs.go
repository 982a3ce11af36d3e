package query

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// handoffSQL selects handoffs with their status: that of the receiver's answer, or, without an
// answer, the final status of the step.
const handoffSQL = `SELECT h.id, h.public_id, h.run, h.seq, h.from_agent, h.to_agent, h.node, h.reason, h.context, h.at,
h.plan, h.status FROM (
SELECT handoffs.*, runs.public_id AS run, plans.key AS plan, CASE
WHEN EXISTS (SELECT 1 FROM messages AS m WHERE m.run_id = handoffs.run_id
AND m.correlation = handoffs.public_id || ':request' AND m.type = 'response') THEN 'returned'
WHEN EXISTS (SELECT 1 FROM messages AS m WHERE m.run_id = handoffs.run_id
AND m.correlation = handoffs.public_id || ':request' AND m.type = 'error') THEN 'failed'
ELSE coalesce((SELECT CASE s.status WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed' ELSE 'returned' END FROM step_results AS s
  WHERE s.run_id = handoffs.run_id AND s.seq > handoffs.seq AND s.node = handoffs.node AND s.final = 1 ORDER BY s.seq LIMIT 1),
  CASE WHEN runs.ended_at = 0 THEN 'open' ELSE 'failed' END) END AS status
FROM handoffs`

// handoffMax limits the handoffs in a list of one run.
const handoffMax = 2000

// HandoffsOf lists handoffs of all runs, newest first. Limit is at most 2,000. If no index serves
// the filter, a page holds the matches among the Rows that a request reads. Next continues from
// there.
func (s *Lists) HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error) {
	var list domain.List[domain.HandoffSummary]
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	at, newer, err := core.Position("handoffs", f.Page)
	if err != nil {
		return list, err
	}
	last, err := s.db.Q.HandoffLast(ctx)
	if err != nil {
		return list, core.Translate(err, "list handoffs")
	}
	first := int64(1)
	if !f.Since.IsZero() {
		if first, err = core.FirstAfter(ctx, s.handoffFrom, f.Since, last); err != nil {
			return list, core.Translate(err, "list handoffs")
		}
	}
	if !f.Until.IsZero() {
		after, err := core.FirstAfter(ctx, s.handoffFrom, f.Until, last)
		if err != nil {
			return list, core.Translate(err, "list handoffs")
		}
		last = min(last, after-1)
	}
	limit := core.PageLimit(f.Page.Limit)
	if f.Page.Limit > limit {
		limit = min(f.Page.Limit, handoffMax)
	}
	text, args := handoffQuery(f)
	var found []core.Numbered[domain.HandoffSummary]
	reached, err := s.scan(
		ctx,
		search{of: handoffKeys(f), first: first, last: last, at: at, newer: newer},
		func(ctx context.Context, low, high int64, order string) (bool, error) {
			rows, err := s.db.Read.QueryContext(
				ctx,
				text+" ORDER BY h.id "+order+" LIMIT ?",
				append(append([]any{low, high}, args...), limit+1-len(found))...)
			if err != nil {
				return false, err
			}
			err = gather(rows, &found, func(rows *sql.Rows) (core.Numbered[domain.HandoffSummary], error) { return readHandoff(rows) })
			return len(found) > limit, err
		},
	)
	if err != nil {
		return list, core.Translate(err, "list handoffs")
	}
	list.Items, list.Next, list.Prev = core.Window(found, limit, newer, f.Page, "handoffs")
	if reached > 0 {
		if newer {
			list.Prev = core.Cursor("handoffs", reached)
		} else {
			list.Next = core.Cursor("handoffs", reached)
		}
	}
	return list, nil
}

// oneHandoffSQL and likeHandoffsSQL find handoffs by id.
const (
	joinedSQL       = " JOIN runs ON runs.id = handoffs.run_id JOIN plans ON plans.id = runs.plan_id WHERE "
	oneHandoffSQL   = handoffSQL + joinedSQL + "handoffs.public_id = ?) AS h"
	likeHandoffsSQL = handoffSQL + joinedSQL + "handoffs.public_id >= ? AND handoffs.public_id < ? ORDER BY " +
		"handoffs.public_id LIMIT ?) AS h"
)

// Handoff returns one handoff with its status. If it does not exist, the error is CodeNotFound.
func (s *Lists) Handoff(ctx context.Context, id string) (domain.HandoffSummary, error) {
	n, err := readHandoff(s.db.Read.QueryRowContext(ctx, oneHandoffSQL, id))
	if errors.Is(err, sql.ErrNoRows) {
		return n.Item, domain.Errorf(domain.CodeNotFound, "handoff %q not found", id)
	}
	return n.Item, core.Translate(err, "read handoff")
}

// handoffLeast is the minimum length of a common prefix of similar ids.
const handoffLeast = 6

// HandoffsLike returns at most limit handoffs whose ids share the longest possible prefix with id.
func (s *Lists) HandoffsLike(ctx context.Context, id string, limit int) ([]domain.HandoffSummary, error) {
	id = strings.ToLower(id)
	for n := min(len(id)-1, 200); n >= handoffLeast; n-- {
		rows, err := s.db.Read.QueryContext(ctx, likeHandoffsSQL, id[:n], id[:n]+"\U0010FFFF", limit)
		if err != nil {
			return nil, core.Translate(err, "look for handoffs")
		}
		var found []domain.HandoffSummary
		err = gather(rows, &found, func(rows *sql.Rows) (domain.HandoffSummary, error) {
			n, err := readHandoff(rows)
			return n.Item, err
		})
		if err != nil || len(found) > 0 {
			return found, core.Translate(err, "look for handoffs")
		}
	}
	return nil, nil
}

func readHandoff(row interface{ Scan(...any) error }) (n core.Numbered[domain.HandoffSummary], err error) {
	var when int64
	h := &n.Item
	err = row.Scan(&n.ID, &h.ID, &h.Run, &h.Seq, &h.From, &h.To, &h.Node, &h.Reason, &h.Context, &when, &h.Plan.Key, &h.Status)
	h.At = core.FromMicros(when)
	return n, err
}

// handoffIndex returns the index that serves a filter, and its column and value. They are empty if
// no index serves it.
func handoffIndex(f domain.HandoffFilter) (index, column, value string) {
	switch {
	case f.From != "":
		return " INDEXED BY handoffs_by_from", "handoffs.from_agent", f.From
	case f.To != "":
		return " INDEXED BY handoffs_by_to", "handoffs.to_agent", f.To
	}
	return "", "", ""
}

// handoffKeys returns the query for the ids of the handoffs in an index.
func handoffKeys(f domain.HandoffFilter) keys {
	index, column, value := handoffIndex(f)
	return func(low, high int64, order string, skip int) (string, []any) {
		text, args := "SELECT handoffs.id FROM handoffs"+index+" WHERE handoffs.id > ? AND handoffs.id < ?", []any{low, high}
		if column != "" {
			text, args = text+" AND "+column+" = ?", append(args, value)
		}
		return text + " ORDER BY handoffs.id " + order + " LIMIT 1 OFFSET ?", append(args, skip)
	}
}

// handoffQuery returns the query for the handoffs with low < id < high that match a filter.
func handoffQuery(f domain.HandoffFilter) (text string, args []any) {
	index, _, _ := handoffIndex(f)
	text = handoffSQL + index + joinedSQL + "handoffs.id > ? AND handoffs.id < ?"
	for _, c := range []struct{ column, value string }{{"handoffs.from_agent", f.From}, {"handoffs.to_agent", f.To},
		{"plans.key", f.Plan}} {
		if c.value != "" {
			text, args = text+" AND "+c.column+" = ?", append(args, c.value)
		}
	}
	text += ") AS h"
	if f.Status != "" {
		text, args = text+" WHERE h.status = ?", append(args, f.Status)
	}
	return text, args
}

func (s *Lists) handoffFrom(ctx context.Context, id int64) (int64, int64, error) {
	h, err := s.db.Q.HandoffFrom(ctx, id)
	return h.ID, h.At, err
}
