package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// maintenanceKey is the setting that keeps maintenance across restarts. If it is empty, there is no
// maintenance.
const maintenanceKey = "maintenance"

// MaintenanceOf returns the current maintenance of a database, or nil.
func MaintenanceOf(ctx context.Context, s *store.Store) (*domain.Maintenance, error) {
	text, err := s.Setting(ctx, maintenanceKey)
	if err != nil || text == "" {
		return nil, err
	}
	var m domain.Maintenance
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "the setting %q: %w", maintenanceKey, err)
	}
	return &m, nil
}

// SetMaintenance starts or ends maintenance, after keep has stored it with its audit record.
func SetMaintenance(
	ctx context.Context,
	s *store.Store,
	keep app.Recorder,
	actor domain.Actor,
	on bool,
	reason string,
) (*domain.Maintenance, error) {
	now, err := MaintenanceOf(ctx, s)
	if err != nil {
		return nil, err
	}
	switch {
	case on && now != nil:
		return now, domain.Errorf(domain.CodeConflict, "maintenance is on since %s, by %s", now.Since.Format(time.RFC3339), now.By)
	case !on && now == nil:
		return nil, domain.Errorf(domain.CodeConflict, "maintenance is not on")
	}
	r := domain.AuditRecord{Action: "maintenance.end", Actor: actor.Name, Source: actor.Source, Request: actor.Request, Reason: reason}
	text := ""
	now = nil
	if on {
		r.Action = "maintenance.begin"
		now = &domain.Maintenance{Since: time.Now().UTC().Truncate(time.Second), By: actor.Name, Reason: reason}
		b, err := json.Marshal(now)
		if err != nil {
			return nil, fmt.Errorf("encode the maintenance: %w", err)
		}
		text = string(b)
	}
	return now, keep.SetSettingAs(ctx, maintenanceKey, text, r)
}

// Maintain pauses or resumes the start of new steps.
func (s *system) Maintain(ctx context.Context, keep app.Recorder, actor domain.Actor, on bool, reason string) (*domain.Maintenance, error) {
	s.maintaining.Lock()
	defer s.maintaining.Unlock()
	m, err := SetMaintenance(ctx, s.store, keep, actor, on, reason)
	if err != nil {
		return nil, err
	}
	s.engine.Maintain(on)
	s.mu.Lock()
	s.maintenance = m
	s.mu.Unlock()
	return m, nil
}

// resumeMaintenance continues maintenance that began before the start. It is called before the
// engine opens.
func (s *system) resumeMaintenance(ctx context.Context) error {
	m, err := MaintenanceOf(ctx, s.store)
	if err != nil || m == nil {
		return err
	}
	s.Logger.Warn("maintenance is on: no steps start", "since", m.Since, "by", m.By, "reason", m.Reason)
	s.engine.Maintain(true)
	s.mu.Lock()
	s.maintenance = m
	s.mu.Unlock()
	return nil
}
