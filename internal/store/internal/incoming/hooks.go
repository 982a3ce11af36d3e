package incoming

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// Hook finds a hook by key or ID. It returns CodeNotFound.
func (t Tx) Hook(idOrKey string) (domain.Hook, error) {
	h, _, err := hookRow(t.ctx, t.q, idOrKey)
	return h, err
}

func hookRow(ctx context.Context, q *dbsqlc.Queries, idOrKey string) (domain.Hook, int64, error) {
	r, err := q.HookNamed(ctx, idOrKey)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Hook{}, 0, domain.Errorf(domain.CodeNotFound, "hook %q not found", idOrKey)
	} else if err != nil {
		return domain.Hook{}, 0, core.Translate(err, "read a hook")
	}
	return HookOf(r.Hook, r.PlanPublicID, r.PlanKey), r.Hook.ID, nil
}

// HookNamed is Hook outside a transaction.
func HookNamed(ctx context.Context, q *dbsqlc.Queries, idOrKey string) (domain.Hook, error) {
	h, _, err := hookRow(ctx, q, idOrKey)
	return h, err
}

// plan returns the row of the plan of a hook, or nil.
func (t Tx) plan(h domain.Hook) (*int64, error) {
	if h.PlanID == "" {
		return nil, nil
	}
	p, err := core.PlanRow(t.ctx, t.q, h.PlanID)
	return &p.ID, err
}

// CreateHook stores a hook. It returns CodeConflict if its key is used.
func (t Tx) CreateHook(h domain.Hook) error {
	if _, err := t.q.HookNamed(t.ctx, h.Key); err == nil {
		return domain.Errorf(domain.CodeConflict, "hook %q exists", h.Key).Suggest("choose another key, or change that hook")
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	plan, err := t.plan(h)
	if err != nil {
		return err
	}
	return t.q.HookInsert(t.ctx, dbsqlc.HookInsertParams{PublicID: h.ID, Key: h.Key, PlanID: plan, Version: int64(h.Version),
		Scheme: string(h.Scheme), Secret: h.Secret, Files: h.Files, Settle: h.Settle.Microseconds(), Filter: h.Filter, Input: h.Input,
		Signal: h.Signal, SignalKey: h.SignalKey, Profile: h.Profile, Labels: labels(h.Labels), Actor: h.Actor,
		CreatedAt: core.Micros(t.at)})
}

// ChangeHook stores the settings of a hook, and whether it is paused.
func (t Tx) ChangeHook(h domain.Hook) error {
	plan, err := t.plan(h)
	if err != nil {
		return err
	}
	var p domain.Disablement
	if h.Paused != nil {
		p = *h.Paused
	}
	return t.q.HookChange(t.ctx, dbsqlc.HookChangeParams{PublicID: h.ID, PlanID: plan, Version: int64(h.Version), Scheme: string(h.Scheme),
		Secret: h.Secret, Files: h.Files, Settle: h.Settle.Microseconds(), Filter: h.Filter, Input: h.Input, Signal: h.Signal,
		SignalKey: h.SignalKey, Profile: h.Profile, Labels: labels(h.Labels), PausedAt: core.Micros(p.Since),
		PausedBy: p.By, PausedReason: p.Reason, Actor: h.Actor, UpdatedAt: core.Micros(t.at)})
}

// DeleteHook removes a hook with its deliveries.
func (t Tx) DeleteHook(id string) error { return t.q.HookDelete(t.ctx, id) }

func labels(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	return core.EncodeJSON(m)
}

// HookOf maps the row of a hook.
func HookOf(r dbsqlc.Hook, planID, planKey string) domain.Hook {
	h := domain.Hook{ID: r.PublicID, Key: r.Key, PlanID: planID, PlanKey: planKey, Version: int(r.Version),
		HookSpec: domain.HookSpec{Scheme: domain.HookScheme(r.Scheme), Secret: r.Secret, Files: r.Files,
			Settle: time.Duration(r.Settle) * time.Microsecond, Filter: r.Filter, Input: r.Input, Signal: r.Signal, SignalKey: r.SignalKey,
			Profile: r.Profile},
		Actor: r.Actor, Rev: r.Rev, CreatedAt: core.FromMicros(r.CreatedAt), UpdatedAt: core.FromMicros(r.UpdatedAt)}
	if r.Labels != "{}" && json.Unmarshal([]byte(r.Labels), &h.Labels) != nil {
		h.Labels = nil // the row is checked by the integrity check
	}
	if r.PausedAt != 0 {
		h.Paused = &domain.Disablement{Since: core.FromMicros(r.PausedAt), By: r.PausedBy, Reason: r.PausedReason}
	}
	return h
}

// Accepted returns the accepted delivery with a key, with its ID, run, and signal. It is zero if there
// is none. It returns CodeNotFound if the hook was deleted.
func (t Tx) Accepted(hook, key string) (domain.HookDelivery, error) {
	return Accepted(t.ctx, t.q, hook, key)
}

// Accepted is Tx.Accepted outside a transaction.
func Accepted(ctx context.Context, q *dbsqlc.Queries, hook, key string) (d domain.HookDelivery, err error) {
	_, id, err := hookRow(ctx, q, hook)
	if err != nil {
		return d, err
	}
	r, err := q.HookDeliveryAccepted(ctx, id, key)
	if errors.Is(err, sql.ErrNoRows) {
		return d, nil
	}
	return domain.HookDelivery{ID: r.PublicID, Run: r.Run, Signal: r.Signal}, core.Translate(err, "read a delivery")
}

// Record stores a delivery. run is the row of the run that it started, or 0.
func (t Tx) Record(d domain.HookDelivery, run int64) error {
	h, id, err := hookRow(t.ctx, t.q, d.HookID)
	if err != nil {
		return err
	}
	if h.Scheme == domain.HookFiles && d.Event != "" && d.ReplayOf == "" {
		if err := t.q.HookFileInsert(t.ctx, id, d.Event); err != nil {
			return err
		}
	}
	if run == 0 && d.Run != "" {
		r, err := t.q.RunRowID(t.ctx, d.Run)
		if err != nil {
			return err
		}
		run = r.ID
	}
	if d.Headers == nil {
		d.Headers = map[string]string{}
	}
	if d.State == domain.DeliveryAccepted {
		failpoint.Hit("hook.accepted")
	}
	row, err := t.q.HookDeliveryInsert(t.ctx, dbsqlc.HookDeliveryInsertParams{PublicID: d.ID, HookID: id, Key: d.Key, Event: d.Event,
		State: string(d.State), Reason: d.Reason, Message: d.Message, Size: int64(d.Size), Remote: d.Remote,
		Verified: core.Flag(d.Verified), RunID: run, Signal: d.Signal, ReplayOf: d.ReplayOf, ReceivedAt: core.Micros(d.ReceivedAt)})
	if err != nil {
		return err
	}
	return t.q.HookContentInsert(t.ctx, row, core.EncodeJSON(d.Headers), d.Body)
}

// MarkFiles stores that files were deleted or changed after their delivery, or exist again.
func (t Tx) MarkFiles(hook string, files []domain.WatchedFile) error {
	for _, f := range files {
		at := int64(0)
		if f.Gone {
			at = core.Micros(t.at)
		}
		if err := t.q.HookFileMark(t.ctx, at, hook, f.Event); err != nil {
			return err
		}
	}
	return nil
}

// DeliveryOf maps the row of a delivery, without its content.
func DeliveryOf(r dbsqlc.HookDelivery, hookID, hook, run string) domain.HookDelivery {
	return domain.HookDelivery{ID: r.PublicID, HookID: hookID, Hook: hook, Key: r.Key, Event: r.Event, State: domain.DeliveryState(r.State),
		Reason: r.Reason, Message: r.Message, Size: int(r.Size), Remote: r.Remote, Verified: r.Verified != 0, Run: run, Signal: r.Signal,
		ReplayOf: r.ReplayOf, ReceivedAt: core.FromMicros(r.ReceivedAt)}
}
