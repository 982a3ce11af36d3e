package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// change performs an operation on state in memory, such as a circuit or the definition of a tool.
// do checks the rules, stores the new state with keep, and then applies it. The stored state, the
// audit record, and the record of the key are one transaction. If do stores nothing, the requested
// state already exists, and only the key is recorded. change returns the object that find reads
// afterwards.
func change[T any](ctx context.Context, k *kernel, op Operation, m Meta, request any,
	find func(ctx context.Context) (T, error), do func(ctx context.Context, keep *keeper) error,
) (T, error) {
	again := func(ctx context.Context, _ string) (T, error) { return find(ctx) }
	return command(ctx, k, op, m, request, again, func(ctx context.Context, receipt *domain.Receipt) (none T, err error) {
		intent, err := k.intent(op, m, request)
		if err != nil {
			return none, err
		}
		intent.EvenFull = true
		keep := &keeper{k: k, op: intent}
		if err := do(ctx, keep); err != nil {
			return none, err
		}
		if receipt != nil && !keep.kept {
			if err := keep.keep(nil, func(*store.Tx) error { return nil }); err != nil {
				return none, err
			}
		}
		return find(ctx)
	})
}

// keeper stores the changes of an operation together with its record. It implements tool.Recorder.
type keeper struct {
	k    *kernel
	op   store.Operation
	kept bool // something was stored
}

func (s *keeper) keep(records []domain.AuditRecord, f func(tx *store.Tx) error) error {
	object := ""
	for _, r := range records {
		s.op.Action, object = r.Action, r.Object // the change has its own record
	}
	_, _, err := s.k.store.Do(s.op, func(tx *store.Tx) (string, error) {
		for _, r := range records {
			tx.Audit(r.Object, r.Reason, r.Detail)
		}
		return object, f(tx)
	})
	s.kept = s.kept || err == nil
	return err
}

// SetSettingAs stores a value under a key.
func (s *keeper) SetSettingAs(_ context.Context, key, value string, r domain.AuditRecord) error {
	return s.keep([]domain.AuditRecord{r}, func(tx *store.Tx) error { return tx.SetSetting(key, value) })
}

// SetCircuitsAs stores all circuits.
func (s *keeper) SetCircuitsAs(_ context.Context, list []domain.StoredCircuit, r domain.AuditRecord) error {
	return s.keep([]domain.AuditRecord{r}, func(tx *store.Tx) error { return tx.SetCircuits(list) })
}

// EnableAs stores a value under a key, and all circuits.
func (s *keeper) EnableAs(_ context.Context, key, value string, list []domain.StoredCircuit, r domain.AuditRecord) error {
	return s.keep([]domain.AuditRecord{r}, func(tx *store.Tx) error {
		if err := tx.SetSetting(key, value); err != nil {
			return err
		}
		return tx.SetCircuits(list)
	})
}

// PutToolPins stores accepted definitions of tools.
func (s *keeper) PutToolPins(_ context.Context, pins []domain.ToolPin, records ...domain.AuditRecord) error {
	return s.keep(records, func(tx *store.Tx) error { return tx.PutToolPins(pins) })
}
