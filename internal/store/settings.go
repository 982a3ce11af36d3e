package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// SetSetting keeps a value under a key; it is durable on return. It is kept also when
// the disk is full.
func (s entities) SetSetting(_ context.Context, key, value string) error {
	return s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) { return nil, w.q.SettingPut(w.ctx, key, value) })
}

// SetSettingAs is SetSetting as the act of somebody: the record of it is written
// in the same transaction.
func (s entities) SetSettingAs(_ context.Context, key, value string, r domain.AuditRecord) error {
	return s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		return []auditRow{{record: r}}, w.q.SettingPut(w.ctx, key, value)
	})
}
