package app

import (
	"context"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/hook"
	"github.com/kairosd/kairosd/internal/store"
)

// Hooks are the operations on hooks: addresses to which other systems deliver events. Package hook
// receives the deliveries.
type Hooks struct{ *kernel }

type hookStore interface {
	Hook(ctx context.Context, idOrKey string) (domain.Hook, error)
	Hooks(ctx context.Context, f domain.HookFilter) (domain.List[domain.Hook], error)
	HookDelivery(ctx context.Context, id string) (domain.HookDelivery, error)
	DeliveryOfRun(ctx context.Context, run string) (string, error)
	HookDeliveries(ctx context.Context, f domain.DeliveryFilter) (domain.List[domain.HookDelivery], error)
	Replayable(ctx context.Context, f domain.ReplayFilter) (ids []string, first, last time.Time, err error)
}

// List returns a page of hooks, by key.
//
// Errors: forbidden.
func (h *Hooks) List(ctx context.Context, by domain.Actor, f domain.HookFilter) (domain.List[domain.Hook], error) {
	if err := h.allow(ctx, ListHooks, by, ""); err != nil {
		return domain.List[domain.Hook]{}, err
	}
	return h.store.Hooks(ctx, f)
}

// Get finds a hook by key or ID.
//
// Errors: not_found, forbidden.
func (h *Hooks) Get(ctx context.Context, by domain.Actor, idOrKey string) (domain.Hook, error) {
	if err := h.allow(ctx, GetHook, by, ""); err != nil {
		return domain.Hook{}, err
	}
	return h.store.Hook(ctx, idOrKey)
}

// Warnings returns warnings about the plan of a hook, whose input is untrusted.
//
// Errors: forbidden.
func (h *Hooks) Warnings(ctx context.Context, by domain.Actor, x domain.Hook) ([]domain.Message, error) {
	var out []domain.Message
	if err := h.allow(ctx, GetHook, by, ""); err != nil || x.PlanID == "" {
		return out, err
	}
	_, v, err := h.engine.NewestVersion(ctx, x.PlanID)
	if err == nil && x.Version != 0 {
		v, err = h.store.VersionByNumber(ctx, x.PlanID, x.Version)
	}
	if err != nil {
		return out, err
	}
	for _, p := range h.engine.CheckUntrusted(v.Source) {
		if p.Code == "plan.rule_of_two" {
			out = append(out, p.Message)
		}
	}
	return out, nil
}

// Deliveries returns a page of deliveries to a hook, newest first. f.Hook is a key or an ID.
//
// Errors: not_found, forbidden.
func (h *Hooks) Deliveries(ctx context.Context, by domain.Actor, f domain.DeliveryFilter) (domain.List[domain.HookDelivery], error) {
	if err := h.allow(ctx, ListHookDeliveries, by, ""); err != nil {
		return domain.List[domain.HookDelivery]{}, err
	}
	x, err := h.store.Hook(ctx, f.Hook)
	if err != nil {
		return domain.List[domain.HookDelivery]{}, err
	}
	f.Hook = x.ID
	return h.store.HookDeliveries(ctx, f)
}

// Delivery finds a delivery by ID.
//
// Errors: not_found, forbidden.
func (h *Hooks) Delivery(ctx context.Context, by domain.Actor, id string) (domain.HookDelivery, error) {
	if err := h.allow(ctx, GetHookDelivery, by, ""); err != nil {
		return domain.HookDelivery{}, err
	}
	return h.store.HookDelivery(ctx, id)
}

// DeliveryOf returns the ID of the delivery that started a run, or "" if none did.
//
// Errors: forbidden.
func (h *Hooks) DeliveryOf(ctx context.Context, by domain.Actor, run string) (string, error) {
	if err := h.allow(ctx, ListHookDeliveries, by, ""); err != nil {
		return "", err
	}
	return h.store.DeliveryOfRun(ctx, run)
}

func (h *Hooks) object() object[domain.Hook] {
	return object[domain.Hook]{id: func(x domain.Hook) string { return x.ID }, find: h.store.Hook}
}

// HookFields are the settings of a hook. Nil leaves a setting as it is.
type HookFields struct {
	Plan      *string // ID or key; empty: none
	Version   *int
	Scheme    *domain.HookScheme
	Secret    *string
	Files     *string
	Settle    *time.Duration
	Filter    *string
	Input     *string
	Signal    *string
	SignalKey *string
	Profile   *string // empty: none
	Labels    *map[string]string
}

// NewHook is a hook to create.
type NewHook struct {
	Meta `json:"-"`
	Key  string
	HookFields
}

// Create creates a hook. Scheme, Secret or Files, and either Plan or Signal are required.
//
// Errors: invalid (a setting), not_found (the plan or its version), conflict (the key is used, or the
// plan is not accepted), forbidden.
func (h *Hooks) Create(ctx context.Context, req NewHook) (domain.Hook, error) {
	if known, done, err := before(ctx, h.kernel, CreateHook, req.Meta, req, h.object()); done || err != nil {
		return known, err
	}
	x := domain.Hook{ID: domain.NewID(), Key: strings.TrimSpace(req.Key), Actor: req.By.Name}
	if !validKey(x.Key) {
		return x, domain.Errorf(domain.CodeInvalid, "%q is not a valid key of a hook", clip(x.Key, 50)).
			Suggest("use 1 to %d letters, digits, and the characters . _ -", maxKey)
	}
	if err := h.apply(ctx, &x, req.HookFields); err != nil {
		return x, err
	}
	_, err := perform(ctx, h.kernel, CreateHook, req.Meta, req, h.object(), func(tx *store.Tx) (domain.Hook, error) {
		if err := tx.Incoming().CreateHook(x); err != nil {
			return x, err
		}
		tx.Audit("hook:"+x.Key, "", domain.ChangeDetail(nil, hookDetail(x)))
		return x, nil
	})
	if err != nil {
		return x, err
	}
	return h.store.Hook(ctx, x.ID)
}

// hookDetail is a hook in the audit log.
func hookDetail(x domain.Hook) map[string]any {
	return map[string]any{"plan": x.PlanKey, "version": x.Version, "scheme": x.Scheme, "secret": x.Secret, "files": x.Files,
		"settleMs": x.Settle.Milliseconds(), "filter": x.Filter, "input": x.Input, "signal": x.Signal,
		"signalKey": x.SignalKey, "profile": x.Profile, "labels": x.Labels}
}

// apply changes settings of a hook, and checks the result.
func (h *Hooks) apply(ctx context.Context, x *domain.Hook, f HookFields) error {
	set(f.Version, &x.Version)
	set(f.Scheme, &x.Scheme)
	set(f.Secret, &x.Secret)
	set(f.Files, &x.Files)
	set(f.Settle, &x.Settle)
	set(f.Filter, &x.Filter)
	set(f.Input, &x.Input)
	set(f.Signal, &x.Signal)
	set(f.SignalKey, &x.SignalKey)
	set(f.Profile, &x.Profile)
	set(f.Labels, &x.Labels)
	if x.Scheme == "" && x.Files != "" {
		x.Scheme = domain.HookFiles
	}
	if err := h.checkSource(x); err != nil {
		return err
	}
	plan := x.PlanID
	set(f.Plan, &plan)
	switch {
	case (plan == "") == (x.Signal == ""):
		return domain.Errorf(domain.CodeInvalid, "a hook starts a plan or sends a signal").Suggest("give either plan or signal")
	case x.SignalKey != "" && x.Signal == "":
		return domain.Errorf(domain.CodeInvalid, "the key of a signal needs a signal")
	}
	if err := domain.CheckLabels(x.RunLabels()); err != nil {
		return err
	}
	if err := hook.Check(x.HookSpec); err != nil {
		return err
	}
	if plan == "" {
		x.PlanID, x.PlanKey, x.Version, x.Profile = "", "", 0, ""
		return nil
	}
	p, err := h.store.Plan(ctx, plan)
	switch {
	case err != nil:
		return err
	case p.Stage != domain.StageUsed:
		return domain.Errorf(domain.CodeConflict, "plan %s is not accepted", p.Key).Suggest("accept it first")
	}
	x.PlanID, x.PlanKey = p.ID, p.Key
	hash := p.LatestHash
	if x.Version != 0 {
		v, err := h.store.VersionByNumber(ctx, p.ID, x.Version)
		if err != nil {
			return err
		}
		hash = v.Hash
	}
	return h.engine.CheckProfile(ctx, hash, x.Profile)
}

// checkSource checks where the deliveries of a hook come from: senders with a secret, or files.
func (h *Hooks) checkSource(x *domain.Hook) error {
	switch {
	case !x.Scheme.Valid():
		return domain.Errorf(domain.CodeInvalid, "unknown signature scheme %q", x.Scheme).
			Suggest("use standard, github, stripe, slack, bearer, or files")
	case x.Scheme != domain.HookFiles && x.Files != "":
		return domain.Errorf(domain.CodeInvalid, "a pattern of files needs the scheme files")
	case x.Scheme != domain.HookFiles && x.Secret == "":
		return domain.Errorf(domain.CodeInvalid, "a hook needs a secret").Suggest("name a secret of the configuration with hooks: true")
	case x.Scheme != domain.HookFiles:
		x.Settle = 0
		return nil
	case x.Secret != "":
		return domain.Errorf(domain.CodeInvalid, "a hook for files needs no secret")
	}
	if x.Settle == 0 {
		x.Settle = domain.SettleDefault
	}
	if x.Settle < domain.SettleMin || x.Settle > domain.SettleMax {
		return domain.Errorf(domain.CodeInvalid, "files must be unchanged for %s before they are delivered", x.Settle).
			Suggest("use a time from %s to %s", domain.SettleMin, domain.SettleMax)
	}
	return hook.CheckFiles(x.Files, h.watched())
}

// HookEdit changes settings of a hook.
type HookEdit struct {
	Meta `json:"-"`
	Hook string // key or ID
	Rev  int64  // of the hook that the caller saw; 0: any
	HookFields
}

// Update changes settings of a hook. The principal becomes the actor of its runs.
//
// Errors: invalid, not_found, stale (another revision), conflict, forbidden.
func (h *Hooks) Update(ctx context.Context, req HookEdit) (domain.Hook, error) {
	known, done, err := before(ctx, h.kernel, UpdateHook, req.Meta, req, h.object())
	if done || err != nil {
		return known, err
	}
	x, err := h.store.Hook(ctx, req.Hook)
	if err != nil {
		return x, err
	}
	old := x
	if err := h.apply(ctx, &x, req.HookFields); err != nil {
		return x, err
	}
	x.Actor = req.By.Name
	return h.change(ctx, UpdateHook, HookChange{Meta: req.Meta, Hook: x.ID, Rev: old.Rev}, req, func(tx *store.Tx, now *domain.Hook) error {
		if req.Rev != 0 && req.Rev != old.Rev {
			return hookChanged(*now)
		}
		x.Paused = now.Paused
		tx.Audit("hook:"+x.Key, "", domain.ChangeDetail(hookDetail(old), hookDetail(x)))
		return tx.Incoming().ChangeHook(x)
	})
}

func hookChanged(x domain.Hook) error {
	return domain.Errorf(domain.CodeStale, "hook %s has changed", x.Key).Suggest("read it again, then decide")
}

// HookChange names a hook and the reason of its change.
type HookChange struct {
	Meta   `json:"-"`
	Hook   string // key or ID
	Rev    int64  // of the hook that the caller saw; 0: any
	Reason string
}

// Pause refuses deliveries to a hook, which senders repeat later. A paused hook is returned unchanged.
//
// Errors: not_found, stale, forbidden.
func (h *Hooks) Pause(ctx context.Context, req HookChange) (domain.Hook, error) {
	at := h.now()
	return h.change(ctx, PauseHook, req, req, func(tx *store.Tx, x *domain.Hook) error {
		if x.Paused != nil {
			return nil
		}
		x.Paused = &domain.Disablement{Since: at, By: req.By.Name, Reason: req.Reason}
		tx.Audit("hook:"+x.Key, req.Reason, changed("paused", false, true))
		return tx.Incoming().ChangeHook(*x)
	})
}

// Resume accepts deliveries again. A hook that is not paused is returned unchanged.
//
// Errors: not_found, stale, forbidden.
func (h *Hooks) Resume(ctx context.Context, req HookChange) (domain.Hook, error) {
	return h.change(ctx, ResumeHook, req, req, func(tx *store.Tx, x *domain.Hook) error {
		if x.Paused == nil {
			return nil
		}
		x.Paused = nil
		tx.Audit("hook:"+x.Key, req.Reason, changed("paused", true, false))
		return tx.Incoming().ChangeHook(*x)
	})
}

// Delete removes a hook with its deliveries, and returns it as it was. Its runs stay.
//
// Errors: not_found, stale, forbidden.
func (h *Hooks) Delete(ctx context.Context, req HookChange) (domain.Hook, error) {
	kept := object[domain.Hook]{id: func(x domain.Hook) string { return x.Key },
		find: func(_ context.Context, key string) (domain.Hook, error) { return domain.Hook{Key: key}, nil }}
	return perform(ctx, h.kernel, DeleteHook, req.Meta, req, kept, func(tx *store.Tx) (domain.Hook, error) {
		x, err := tx.Incoming().Hook(req.Hook)
		if err == nil && req.Rev != 0 && req.Rev != x.Rev {
			err = hookChanged(x)
		}
		if err != nil {
			return x, err
		}
		tx.Audit("hook:"+x.Key, req.Reason, domain.ChangeDetail(hookDetail(x), nil))
		return x, tx.Incoming().DeleteHook(x.ID)
	})
}

// change performs an operation on one hook. request is the request of the client.
func (h *Hooks) change(ctx context.Context, op Operation, req HookChange, request any, f func(*store.Tx, *domain.Hook) error) (
	domain.Hook, error) {
	x, err := perform(ctx, h.kernel, op, req.Meta, request, h.object(), func(tx *store.Tx) (domain.Hook, error) {
		x, err := tx.Incoming().Hook(req.Hook)
		if err == nil && req.Rev != 0 && req.Rev != x.Rev {
			err = hookChanged(x)
		}
		if err != nil {
			return x, err
		}
		return x, f(tx, &x)
	})
	if err != nil {
		return x, err
	}
	return h.store.Hook(ctx, x.ID)
}
