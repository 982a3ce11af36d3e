package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// change carries out an entity operation whose rules are with something that keeps its
// state in memory, such as a circuit or the definition of a tool: do checks the rules,
// keeps the new state by keep, and then takes it up. What is kept, the audit record, and
// the record of the key are one transaction.
func (k *kernel) change(ctx context.Context, op Operation, m Meta, request any, do func(keep keeper) error) error {
	intent, err := k.intent(op, m, request)
	if err != nil {
		return err
	}
	intent.EvenFull = true
	nothing := func(context.Context, string) (struct{}, error) { return struct{}{}, nil }
	_, err = command(ctx, k, op, m, request, nothing, func(context.Context, *domain.Receipt) (struct{}, error) {
		return struct{}{}, do(keeper{k, intent})
	})
	return err
}

// keeper stores what an operation changes with its record; it is a tool.Recorder.
type keeper struct {
	k  *kernel
	op store.Operation
}

func (s keeper) keep(records []domain.AuditRecord, f func(tx *store.Tx) error) error {
	object := ""
	for _, r := range records {
		s.op.Action, object = r.Action, r.Object // there is one
	}
	_, _, err := s.k.store.Do(s.op, func(tx *store.Tx) (string, error) {
		for _, r := range records {
			tx.Audit(r.Object, r.Reason, r.Detail)
		}
		return object, f(tx)
	})
	return err
}

// SetSettingAs stores a value under a key.
func (s keeper) SetSettingAs(_ context.Context, key, value string, r domain.AuditRecord) error {
	return s.keep([]domain.AuditRecord{r}, func(tx *store.Tx) error { return tx.SetSetting(key, value) })
}

// SetCircuitsAs stores all circuits.
func (s keeper) SetCircuitsAs(_ context.Context, list []domain.KeptCircuit, r domain.AuditRecord) error {
	return s.keep([]domain.AuditRecord{r}, func(tx *store.Tx) error { return tx.SetCircuits(list) })
}

// EnableAs stores a value under a key, and all circuits.
func (s keeper) EnableAs(_ context.Context, key, value string, list []domain.KeptCircuit, r domain.AuditRecord) error {
	return s.keep([]domain.AuditRecord{r}, func(tx *store.Tx) error {
		if err := tx.SetSetting(key, value); err != nil {
			return err
		}
		return tx.SetCircuits(list)
	})
}

// PutToolPins stores definitions of tools that were accepted.
func (s keeper) PutToolPins(_ context.Context, pins []domain.ToolPin, records ...domain.AuditRecord) error {
	return s.keep(records, func(tx *store.Tx) error { return tx.PutToolPins(pins) })
}
