package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

func bulkRecord(b domain.Bulk, action string, actor domain.Actor, reason string) auditRow {
	return auditRow{
		record: domain.AuditRecord{
			Action:  action,
			Actor:   actor.Name,
			Source:  actor.Source,
			Request: actor.Request,
			Object:  "bulk:" + b.ID,
			Reason:  reason,
			Detail: domain.RawJSON(
				core.EncodeJSON(
					map[string]any{"action": b.Action, "filter": b.Query, "runs": b.Total, "acted": b.Acted, "refused": b.Refused},
				),
			),
		},
	}
}

// SettleBulkItem records the result of a bulk operation for one run.
func (s work) SettleBulkItem(_ context.Context, id string, it domain.BulkItem) error {
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		n, err := w.q.BulkItemSettle(
			w.ctx,
			dbsqlc.BulkItemSettleParams{
				State:    it.State,
				Result:   it.Result,
				Detail:   it.Detail,
				Message:  domain.EncodeMessage(it.Message),
				At:       core.Micros(it.At),
				Bulk:     id,
				Position: it.Position,
			},
		)
		if err != nil || n == 0 {
			return nil, err
		}
		acted := core.Flag(it.State == "acted")
		return nil, w.q.BulkCount(w.ctx, acted, 1-acted, id)
	})
	return core.Translate(err, "record bulk operation")
}

// MoveBulk sets the state of a bulk operation. The audit log records its end. If the operation has
// already ended, it does not change, and moved is false.
func (s work) MoveBulk(_ context.Context, id string, state domain.BulkState, note string, actor domain.Actor) (moved bool, err error) {
	err = s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		var ended int64
		if state.Final() {
			ended = w.s.now().UnixMicro()
		}
		n, err := w.q.BulkMove(w.ctx, dbsqlc.BulkMoveParams{State: string(state), Note: note, EndedAt: ended, PublicID: id})
		if moved = n > 0; err != nil || !moved || ended == 0 {
			return nil, err
		}
		row, err := w.q.BulkGet(w.ctx, id)
		if err != nil {
			return nil, err
		}
		return []auditRow{bulkRecord(core.Bulk(row), "bulk."+string(state), actor, note)}, nil
	})
	return moved, core.Translate(err, "record bulk operation")
}

func labelsJSON(labels map[string]string) string {
	if len(labels) == 0 {
		return "{}"
	}
	return core.EncodeJSON(labels)
}
