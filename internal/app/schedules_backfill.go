package app

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/internal/store"
)

// MissedDecision decides about the missed slots of a schedule.
type MissedDecision struct {
	Meta     `json:"-"`
	Schedule string // key or ID
	// Missed, if not empty, is the ID of the missed slots that the caller saw, and Slots their number.
	Missed string
	Slots  int
	// Decision is none, last, or all. Canary and Rate apply to all.
	Decision domain.CatchUp
	Canary   bool
	Rate     int
	Reason   string
}

// DecideMissed starts none, the last, or all of the missed slots of a schedule. A bulk operation
// starts them, oldest first. It is zero for none.
//
// Errors: invalid (the decision), not_found, conflict (no missed slots wait for a decision), stale
// (others do), forbidden.
func (s *Schedules) DecideMissed(ctx context.Context, req MissedDecision) (domain.Bulk, error) {
	if req.Decision != domain.CatchUpNone && req.Decision != domain.CatchUpLast && req.Decision != domain.CatchUpAll {
		return domain.Bulk{}, domain.Errorf(domain.CodeInvalid, "the decision is none, last, or all, not %q", req.Decision)
	}
	if err := checkRate(req.Rate); err != nil {
		return domain.Bulk{}, err
	}
	at := s.now()
	done := object[domain.Bulk]{id: func(b domain.Bulk) string { return b.ID }, find: func(ctx context.Context,
		id string) (domain.Bulk, error) {
		if id == "" {
			return domain.Bulk{}, nil
		}
		return s.store.Bulk(ctx, id)
	}}
	b, repeated, err := performWithWork(ctx, s.kernel, DecideMissed, req.Meta, req, done, func(tx *store.Tx) (domain.Bulk, error) {
		var none domain.Bulk
		x, err := tx.Schedules().Get(req.Schedule)
		if err != nil {
			return none, err
		}
		m, err := tx.Schedules().Missed(x)
		switch {
		case err != nil:
			return none, err
		case req.Missed != "" && req.Missed != m.ID, req.Slots != 0 && req.Slots != m.Slots:
			return none, domain.Errorf(domain.CodeStale, "more slots were missed meanwhile").Suggest("read them again, then decide")
		}
		if err := tx.Schedules().Decide(x, req.Decision, req.By.Name, at); err != nil {
			return none, err
		}
		tx.Audit("schedule:"+x.Key, req.Reason, encode(map[string]any{"decision": req.Decision, "first": m.First, "last": m.Last,
			"slots": m.Slots, "more": m.More}))
		slots := []time.Time{m.Last}
		switch req.Decision {
		case domain.CatchUpNone:
			return none, nil
		case domain.CatchUpAll:
			spec, err := schedule.Parse(x.Cron, x.Zone)
			if err != nil {
				return none, err
			}
			if all, _ := spec.Between(m.First, m.Last.Add(time.Second), domain.MaxMissedSlots); len(all) > 0 {
				slots = all
			}
		}
		b, items := s.bulk.PrepareSlots(req.By, domain.BackfillRequest{Schedule: x, Slots: slots, Canary: req.Canary, Rate: req.Rate,
			Reason: req.Reason})
		return b, tx.CreateBulk(b, items)
	})
	if err == nil && !repeated && b.ID != "" {
		s.bulk.Launch(b)
	}
	return b, err
}

// Backfill is a request to run the past slots of a range.
type Backfill struct {
	Meta     `json:"-"`
	Schedule string // key or ID
	// From and To are the range: From <= slot < To.
	From, To time.Time
	Canary   bool
	Rate     int // slots per minute; 0: no limit
	Reason   string
	// Digest, if not zero, is the number of slots of a preview. With another number, nothing starts.
	Digest int
}

// BackfillPreview shows what a backfill would do.
type BackfillPreview struct {
	Slots []time.Time // that would start a run
	// Started is the number of slots in the range that have a run.
	Started int
}

// PreviewBackfill returns the slots that a backfill would run.
//
// Errors: invalid (the range), not_found, forbidden.
func (s *Schedules) PreviewBackfill(ctx context.Context, by domain.Actor, req Backfill) (BackfillPreview, error) {
	if err := s.allow(ctx, PreviewBackfill, by, ""); err != nil {
		return BackfillPreview{}, err
	}
	_, p, err := s.backfill(ctx, req)
	return p, err
}

func (s *Schedules) backfill(ctx context.Context, req Backfill) (x domain.Schedule, p BackfillPreview, err error) {
	if x, err = s.store.Schedule(ctx, req.Schedule); err != nil {
		return x, p, err
	}
	now := s.engine.Timed().Now()
	if req.To.IsZero() {
		req.To = now
	}
	switch {
	case req.From.IsZero():
		return x, p, domain.Errorf(domain.CodeInvalid, "a backfill needs the beginning of the range")
	case !req.From.Before(req.To):
		return x, p, domain.Errorf(domain.CodeInvalid, "the range ends before it begins")
	case req.To.After(now):
		return x, p, domain.Errorf(domain.CodeInvalid, "a backfill runs past slots only; %s is in the future",
			req.To.UTC().Format(time.RFC3339))
	}
	spec, err := schedule.Parse(x.Cron, x.Zone)
	if err != nil {
		return x, p, err
	}
	slots, more := spec.Between(req.From, req.To, domain.MaxMissedSlots)
	if more {
		return x, p, domain.Errorf(domain.CodeInvalid, "the range has more than %d slots", domain.MaxMissedSlots).
			Suggest("split it into shorter ranges")
	}
	started, err := s.store.StartedSlots(ctx, x.ID, req.From, req.To)
	if err != nil {
		return x, p, err
	}
	for _, at := range slots {
		if started[at.Unix()] {
			p.Started++
		} else {
			p.Slots = append(p.Slots, at)
		}
	}
	return x, p, nil
}

func checkRate(rate int) error {
	if rate < 0 || rate > 60_000 {
		return domain.Errorf(domain.CodeInvalid, "a rate is 0 to 60000 slots per minute, not %d", rate)
	}
	return nil
}

// Backfill starts the runs of the past slots of a range, oldest first. Slots that have a run are left
// out. A bulk operation starts them, and can be stopped.
//
// Errors: invalid (the range), not_found, conflict (every slot has a run, or the plan is paused),
// stale (Digest is of other slots), forbidden.
func (s *Schedules) Backfill(ctx context.Context, req Backfill) (domain.Bulk, error) {
	done := object[domain.Bulk]{id: func(b domain.Bulk) string { return b.ID }, find: s.store.Bulk}
	known, repeated, err := before(ctx, s.kernel, BackfillSchedule, req.Meta, req, done)
	if err != nil || repeated {
		return known, err
	}
	if err := checkRate(req.Rate); err != nil {
		return domain.Bulk{}, err
	}
	x, p, err := s.backfill(ctx, req)
	switch {
	case err != nil:
		return domain.Bulk{}, err
	case x.PlanStopped:
		return domain.Bulk{}, domain.Errorf(domain.CodeConflict, "plan %s is paused or archived", x.PlanKey)
	case req.Digest != 0 && req.Digest != len(p.Slots):
		return domain.Bulk{}, domain.Errorf(domain.CodeStale, "the slots have changed since the preview").Suggest("review the new preview")
	case len(p.Slots) == 0:
		return domain.Bulk{}, domain.Errorf(domain.CodeConflict, "no slot in the range needs a run: %d have one", p.Started)
	}
	b, items := s.bulk.PrepareSlots(req.By, domain.BackfillRequest{Schedule: x, Slots: p.Slots, Canary: req.Canary, Rate: req.Rate,
		Reason: req.Reason})
	out, repeated, err := performWithWork(ctx, s.kernel, BackfillSchedule, req.Meta, req, done, func(tx *store.Tx) (domain.Bulk, error) {
		tx.Audit("schedule:"+x.Key, req.Reason, encode(map[string]any{"from": req.From, "to": req.To, "slots": len(p.Slots), "bulk": b.ID}))
		return b, tx.CreateBulk(b, items)
	})
	if err == nil && !repeated {
		s.bulk.Launch(b)
	}
	return out, err
}
