package app

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// System contains the operations on the server as a whole.
type System struct{ *kernel }

// Server operates on the whole server. Without a daemon, its methods return CodeUnavailable.
type Server interface {
	Server(ctx context.Context) (domain.Server, error)
	HealthMetrics(ctx context.Context) (domain.HealthMetrics, error)
	Log(ctx context.Context, level, text string) ([]domain.DaemonLog, error)
	// Maintain begins or ends maintenance after keep has stored it. If the server already has the
	// requested state, the error is CodeConflict.
	Maintain(ctx context.Context, keep Recorder, by domain.Actor, on bool, reason string) (*domain.Maintenance, error)
	// BackUp creates a verified backup in the configured directory, with its audit record.
	BackUp(ctx context.Context, by domain.Actor) (domain.Backup, error)
	// Retain applies the retention rules, with an audit record, or only reports what it would
	// delete.
	Retain(ctx context.Context, by domain.Actor, reason string, dryRun bool) (domain.RetentionResult, error)
}

// Recorder stores a value under a key with the audit record of who changed it.
type Recorder interface {
	SetSettingAs(ctx context.Context, key, value string, r domain.AuditRecord) error
}

// Settings returns the configuration, and tests and rotates parts of it.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
	// TestChannel sends a message at once, with an audit record, and returns its result. If the
	// channel does not exist, the error is CodeNotFound.
	TestChannel(ctx context.Context, by domain.Actor, channel string) (domain.Delivery, error)
	// RotateSecret applies the current value of a secret's file, with an audit record. It does
	// nothing if the value is already active. The error is CodeNotFound, or CodeConflict for a
	// secret without a file.
	RotateSecret(ctx context.Context, by domain.Actor, name, reason string) error
}

// Get describes the server and its data.
//
// Errors: unavailable (no daemon), forbidden.
func (s *System) Get(ctx context.Context, by domain.Actor) (domain.Server, error) {
	if err := s.allow(ctx, GetSystem, by, ""); err != nil {
		return domain.Server{}, err
	}
	return s.server.Server(ctx)
}

// HealthMetrics returns the health metrics of the server, now and of the last day.
//
// Errors: unavailable (no daemon), forbidden.
func (s *System) HealthMetrics(ctx context.Context, by domain.Actor) (domain.HealthMetrics, error) {
	if err := s.allow(ctx, GetHealthMetrics, by, ""); err != nil {
		return domain.HealthMetrics{}, err
	}
	return s.server.HealthMetrics(ctx)
}

// Log returns lines of the server's log, newest first. level is the least severe level to return,
// and text a text that the lines contain; empty values match every line.
//
// Errors: unavailable (no daemon), forbidden.
func (s *System) Log(ctx context.Context, by domain.Actor, level, text string) ([]domain.DaemonLog, error) {
	if err := s.allow(ctx, GetLog, by, ""); err != nil {
		return nil, err
	}
	return s.server.Log(ctx, level, text)
}

// Settings returns the configuration without secrets.
//
// Errors: unavailable (no daemon), forbidden.
func (s *System) Settings(ctx context.Context, by domain.Actor) (domain.Settings, error) {
	if err := s.allow(ctx, GetSettings, by, ""); err != nil {
		return domain.Settings{}, err
	}
	return s.settings.Settings(ctx)
}

// MaintenanceChange begins or ends maintenance.
type MaintenanceChange struct {
	Meta   `json:"-"`
	On     bool   // true: no step starts
	Reason string // stored in the audit log, and shown on every page
}

// Maintain pauses or resumes all execution. Running steps finish. Maintenance survives restarts. It
// returns the current maintenance, or nil. A repetition changes nothing.
//
// Errors: unavailable (no daemon), forbidden.
func (s *System) Maintain(ctx context.Context, req MaintenanceChange) (*domain.Maintenance, error) {
	var now *domain.Maintenance
	changed := false
	find := func(ctx context.Context) (*domain.Maintenance, error) {
		if changed {
			return now, nil
		}
		i, err := s.server.Server(ctx)
		return i.Maintenance, err
	}
	op := EndMaintenance
	if req.On {
		op = SetMaintenance
	}
	return change(ctx, s.kernel, op, req.Meta, req, find, func(ctx context.Context, keep *keeper) (err error) {
		now, err = s.server.Maintain(ctx, keep, req.By, req.On, req.Reason)
		changed = err == nil
		if domain.CodeOf(err) != domain.CodeConflict {
			return err
		}
		if m, unread := find(ctx); unread == nil && (m != nil) == req.On {
			return nil // the server already has the requested state
		}
		return err
	})
}

// BackUp creates a verified backup in the configured directory. It continues when ctx ends.
//
// Errors: conflict (a backup or retention is in progress), unavailable (no daemon), no_space,
// forbidden.
func (s *System) BackUp(ctx context.Context, m Meta) (domain.Backup, error) {
	backup := object[domain.Backup]{
		id: func(b domain.Backup) string { return filepath.Base(b.Path) },
		find: func(ctx context.Context, name string) (domain.Backup, error) {
			i, err := s.server.Server(ctx)
			for _, b := range i.Backups {
				if filepath.Base(b.Path) == name {
					return b, nil
				}
			}
			return domain.Backup{}, err // the backup was removed in the meantime
		},
	}
	return effect(
		ctx,
		s.kernel,
		BackUp,
		m,
		nil,
		backup,
		func(ctx context.Context) (domain.Backup, error) { return s.server.BackUp(ctx, m.By) },
	)
}

// RetentionRequest requests retention.
type RetentionRequest struct {
	Meta   `json:"-"`
	Reason string // kept in the audit log
	DryRun bool   // only report what would be deleted
}

// RunRetention applies the retention rules, or only reports what it would delete. It continues when
// ctx ends. With a repeated key, it deletes the remaining data.
//
// Errors: conflict (a backup or retention is in progress), unavailable (no daemon), forbidden.
func (s *System) RunRetention(ctx context.Context, req RetentionRequest) (domain.RetentionResult, error) {
	left := object[domain.RetentionResult]{
		id: func(r domain.RetentionResult) string { return strconv.Itoa(int(r.Runs)) },
		find: func(ctx context.Context, _ string) (domain.RetentionResult, error) {
			return s.server.Retain(ctx, req.By, "", true)
		},
	}
	return effect(ctx, s.kernel, RunRetention, req.Meta, req, left, func(ctx context.Context) (domain.RetentionResult, error) {
		return s.server.Retain(ctx, req.By, req.Reason, req.DryRun)
	})
}

// SecretChange identifies a secret of the configuration.
type SecretChange struct {
	Meta   `json:"-"`
	Name   string
	Reason string // kept in the audit log
}

// RotateSecret applies the current value in a secret's file. It returns the secret without its
// value. A secret whose file has not changed is returned unchanged.
//
// Errors: not_found, conflict (the secret has no file), unavailable (no daemon), forbidden.
func (s *System) RotateSecret(ctx context.Context, req SecretChange) (domain.SecretInfo, error) {
	secret := object[domain.SecretInfo]{
		id: func(info domain.SecretInfo) string { return info.Name },
		find: func(ctx context.Context, name string) (domain.SecretInfo, error) {
			set, err := s.settings.Settings(ctx)
			if err != nil {
				return domain.SecretInfo{}, err
			}
			info, err := named(set.Secrets, name, "secret", func(info domain.SecretInfo) string { return info.Name })
			if err != nil {
				info = domain.SecretInfo{Name: name} // the configuration has changed in the meantime
			}
			return info, nil
		},
	}
	return effect(ctx, s.kernel, RotateSecret, req.Meta, req, secret, func(ctx context.Context) (domain.SecretInfo, error) {
		if err := s.settings.RotateSecret(ctx, req.By, req.Name, req.Reason); err != nil {
			return domain.SecretInfo{}, err
		}
		return secret.find(ctx, req.Name)
	})
}

// ChannelTest identifies a notification channel.
type ChannelTest struct {
	Meta    `json:"-"`
	Channel string
}

// TestNotifications sends a test message at once, and returns its result. A repeated key returns
// the newest message of the channel.
//
// Errors: not_found, unavailable (no daemon), forbidden.
func (s *System) TestNotifications(ctx context.Context, req ChannelTest) (domain.Delivery, error) {
	message := object[domain.Delivery]{
		id: func(domain.Delivery) string { return req.Channel },
		find: func(ctx context.Context, name string) (domain.Delivery, error) {
			set, err := s.settings.Settings(ctx)
			for _, c := range set.Notifications {
				if c.Name == name && len(c.Last) > 0 {
					return c.Last[0], nil
				}
			}
			return domain.Delivery{}, err
		},
	}
	return effect(ctx, s.kernel, TestNotifications, req.Meta, req, message, func(ctx context.Context) (domain.Delivery, error) {
		return s.settings.TestChannel(ctx, req.By, req.Channel)
	})
}

// HeldRuns selects runs that are held after a restore.
type HeldRuns struct {
	Meta   `json:"-"`
	Plan   string // id or key of a plan; the hold then stays; empty: all runs
	Reason string // kept in the audit log
}

// Release ends a hold: held runs continue, and new ones are executed again. It returns the number
// of runs that continue, or 0 if nothing is held.
//
// Errors: not_found (the plan), forbidden.
func (s *System) Release(ctx context.Context, req HeldRuns) (int64, error) {
	return effect(ctx, s.kernel, ReleaseHeldRuns, req.Meta, req, counted, func(ctx context.Context) (int64, error) {
		n, err := s.engine.ReleaseHeld(ctx, req.By, req.Plan, req.Reason)
		return int64(n), err
	})
}

// effect carries out an operation whose effect is outside the database, and which writes its own
// audit record. It continues when ctx ends. The record of the key is written after the effect. If
// kairosd is killed between both, a repeated request has the effect again.
func effect[T any](
	ctx context.Context,
	k *kernel,
	op Operation,
	m Meta,
	request any,
	o object[T],
	do func(ctx context.Context) (T, error),
) (T, error) {
	return command(ctx, k, op, m, request, o.find, func(ctx context.Context, receipt *domain.Receipt) (T, error) {
		out, err := do(context.WithoutCancel(ctx))
		if err != nil || receipt == nil {
			return out, err
		}
		intent, err := k.intent(op, m, request)
		if err == nil {
			_, _, err = k.store.Do(intent, func(*store.Tx) (string, error) { return o.id(out), nil })
		}
		return out, err
	})
}
