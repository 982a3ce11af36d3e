package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// settingHold holds the current domain.Hold.
const settingHold = "hold"

// hold starts a new generation of the database in which no run executes until an operator releases
// it. A new generation is needed because IDs of lost events must not be used again. All unfinished
// runs wait. All of it is one transaction.
func (s holds) hold(h domain.Hold) error {
	generation := domain.NewID()
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		runs, err := w.q.RunHoldable(w.ctx)
		if err != nil {
			return nil, err
		}
		h.Held = int64(len(runs))
		if err := w.q.SettingPut(w.ctx, "incarnation", generation); err != nil {
			return nil, err
		}
		if err := w.q.SettingPut(w.ctx, settingHold, core.EncodeJSON(h)); err != nil {
			return nil, err
		}
		failpoint.Hit("hold.begun")
		reason := fmt.Sprintf("the database ends at event %d", h.Last)
		if h.Lost > 0 {
			reason += fmt.Sprintf("; events up to %d were recorded and are missing", h.Lost)
		}
		rows := []auditRow{
			{record: domain.AuditRecord{Action: "store." + h.Reason, Actor: domain.System.Name, Source: domain.System.Source,
				Reason: reason, Detail: domain.RawJSON(core.EncodeJSON(h))}},
		}
		detail := domain.RawJSON(`{"status":"waiting","waitReason":"held"}`)
		for _, r := range runs {
			attention := r.DeletedAt == 0 && r.Origin != domain.OriginDry
			if err := w.q.RunHold(w.ctx, core.Flag(attention), r.ID); err != nil {
				return nil, err
			}
			delete(w.hot, r.ID)
			if r.DeletedAt == 0 && core.Listed(r.Origin, r.Attention) {
				w.tally.counts[countOf(r.Status, r.WaitReason, r.Attention)]--
			}
			if attention {
				w.tally.counts[countKey{string(domain.RunWaiting), string(domain.WaitHeld)}]++
			}
			rows = append(
				rows,
				auditRow{rowID: r.ID, runSeq: r.LastSeq, record: domain.AuditRecord{Action: "run.status", Actor: domain.System.Name,
					Source: domain.System.Source, Run: r.PublicID, Detail: detail}},
			)
		}
		return rows, nil
	})
	if err == nil {
		// The anchor is written after a batch is acknowledged and before the next one. Until it has
		// the new generation, its last line refers to the lost one, and a comparison would find a
		// difference. So wait for one more batch.
		err = s.store.writer.perform(func(*writer) ([]auditRow, error) { return nil, nil })
	}
	if err != nil {
		return fmt.Errorf("hold the runs of a database that was reset to an earlier state: %w", err)
	}
	s.store.db.Secrets.Generation = generation
	s.store.log.Error(
		"runs are on hold until an operator releases them",
		"reason",
		h.Reason,
		"runs",
		h.Held,
		"last",
		h.Last,
		"lost",
		h.Lost,
	)
	return nil
}

// Hold returns why runs are on hold, or nil.
func (s holds) Hold(ctx context.Context) (*domain.Hold, error) {
	text, err := s.store.q.SettingGet(ctx, settingHold)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, core.Translate(err, "read the hold")
	}
	var h domain.Hold
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "cannot decode the hold: %w", err)
	}
	return &h, nil
}

// EndHold allows the execution of new runs. Held runs stay held; each is released by its own
// checkpoint. ended reports whether there was a hold.
func (s holds) EndHold(_ context.Context, actor domain.Actor, reason string) (ended bool, err error) {
	if err := s.store.MayRelease(context.Background(), actor); err != nil {
		return false, err
	}
	err = s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		n, err := w.q.SettingDelete(w.ctx, settingHold)
		if ended = n > 0; err != nil || !ended {
			return nil, err
		}
		return []auditRow{
			{
				record: domain.AuditRecord{
					Action:  "store.released",
					Actor:   actor.Name,
					Source:  actor.Source,
					Request: actor.Request,
					Reason:  reason,
				},
			},
		}, nil
	})
	return ended, err
}

// MayRelease checks whether an actor may release held runs. After the key file was lost, only an
// administrator may, once one exists, because the rows of the database cannot be verified.
func (s holds) MayRelease(ctx context.Context, actor domain.Actor) error {
	h, err := s.store.Hold(ctx)
	if err != nil || h == nil || h.Reason != domain.HoldKeyLost {
		return err
	}
	if !actor.Role.Includes(domain.RoleAdmin) {
		return domain.Errorf(domain.CodeForbidden, "after the key file was lost, only an administrator can release runs").
			Suggest("ask an administrator")
	}
	users, err := s.store.Users(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(users, func(u domain.User) bool { return u.Role == domain.RoleAdmin && !u.Disabled }) {
		return domain.Errorf(domain.CodeConflict, "cannot release runs yet: every user was disabled when the key file was lost").
			Suggest("create an administrator first: kairosd user add NAME --role admin")
	}
	return nil
}
