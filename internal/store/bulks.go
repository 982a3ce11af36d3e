package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// CreateBulk stores a bulk act with all its runs, and says so in the audit log.
func (s *Store) CreateBulk(ctx context.Context, b domain.Bulk, items []domain.BulkItem) error {
	if s.writer == nil {
		return errReadOnly()
	}
	err := s.writer.perform(func(w *writer) ([]auditRow, error) {
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

// Bulk finds a bulk act; CodeNotFound.
func (s *Store) Bulk(ctx context.Context, id string) (domain.Bulk, error) {
	row, err := s.q.BulkGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Bulk{}, domain.Errorf(domain.CodeNotFound, "no bulk act %q", id)
	}
	return bulk(row), core.Translate(err, "read bulk act")
}

// Bulks lists the newest bulk acts.
func (s *Store) Bulks(ctx context.Context, limit int) ([]domain.Bulk, error) {
	rows, err := s.q.BulkNewest(ctx, int64(limit))
	return bulks(rows), core.Translate(err, "list bulk acts")
}

// BulksUnderWay lists the bulk acts that are not over, oldest first.
func (s *Store) BulksUnderWay(ctx context.Context) ([]domain.Bulk, error) {
	rows, err := s.q.BulkUnderWay(ctx)
	return bulks(rows), core.Translate(err, "list bulk acts")
}

// BulkItems lists runs of a bulk act in order, those after a position.
func (s *Store) BulkItems(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error) {
	rows, err := s.q.BulkItemList(ctx, id, after, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read bulk act")
	}
	out := make([]domain.BulkItem, len(rows))
	for i, r := range rows {
		out[i] = domain.BulkItem{Position: r.Position, Run: r.Run, Rev: r.Rev, Node: r.Node, Code: r.Code, State: r.State, Result: r.Result, Detail: r.Detail, At: core.FromMicros(r.At)}
	}
	return out, nil
}

// SettleBulkItem records what became of one run of a bulk act.
func (s *Store) SettleBulkItem(_ context.Context, id string, it domain.BulkItem) error {
	err := s.writer.perform(func(w *writer) ([]auditRow, error) {
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
func (s *Store) MoveBulk(_ context.Context, id string, state domain.BulkState, note string, actor domain.Actor) (moved bool, err error) {
	err = s.writer.perform(func(w *writer) ([]auditRow, error) {
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
		return []auditRow{bulkRecord(bulk(row), "bulk."+string(state), actor, note)}, nil
	})
	return moved, core.Translate(err, "record bulk act")
}

func bulk(r dbsqlc.Bulk) domain.Bulk {
	var labels map[string]string
	if json.Unmarshal([]byte(r.Labels), &labels) != nil || len(labels) == 0 {
		labels = nil // the database checks that it is JSON, and only this package writes it
	}
	return domain.Bulk{ID: r.PublicID, Labels: labels, NotBefore: core.FromMicros(r.NotBefore), Provider: r.Provider, Tool: r.Tool, Action: domain.Action(r.Action), Query: r.Query, Reason: r.Reason, Actor: r.Actor, Role: domain.Role(r.Role), Surface: r.Surface,
		Canary: r.Canary != 0, Rate: int(r.Rate), State: domain.BulkState(r.State), Note: r.Note, Total: r.Total, CreatedAt: core.FromMicros(r.CreatedAt),
		EndedAt: core.FromMicros(r.EndedAt), Acted: r.Acted, Refused: r.Refused}
}

func labelsJSON(labels map[string]string) string {
	if len(labels) == 0 {
		return "{}"
	}
	return core.EncodeJSON(labels)
}

func bulks(rows []dbsqlc.Bulk) []domain.Bulk {
	out := make([]domain.Bulk, len(rows))
	for i, r := range rows {
		out[i] = bulk(r)
	}
	return out
}

// SavedViews lists a person's views and everybody's.
func (s *Store) SavedViews(ctx context.Context, owner string) ([]domain.SavedView, error) {
	rows, err := s.q.SavedViewList(ctx, owner)
	if err != nil {
		return nil, core.Translate(err, "list views")
	}
	out := make([]domain.SavedView, len(rows))
	for i, r := range rows {
		out[i] = domain.SavedView{Owner: r.Owner, Name: r.Name, Query: r.Query}
	}
	return out, nil
}
