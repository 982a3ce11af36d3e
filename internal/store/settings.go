package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
)

// Setting gives what was kept under a key, "" if nothing was.
func (s *Store) Setting(ctx context.Context, key string) (string, error) {
	text, err := s.q.SettingGet(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, translate(err, "read setting "+key)
}

// SetSetting keeps a value under a key; it is durable on return. It is kept also when
// the disk is full.
func (s *Store) SetSetting(_ context.Context, key, value string) error {
	return s.writer.performEvenFull(func(w *writer) ([]auditRow, error) { return nil, w.q.SettingPut(w.ctx, key, value) })
}

// SetSettingAs is SetSetting as the act of somebody: the record of it is written
// in the same transaction.
func (s *Store) SetSettingAs(_ context.Context, key, value string, r domain.AuditRecord) error {
	return s.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		return []auditRow{{record: r}}, w.q.SettingPut(w.ctx, key, value)
	})
}
