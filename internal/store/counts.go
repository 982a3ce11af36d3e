package store

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// RecountRuns counts the runs again if counters are wrong, and reports whether they were.
func (s retention) RecountRuns(context.Context) (changed bool, err error) {
	if s.store.writer == nil {
		return false, errReadOnly()
	}
	err = s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		if err := w.tally.write(w.ctx, w.q); err != nil { // of this transaction so far
			return nil, err
		}
		before, err := w.q.RunCountsText(w.ctx)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(w.q.RunCountsClear(w.ctx), w.q.RunCountsFill(w.ctx)); err != nil {
			return nil, err
		}
		after, err := w.q.RunCountsText(w.ctx)
		if err != nil {
			return nil, err
		}
		w.tally.failures = true // the counts of groups may be wrong too
		if changed = before != after; !changed {
			return nil, nil
		}
		return []auditRow{{record: domain.AuditRecord{Action: "store.recounted", Actor: domain.System.Name, Source: domain.System.Source,
			Reason: "before: " + before + "; now: " + after}}}, nil
	})
	return changed, core.Translate(err, "count the runs again")
}
