package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// CreateBulk stores a bulk act with all its runs, and says so in the audit log.
func (s work) CreateBulk(ctx context.Context, b domain.Bulk, items []domain.BulkItem) error {
	if s.store.writer == nil {
		return errReadOnly()
	}
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		id, err := w.q.BulkInsert(w.ctx, dbsqlc.BulkInsertParams{PublicID: b.ID, Action: string(b.Action), Query: b.Query, Reason: b.Reason, Actor: b.Actor,
			Role: string(b.Role), Surface: b.Surface, Canary: core.Flag(b.Canary), Rate: int64(b.Rate), Labels: labelsJSON(b.Labels), NotBefore: core.Micros(b.NotBefore), Provider: b.Provider, Tool: b.Tool, State: string(b.State), Total: b.Total, CreatedAt: core.Micros(b.CreatedAt)})
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			if err := w.q.BulkItemInsert(w.ctx, dbsqlc.BulkItemInsertParams{BulkID: id, Position: it.Position, Run: it.Run, Rev: it.Rev, Node: it.Node, Code: it.Code}); err != nil {
				return nil, err
			}
		}
		return []auditRow{bulkRecord(b, "bulk."+string(b.Action), domain.Actor{Name: b.Actor, Surface: b.Surface, Request: domain.RequestOf(ctx)}, b.Reason)}, nil
	})
	return core.Translate(err, "store bulk act")
}

func bulkRecord(b domain.Bulk, action string, actor domain.Actor, reason string) auditRow {
	return auditRow{record: domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "bulk:" + b.ID, Reason: reason,
		Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"action": b.Action, "filter": b.Query, "runs": b.Total, "acted": b.Acted, "refused": b.Refused}))}}
}

// SettleBulkItem records what became of one run of a bulk act.
func (s work) SettleBulkItem(_ context.Context, id string, it domain.BulkItem) error {
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		n, err := w.q.BulkItemSettle(w.ctx, dbsqlc.BulkItemSettleParams{State: it.State, Result: it.Result, Detail: it.Detail, At: core.Micros(it.At), Bulk: id, Position: it.Position})
		if err != nil || n == 0 {
			return nil, err
		}
		acted := core.Flag(it.State == "acted")
		return nil, w.q.BulkCount(w.ctx, acted, 1-acted, id)
	})
	return core.Translate(err, "record bulk act")
}

// MoveBulk says where a bulk act stands; its end is recorded in the audit log.
// A bulk act that is over stays so: moved is false.
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
	return moved, core.Translate(err, "record bulk act")
}

func labelsJSON(labels map[string]string) string {
	if len(labels) == 0 {
		return "{}"
	}
	return core.EncodeJSON(labels)
}
