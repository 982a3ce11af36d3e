package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Replay is a request to replay deliveries to a hook.
type Replay struct {
	Meta `json:"-"`
	Hook string // key or ID
	// Deliveries selects deliveries by ID. Without them, State and Since select one of each event. Without
	// a state, refused ones are selected.
	Deliveries []string
	State      domain.DeliveryState
	Since      time.Time
	Canary     bool
	Rate       int
	Reason     string
	// Digest, if not empty, is that of a preview. If other deliveries are selected now, nothing is replayed.
	Digest string
}

// ReplayPreview shows what a replay would do.
type ReplayPreview struct {
	Deliveries  []string  // IDs, in the order of the replay
	First, Last time.Time // when the first and the last of them arrived
	Digest      string
}

// PreviewReplay returns the deliveries that a replay would repeat, oldest first.
//
// Errors: not_found, invalid (too many deliveries), conflict (a delivery cannot be replayed), forbidden.
func (h *Hooks) PreviewReplay(ctx context.Context, by domain.Actor, req Replay) (ReplayPreview, error) {
	if err := h.allow(ctx, PreviewReplay, by, ""); err != nil {
		return ReplayPreview{}, err
	}
	_, p, err := h.replay(ctx, req)
	return p, err
}

func (h *Hooks) replay(ctx context.Context, req Replay) (x domain.Hook, p ReplayPreview, err error) {
	if x, err = h.store.Hook(ctx, req.Hook); err != nil {
		return x, p, err
	}
	if len(req.Deliveries) == 0 {
		f := domain.ReplayFilter{Hook: x.ID, State: req.State, Since: req.Since, Limit: domain.MaxReplays + 1}
		if f.State == "" {
			f.State = domain.DeliveryRefused
		}
		p.Deliveries, p.First, p.Last, err = h.store.Replayable(ctx, f)
	} else if len(req.Deliveries) <= domain.MaxReplays {
		p, err = h.named(ctx, x, req.Deliveries)
	}
	switch {
	case err != nil:
		return x, p, err
	case len(p.Deliveries) > domain.MaxReplays || len(req.Deliveries) > domain.MaxReplays:
		return x, p, domain.Errorf(domain.CodeInvalid, "more than %d deliveries are selected", domain.MaxReplays).Suggest("select fewer")
	}
	sum := sha256.Sum256([]byte(strings.Join(p.Deliveries, " ")))
	p.Digest = hex.EncodeToString(sum[:16])
	return x, p, nil
}

// named checks deliveries that are selected by ID.
func (h *Hooks) named(ctx context.Context, x domain.Hook, ids []string) (p ReplayPreview, err error) {
	for i, id := range ids {
		d, err := h.store.HookDelivery(ctx, id)
		if err == nil && d.HookID != x.ID {
			err = domain.Errorf(domain.CodeNotFound, "delivery %q not found", id)
		}
		if err == nil {
			err = d.CheckReplay()
		}
		if err != nil {
			return p, err
		}
		if p.Last = d.ReceivedAt; i == 0 {
			p.First = d.ReceivedAt
		}
		p.Deliveries = append(p.Deliveries, d.ID)
	}
	return p, nil
}

// Replay repeats deliveries, oldest first. Each gets a key that names the delivery and the operation. A
// bulk operation repeats them, and can be stopped.
//
// Errors: not_found, invalid, conflict (nothing is selected, or a delivery cannot be replayed), stale
// (Digest is of other deliveries), forbidden.
func (h *Hooks) Replay(ctx context.Context, req Replay) (domain.Bulk, error) {
	done := object[domain.Bulk]{id: func(b domain.Bulk) string { return b.ID }, find: h.store.Bulk}
	known, repeated, err := before(ctx, h.kernel, ReplayDeliveries, req.Meta, req, done)
	if err != nil || repeated {
		return known, err
	}
	if err := checkRate(req.Rate); err != nil {
		return domain.Bulk{}, err
	}
	x, p, err := h.replay(ctx, req)
	switch {
	case err != nil:
		return domain.Bulk{}, err
	case req.Digest != "" && req.Digest != p.Digest:
		return domain.Bulk{}, domain.Errorf(domain.CodeStale, "the deliveries have changed since the preview").
			Suggest("review the new preview")
	case len(p.Deliveries) == 0:
		return domain.Bulk{}, domain.Errorf(domain.CodeConflict, "no delivery is selected")
	}
	b, items := h.bulk.PrepareReplays(req.By, domain.ReplayRequest{Hook: x, Deliveries: p.Deliveries, Canary: req.Canary, Rate: req.Rate,
		Reason: req.Reason})
	out, repeated, err := performWithWork(ctx, h.kernel, ReplayDeliveries, req.Meta, req, done, func(tx *store.Tx) (domain.Bulk, error) {
		tx.Audit("hook:"+x.Key, req.Reason, encode(map[string]any{"deliveries": len(p.Deliveries), "bulk": b.ID}))
		return b, tx.CreateBulk(b, items)
	})
	if err == nil && !repeated {
		h.bulk.Launch(b)
	}
	return out, err
}
