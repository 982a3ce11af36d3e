package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// SetSetting stores a value under a key. It is durable on return, and works on a full disk.
func (s entities) SetSetting(_ context.Context, key, value string) error {
	return s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) { return nil, w.q.SettingPut(w.ctx, key, value) })
}

// SetSettingAs is SetSetting with an audit record in the same transaction.
func (s entities) SetSettingAs(_ context.Context, key, value string, r domain.AuditRecord) error {
	return s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		return []auditRow{{record: r}}, w.q.SettingPut(w.ctx, key, value)
	})
}
