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
	if err := k.allow(ctx, op, m.By, string(op)); err != nil {
		return err
	}
	intent, err := k.intent(op, m, request)
	if err != nil {
		return err
	}
	intent.EvenFull = true
	if _, done, err := k.store.Done(ctx, intent); err != nil || done {
		m.repeat()
		return err
	}
	err = do(keeper{k, intent})
	if domain.CodeOf(err) == domain.CodeConflict { // perhaps it is so since the same request a moment ago
		if _, done, doneErr := k.store.Done(ctx, intent); doneErr == nil && done {
			m.repeat()
			return nil
		}
	}
	return err
}

// keeper keeps a value with the record of an operation.
type keeper struct {
	k  *kernel
	op store.Operation
}

// SetSettingAs keeps a value under a key, durably, with the record r of it.
func (s keeper) SetSettingAs(_ context.Context, key, value string, r domain.AuditRecord) error {
	s.op.Action = r.Action
	_, _, err := s.k.store.Do(s.op, func(tx *store.Tx) (string, error) {
		tx.Audit(r.Object, r.Reason, r.Detail)
		return r.Object, tx.SetSetting(key, value)
	})
	return err
}
