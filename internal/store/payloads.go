package store

import (
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// storeLargeFirst commits payloads that are too large for the checkpoint's transaction and returns
// the others.
func (s rows) storeLargeFirst(payloads []dbsqlc.PayloadInsertParams) ([]dbsqlc.PayloadInsertParams, error) {
	kept := payloads[:0]
	for _, p := range payloads {
		if len(p.Data) <= core.EarlyLimit {
			kept = append(kept, p)
			continue
		}
		err := s.store.writer.perform(func(w *writer) ([]auditRow, error) { return nil, w.q.PayloadInsert(w.ctx, p) })
		if err != nil {
			return nil, err
		}
		failpoint.Hit("payload.early")
	}
	return kept, nil
}
