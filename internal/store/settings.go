package store

import (
	"context"
	"database/sql"
	"errors"
)

// Setting gives what was kept under a key, "" if nothing was.
func (s *Store) Setting(ctx context.Context, key string) (string, error) {
	text, err := s.q.SettingGet(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, translate(err, "read setting "+key)
}

// SetSetting keeps a value under a key; it is durable on return.
func (s *Store) SetSetting(_ context.Context, key, value string) error {
	return s.writer.perform(func(w *writer) ([]auditRow, error) { return nil, w.q.SettingPut(w.ctx, key, value) })
}
