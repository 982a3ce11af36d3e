package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
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
// in the same transaction (G12).
func (s *Store) SetSettingAs(_ context.Context, key, value string, r domain.AuditRecord) error {
	return s.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		return []auditRow{{record: r}}, w.q.SettingPut(w.ctx, key, value)
	})
}

// SealedSetting is Setting for what is stored encrypted; CodeCorrupt if something
// other than kairosd wrote it.
func (s *Store) SealedSetting(ctx context.Context, key string) (string, error) {
	text, err := s.Setting(ctx, key)
	if err != nil || text == "" {
		return "", err
	}
	return s.unsealText(key, text)
}

// SetSealedSetting keeps a value encrypted under a key; "" removes it. said is
// recorded in the same transaction. It is kept also when the disk is full: a second
// factor uses up its codes so.
func (s *Store) SetSealedSetting(_ context.Context, key, value string, said ...domain.AuditRecord) error {
	sealed := ""
	if value != "" {
		var err error
		if sealed, err = s.sealText(key, value); err != nil {
			return err
		}
	}
	return s.execAccess("store setting "+key, said, func(ctx context.Context, q *dbsqlc.Queries) error {
		if value == "" {
			_, err := q.SettingDelete(ctx, key)
			return err
		}
		return q.SettingPut(ctx, key, sealed)
	})
}
