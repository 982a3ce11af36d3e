package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// RecountRuns counts the runs again, for counters that are off. It reports whether
// they were.
func (s *Store) RecountRuns(context.Context) (changed bool, err error) {
	if s.writer == nil {
		return false, errReadOnly()
	}
	err = s.writer.perform(func(w *writer) ([]auditRow, error) {
		if err := w.writeCounts(); err != nil { // of this transaction, up to here
			return nil, err
		}
		var before, after string
		const counted = "SELECT coalesce(group_concat(status || ' ' || wait_reason || ' ' || n, ', '), '') FROM (SELECT * FROM run_counts WHERE n <> 0 ORDER BY status, wait_reason)"
		if err := w.conn.QueryRowContext(w.ctx, counted).Scan(&before); err != nil {
			return nil, err
		}
		for _, text := range []string{"DELETE FROM run_counts", core.RecountSQL} {
			if _, err := w.conn.ExecContext(w.ctx, text); err != nil {
				return nil, err
			}
		}
		if err := w.conn.QueryRowContext(w.ctx, counted).Scan(&after); err != nil {
			return nil, err
		}
		w.failures = true // what groups were counted with may be off too
		if changed = before != after; !changed {
			return nil, nil
		}
		return []auditRow{{record: domain.AuditRecord{Action: "store.recounted", Actor: domain.System.Name, Surface: domain.System.Surface,
			Reason: "before: " + before + "; now: " + after}}}, nil
	})
	return changed, translate(err, "count the runs again")
}
