package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// SetCircuits stores all circuits, even on a full disk. It removes circuits that are not in the
// list, and does not write unchanged ones.
func (s entities) SetCircuits(_ context.Context, list []domain.StoredCircuit) error {
	return s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		return w.applyAs("store circuits", nil, func(ctx context.Context, q *dbsqlc.Queries) error { return setCircuits(ctx, q, list) })
	})
}

// SetCircuits stores all circuits, as [Store.SetCircuits] does.
func (tx *Tx) SetCircuits(list []domain.StoredCircuit) error {
	return setCircuits(tx.w.ctx, tx.w.q, list)
}

func setCircuits(ctx context.Context, q *dbsqlc.Queries, list []domain.StoredCircuit) error {
	rows, err := q.CircuitList(ctx)
	if err != nil {
		return err
	}
	type key struct{ subject, part string }
	stored := map[key]dbsqlc.Circuit{}
	for _, r := range rows {
		stored[key{r.Subject, r.Part}] = r
	}
	for _, c := range list {
		r := dbsqlc.Circuit{
			Subject:       c.Subject,
			Part:          c.Part,
			State:         string(c.State),
			FailuresInRow: int64(c.FailuresInRow),
			Since:         core.Micros(c.Since),
			OpenUntil:     core.Micros(c.OpenUntil),
			LastCode:      c.LastCode,
			LastMessage:   c.LastMessage,
			LastText:      c.LastText,
			LastErrorAt:   core.Micros(c.LastErrorAt),
		}
		before := stored[key{r.Subject, r.Part}]
		delete(stored, key{r.Subject, r.Part})
		if before == r {
			continue
		}
		if err := q.CircuitPut(ctx, dbsqlc.CircuitPutParams(r)); err != nil {
			return err
		}
	}
	for k := range stored {
		if err := q.CircuitDelete(ctx, k.subject, k.part); err != nil {
			return err
		}
	}
	return nil
}

// PutToolPins stores accepted tool definitions with their audit record, even on a full disk.
func (s entities) PutToolPins(_ context.Context, pins []domain.ToolPin, records ...domain.AuditRecord) error {
	return s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		return w.applyAs(
			"store accepted tools",
			records,
			func(ctx context.Context, q *dbsqlc.Queries) error { return putToolPins(ctx, q, pins) },
		)
	})
}

// PutToolPins stores accepted tool definitions.
func (tx *Tx) PutToolPins(pins []domain.ToolPin) error {
	return putToolPins(tx.w.ctx, tx.w.q, pins)
}

func putToolPins(ctx context.Context, q *dbsqlc.Queries, pins []domain.ToolPin) error {
	for _, p := range pins {
		if err := q.ToolPinPut(ctx, dbsqlc.ToolPinPutParams{Server: p.Server, Tool: p.Tool, Hash: p.Hash,
			Definition: string(p.Definition)}); err != nil {
			return err
		}
	}
	return nil
}
