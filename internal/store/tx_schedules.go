package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// ScheduleTx reads and writes schedules in a transaction.
type ScheduleTx struct{ tx *Tx }

// Schedules returns the schedules of the transaction.
func (tx *Tx) Schedules() ScheduleTx { return ScheduleTx{tx} }

// Get finds a schedule by key or ID. It returns CodeNotFound.
func (s ScheduleTx) Get(idOrKey string) (domain.Schedule, error) {
	out, _, err := s.row(idOrKey)
	return out, err
}

func (s ScheduleTx) row(idOrKey string) (domain.Schedule, int64, error) {
	r, err := s.tx.w.q.ScheduleNamed(s.tx.w.ctx, idOrKey)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Schedule{}, 0, domain.Errorf(domain.CodeNotFound, "schedule %q not found", idOrKey)
	} else if err != nil {
		return domain.Schedule{}, 0, err
	}
	return core.Schedule(r.Schedule, r.PlanPublicID, r.PlanKey, r.PlanStopped != 0), r.Schedule.ID, nil
}

// Create stores a schedule. It returns CodeConflict if its key is used, and CodeNotFound for its plan.
func (s ScheduleTx) Create(x domain.Schedule) error {
	w := s.tx.w
	if _, err := w.q.ScheduleNamed(w.ctx, x.Key); err == nil {
		return domain.Errorf(domain.CodeConflict, "schedule %q exists", x.Key).Suggest("choose another key, or change that schedule")
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	p, err := core.PlanRow(w.ctx, w.q, x.PlanID)
	if err != nil {
		return err
	}
	_, err = w.q.ScheduleInsert(w.ctx, dbsqlc.ScheduleInsertParams{PublicID: x.ID, Key: x.Key, PlanID: p.ID,
		Version: int64(x.Version), Cron: x.Cron, Zone: x.Zone, Jitter: x.Jitter.Microseconds(), Input: core.JSONText(x.Input),
		Profile: x.Profile, Labels: labelsJSON(x.Labels), Overlap: string(x.Overlap), CatchUp: string(x.CatchUp),
		NextAt: core.Micros(x.Next), DueAt: core.Micros(x.Due), Actor: x.Actor, Declared: core.Flag(x.Declared),
		CreatedAt: core.Micros(s.tx.op.At)})
	return err
}

// Change stores the settings of a schedule, and its next slot. It returns CodeNotFound.
func (s ScheduleTx) Change(x domain.Schedule) error {
	w := s.tx.w
	_, id, err := s.row(x.ID)
	if err != nil {
		return err
	}
	p, err := core.PlanRow(w.ctx, w.q, x.PlanID)
	if err != nil {
		return err
	}
	return w.q.ScheduleChange(w.ctx, dbsqlc.ScheduleChangeParams{PlanID: p.ID, Version: int64(x.Version), Cron: x.Cron, Zone: x.Zone,
		Jitter: x.Jitter.Microseconds(), Input: core.JSONText(x.Input), Profile: x.Profile, Labels: labelsJSON(x.Labels),
		Overlap: string(x.Overlap), CatchUp: string(x.CatchUp), NextAt: core.Micros(x.Next), DueAt: core.Micros(x.Due), Actor: x.Actor,
		UpdatedAt: core.Micros(s.tx.op.At), ID: id})
}

// Pause stores who paused a schedule, and its next slot. Nil ends the pause.
func (s ScheduleTx) Pause(x domain.Schedule) error {
	_, id, err := s.row(x.ID)
	if err != nil {
		return err
	}
	var p domain.Disablement
	if x.Paused != nil {
		p = *x.Paused
	}
	return s.tx.w.q.SchedulePause(s.tx.w.ctx, dbsqlc.SchedulePauseParams{PausedAt: core.Micros(p.Since), PausedBy: p.By,
		PausedReason: p.Reason,
		NextAt:       core.Micros(x.Next), DueAt: core.Micros(x.Due), UpdatedAt: core.Micros(s.tx.op.At), ID: id})
}

// Delete removes a schedule with its slots. Its runs stay.
func (s ScheduleTx) Delete(id string) error {
	_, row, err := s.row(id)
	if err != nil {
		return err
	}
	return s.tx.w.q.ScheduleDelete(s.tx.w.ctx, row)
}

// Missed returns the missed slots of a schedule that wait for a decision. It returns CodeConflict if
// there are none.
func (s ScheduleTx) Missed(x domain.Schedule) (domain.MissedSlots, error) {
	_, row, err := s.row(x.ID)
	if err != nil {
		return domain.MissedSlots{}, err
	}
	m, err := s.tx.w.q.MissedOpen(s.tx.w.ctx, row)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.MissedSlots{}, domain.Errorf(domain.CodeConflict, "schedule %s has no missed slots that wait for a decision", x.Key)
	}
	return core.Missed(m, x.Key, x.PlanKey), err
}

// Decide records the decision on missed slots.
func (s ScheduleTx) Decide(x domain.Schedule, decision domain.CatchUp, by string, at time.Time) error {
	_, row, err := s.row(x.ID)
	if err != nil {
		return err
	}
	m, err := s.tx.w.q.MissedOpen(s.tx.w.ctx, row)
	if err != nil {
		return err
	}
	return s.tx.w.q.MissedDecide(s.tx.w.ctx, dbsqlc.MissedDecideParams{Decision: string(decision), DecidedBy: by,
		DecidedAt: core.Micros(at),
		ID:        m.ID})
}
