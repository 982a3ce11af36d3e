package store

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// CreateBulk stores a bulk operation with all its runs, and records it.
func (tx *Tx) CreateBulk(b domain.Bulk, items []domain.BulkItem) error {
	w := tx.w
	id, err := w.q.BulkInsert(
		w.ctx,
		dbsqlc.BulkInsertParams{PublicID: b.ID, Action: string(b.Action), Query: b.Query, Reason: b.Reason, Actor: b.Actor,
			Role: string(
				b.Role,
			), Source: b.Source, Canary: core.Flag(b.Canary), Rate: int64(b.Rate), Labels: labelsJSON(b.Labels),
			NotBefore: core.Micros(b.NotBefore),
			Provider:  b.Provider, Tool: b.Tool, State: string(b.State), Total: b.Total, CreatedAt: core.Micros(b.CreatedAt)},
	)
	if err != nil {
		return err
	}
	for _, it := range items {
		if err := w.q.BulkItemInsert(w.ctx, dbsqlc.BulkItemInsertParams{BulkID: id, Position: it.Position, Run: it.Run, Rev: it.Rev,
			Node: it.Node, Code: it.Code}); err != nil {
			return err
		}
	}
	tx.audit("bulk."+string(b.Action), bulkRecord(b, "", domain.Actor{}, b.Reason))
	return nil
}

// StopBulk ends a bulk operation and records that. It returns CodeNotFound, or CodeConflict if it
// has ended.
func (tx *Tx) StopBulk(id, note string) (domain.Bulk, error) {
	w := tx.w
	n, err := w.q.BulkMove(
		w.ctx,
		dbsqlc.BulkMoveParams{State: string(domain.BulkStopped), Note: note, EndedAt: core.Micros(tx.op.At), PublicID: id},
	)
	if err != nil {
		return domain.Bulk{}, err
	}
	row, err := w.q.BulkGet(w.ctx, id)
	if err != nil {
		return domain.Bulk{}, core.Translate(err, "read bulk operation "+id)
	}
	b := core.Bulk(row)
	if n == 0 {
		return b, domain.Errorf(domain.CodeConflict, "this bulk operation has already ended")
	}
	tx.audit("bulk."+string(domain.BulkStopped), bulkRecord(b, "", domain.Actor{}, note))
	return b, nil
}
