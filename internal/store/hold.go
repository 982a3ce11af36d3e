package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/failpoint"
	"github.com/kairosd/kairosd/internal/kairos"
)

// settingHold holds the kairos.Hold while there is one.
const settingHold = "hold"

// hold begins a new life of the database in which nothing is executed until an
// operator says so (G15): a new incarnation, because event ids of the lost one
// must not come again, and every unfinished run waits. All in one transaction.
func (s *Store) hold(h kairos.Hold) error {
	incarnation := kairos.NewID()
	err := s.writer.perform(func(w *writer) ([]auditRow, error) {
		runs, err := w.q.RunHoldable(w.ctx)
		if err != nil {
			return nil, err
		}
		h.Held = int64(len(runs))
		if err := w.q.SettingPut(w.ctx, "incarnation", incarnation); err != nil {
			return nil, err
		}
		if err := w.q.SettingPut(w.ctx, settingHold, encodeJSON(h)); err != nil {
			return nil, err
		}
		failpoint.Hit("hold.begun")
		reason := fmt.Sprintf("the database ends at event %d", h.Last)
		if h.Lost > 0 {
			reason += fmt.Sprintf("; events up to %d were recorded and are missing", h.Lost)
		}
		rows := []auditRow{{record: kairos.AuditRecord{Action: "store." + h.Reason, Actor: kairos.System.Name, Surface: kairos.System.Surface,
			Reason: reason, Detail: kairos.RawJSON(encodeJSON(h))}}}
		detail := kairos.RawJSON(`{"status":"waiting","waitReason":"held"}`)
		for _, r := range runs {
			counted := r.DeletedAt == 0 && r.Origin != kairos.OriginDry
			if err := w.q.RunHold(w.ctx, flag(counted), r.ID); err != nil {
				return nil, err
			}
			delete(w.hot, r.ID)
			if counted {
				w.counts[countOf(r.Status, r.WaitReason, r.Attention)]--
				w.counts[countKey{string(kairos.RunWaiting), string(kairos.WaitHeld)}]++
			}
			rows = append(rows, auditRow{rowID: r.ID, runSeq: r.LastSeq, record: kairos.AuditRecord{Action: "run.status", Actor: kairos.System.Name,
				Surface: kairos.System.Surface, Run: r.PublicID, Detail: detail}})
		}
		return rows, nil
	})
	if err == nil {
		// The anchor is written after a batch is acknowledged; the next batch comes
		// after that. Until it knows of this life, its last line speaks of the lost
		// one, and whoever compared the two would find a difference.
		err = s.writer.perform(func(*writer) ([]auditRow, error) { return nil, nil })
	}
	if err != nil {
		return fmt.Errorf("hold the runs of a database that was taken back: %w", err)
	}
	s.secrets.incarnation = incarnation
	s.log.Error("nothing is executed until an operator releases the runs", "reason", h.Reason, "runs", h.Held, "last", h.Last, "lost", h.Lost)
	return nil
}

// Hold is why nothing is executed, nil when there is no such reason.
func (s *Store) Hold(ctx context.Context) (*kairos.Hold, error) {
	text, err := s.q.SettingGet(ctx, settingHold)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, translate(err, "read the hold")
	}
	var h kairos.Hold
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return nil, kairos.Errorf(kairos.CodeCorrupt, "the hold is unreadable: %w", err)
	}
	return &h, nil
}

// EndHold lets new runs be executed again. Held runs stay held: each is
// released by a checkpoint of its own. It reports whether there was a hold.
func (s *Store) EndHold(_ context.Context, actor kairos.Actor, reason string) (ended bool, err error) {
	err = s.writer.perform(func(w *writer) ([]auditRow, error) {
		n, err := w.q.SettingDelete(w.ctx, settingHold)
		if ended = n > 0; err != nil || !ended {
			return nil, err
		}
		return []auditRow{{record: kairos.AuditRecord{Action: "store.released", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Reason: reason}}}, nil
	})
	return ended, err
}
