package store

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// CollectPayloads deletes values that no run needs, and returns their number: values of purged
// runs, and values stored for a checkpoint that was never written.
func (s retention) CollectPayloads(ctx context.Context) (int, error) {
	before, removed := s.store.now().Add(-orphanAge).UnixMicro(), 0
	for after := int64(0); ; {
		rows, err := s.store.q.PayloadOrphans(ctx, after, before, 100)
		if err != nil {
			return removed, core.Translate(err, "find payloads")
		}
		if len(rows) == 0 {
			return removed, nil
		}
		after = rows[len(rows)-1].ID
		for len(rows) > 0 {
			left, n := rows, int64(0)
			if err := s.store.inSteps(ctx, func() { left, n = rows, 0 }, func(w *writer) (bool, error) {
				// References are checked again here, in the writer.
				k, err := w.q.PayloadDelete(w.ctx, left[0].Hash, before)
				left, n = left[1:], n+k
				return len(left) > 0, err
			}); err != nil {
				return removed, err
			}
			rows, removed = left, removed+int(n)
		}
	}
}

// GiveBack returns free pages of the database to the disk, a few at a time.
func (s retention) GiveBack(ctx context.Context) error {
	for {
		var free int64
		if err := s.store.read.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil {
			return core.Translate(err, "count free pages")
		}
		if free <= keptFree {
			return nil
		}
		var moved int64
		if err := s.store.inSteps(ctx, func() { moved = 0 }, func(w *writer) (bool, error) {
			n, err := w.vacuum()
			moved += n
			return false, err
		}); err != nil {
			return err
		}
		if moved == 0 { // a database of an older version cannot shrink
			return nil
		}
	}
}

// vacuum frees pages. 0 means that the file cannot shrink.
func (w *writer) vacuum() (int64, error) {
	var before, after int64
	if err := w.conn.QueryRowContext(w.ctx, "PRAGMA freelist_count").Scan(&before); err != nil {
		return 0, err
	}
	rows, err := w.conn.QueryContext(w.ctx, vacuumSQL)
	if err != nil {
		return 0, err
	}
	for rows.Next() { // one row per page
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	if err := rows.Close(); err != nil {
		return 0, err
	}
	err = w.conn.QueryRowContext(w.ctx, "PRAGMA freelist_count").Scan(&after)
	if w.reserve.low {
		w.wal.full = true // the file shrinks when the log is moved into it
	}
	return before - after, err
}

// PlanStorage measures the space of each plan's runs, largest first. It reads all runs, so call it
// rarely.
func (s retention) PlanStorage(ctx context.Context) ([]domain.PlanStorage, error) {
	names, err := s.store.q.PlanNames(ctx)
	if err != nil {
		return nil, core.Translate(err, "list plans")
	}
	totals, err := s.store.q.RunTotals(ctx)
	if err != nil {
		return nil, core.Translate(err, "sum up runs")
	}
	values, err := s.store.q.PayloadTotals(ctx)
	if err != nil {
		return nil, core.Translate(err, "sum up values")
	}
	stored, err := s.store.q.PayloadBytes(ctx)
	if err != nil {
		return nil, core.Translate(err, "sum up values")
	}
	u, err := s.store.Usage(ctx)
	if err != nil {
		return nil, err
	}
	bytes, rows := map[int64]int64{}, int64(0)
	for _, v := range values {
		bytes[v.PlanID] = v.Bytes
	}
	for _, t := range totals {
		rows += t.Steps + 1
	}
	perRow := max(0, u.Database-u.Unused-stored) / max(1, rows)
	byID := map[int64]*domain.PlanStorage{}
	out := make([]domain.PlanStorage, 0, len(names))
	for _, n := range names {
		out = append(out, domain.PlanStorage{Plan: domain.PlanRef{ID: n.PublicID, Key: n.Key}})
	}
	for i, n := range names {
		byID[n.ID] = &out[i]
	}
	for _, t := range totals {
		if p := byID[t.PlanID]; p != nil {
			p.Runs, p.Purged, p.Rows = t.Runs, t.Purged, t.Steps
			p.Bytes = bytes[t.PlanID] + (t.Steps+t.Runs)*perRow
		}
	}
	slices.SortStableFunc(out, func(a, b domain.PlanStorage) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out, nil
}

// payloadRefs returns the hashes of the payloads that rows refer to.
func payloadRefs(steps []core.StepRow, more ...*string) (refs [][]byte) {
	add := func(column *string) {
		if column == nil || len(*column) == 0 || (*column)[0] != core.PayloadMark[0] {
			return
		}
		if hash, err := hex.DecodeString((*column)[1:]); err == nil {
			refs = append(refs, hash)
		}
	}
	for i := range steps {
		p := &steps[i]
		for _, column := range [...]*string{p.Input, p.Output, p.Decision, p.Failure, p.Log} {
			add(column)
		}
	}
	for _, column := range more {
		add(column)
	}
	return refs
}

// refer stores which payloads a run needs.
func (w *writer) refer(rowID int64, refs [][]byte) error {
	for _, hash := range refs {
		if err := w.q.PayloadRefInsert(w.ctx, rowID, hash); err != nil {
			return err
		}
	}
	return nil
}
