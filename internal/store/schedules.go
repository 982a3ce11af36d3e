package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// claimed is the state of a slot before its run is created.
type claimed struct {
	schedule int64  // row
	run      string // that the slot started before
}

// Refusals of a slot: another process was first, the schedule was deleted, or it or its plan is paused.
func errSlotMoved(key string) error {
	return &domain.Error{Code: domain.CodeConflict, Reason: "schedule.moved", Message: "schedule " + key + " has moved to another slot"}
}

func errScheduleDeleted() error {
	return &domain.Error{Code: domain.CodeConflict, Reason: "schedule.deleted", Message: "the schedule was deleted"}
}

func errSchedulePaused(key string) error {
	return &domain.Error{Code: domain.CodeConflict, Reason: "schedule.paused", Message: "schedule " + key + " or its plan is paused"}
}

// claimSlot checks that a slot may start a run. It writes nothing.
func claimSlot(w *writer, c *domain.SlotClaim) (out claimed, err error) {
	if c == nil {
		return out, nil
	}
	s, err := w.q.ScheduleClaim(w.ctx, c.Schedule)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return out, errScheduleDeleted()
	case err != nil:
		return out, err
	}
	out.schedule = s.ID
	known, err := w.q.SlotGet(w.ctx, s.ID, core.Micros(c.Slot))
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return out, err
	case err == nil && known.RunID != 0:
		out.run = known.Run
		return out, nil
	case s.PlanPausedAt != 0 || s.PlanArchivedAt != 0:
		return out, errSchedulePaused(s.Key)
	case c.From.IsZero():
		return out, nil
	case s.PausedAt != 0:
		return out, errSchedulePaused(s.Key)
	case s.NextAt != core.Micros(c.From):
		return out, errSlotMoved(s.Key)
	}
	return out, nil
}

// settleClaim records that a slot started a run, and moves its schedule.
func settleClaim(w *writer, of claimed, c *domain.SlotClaim, run, at int64) error {
	if c == nil {
		return nil
	}
	n, err := w.q.SlotPut(w.ctx, dbsqlc.SlotPutParams{ScheduleID: of.schedule, Slot: core.Micros(c.Slot), State: domain.SlotStarted,
		RunID: run, At: at})
	if err == nil && n != 1 {
		err = fmt.Errorf("slot %s of schedule %d has a run", c.Slot, of.schedule)
	}
	failpoint.Hit("schedule.claimed")
	if err != nil {
		return err
	}
	return moveSchedule(w, of.schedule, c.SlotMove)
}

// moveSchedule moves a schedule to its next slot, unless it has moved already.
func moveSchedule(w *writer, id int64, m domain.SlotMove) error {
	if m.From.IsZero() {
		return nil
	}
	n, err := w.q.ScheduleMove(w.ctx, dbsqlc.ScheduleMoveParams{NextAt: core.Micros(m.Next), DueAt: core.Micros(m.Due), ID: id,
		Before: core.Micros(m.From)})
	if err != nil || n == 0 || m.Missed == nil {
		return err
	}
	return recordMissed(w, id, *m.Missed)
}

// recordMissed stores missed slots. Those that wait for a decision are added to earlier ones.
func recordMissed(w *writer, id int64, m domain.MissedSlots) error {
	if m.Decision == "" {
		open, err := w.q.MissedOpen(w.ctx, id)
		if err == nil {
			total := open.Slots + int64(m.Slots)
			more := m.More || open.More != 0 || total > domain.MaxMissedSlots
			return w.q.MissedExtend(w.ctx, dbsqlc.MissedExtendParams{LastSlot: core.Micros(m.Last),
				Slots: min(total, domain.MaxMissedSlots), More: core.Flag(more), ID: open.ID})
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return w.q.MissedInsert(w.ctx, dbsqlc.MissedInsertParams{PublicID: m.ID, ScheduleID: id, FirstSlot: core.Micros(m.First),
		LastSlot: core.Micros(m.Last), Slots: int64(m.Slots), More: core.Flag(m.More), Decision: string(m.Decision), DecidedBy: m.DecidedBy,
		DecidedAt: core.Micros(m.DecidedAt), CreatedAt: core.Micros(m.CreatedAt)})
}

// MoveSchedule moves a schedule to its next slot without a run. slot, if not nil, records why a slot
// started none. If the schedule has moved, was paused, or was deleted, nothing changes.
func (s schedules) MoveSchedule(_ context.Context, schedule string, m domain.SlotMove, slot *domain.Slot) error {
	_, _, err := s.store.Do(s.store.by("move a schedule", domain.System), func(tx *Tx) (string, error) {
		w := tx.w
		row, err := w.q.ScheduleClaim(w.ctx, schedule)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !m.From.IsZero() && row.NextAt != core.Micros(m.From) {
			return "", nil
		} else if err != nil {
			return "", err
		}
		if slot != nil {
			if _, err := w.q.SlotPut(w.ctx, dbsqlc.SlotPutParams{ScheduleID: row.ID, Slot: core.Micros(slot.At), State: slot.State,
				Reason: slot.Reason, At: core.Micros(slot.SettledAt)}); err != nil {
				return "", err
			}
			tx.audit("schedule."+slot.State, auditRow{record: domain.AuditRecord{Object: "schedule:" + row.Key, Reason: slot.Reason,
				Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"slot": slot.At}))}})
		}
		if m.Missed != nil {
			tx.audit("schedule.missed", auditRow{record: domain.AuditRecord{Object: "schedule:" + row.Key,
				Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"first": m.Missed.First, "last": m.Missed.Last,
					"slots": m.Missed.Slots,
					"more":  m.Missed.More, "decision": m.Missed.Decision}))}})
		}
		if m.Bulk != nil {
			if err := tx.CreateBulk(*m.Bulk, m.Items); err != nil {
				return "", err
			}
		}
		return "", moveSchedule(w, row.ID, m)
	})
	return core.Translate(err, "move a schedule")
}

// PauseSchedule pauses a schedule that cannot continue ("schedule.pause").
func (s schedules) PauseSchedule(_ context.Context, schedule, reason string) error {
	_, _, err := s.store.Do(s.store.by("pause a schedule", domain.System), func(tx *Tx) (string, error) {
		x, err := tx.Schedules().Get(schedule)
		if err != nil || x.Paused != nil {
			return "", err
		}
		x.Paused = &domain.Disablement{Since: tx.op.At, By: domain.System.Name, Reason: reason}
		tx.audit("schedule.pause", auditRow{record: domain.AuditRecord{Object: "schedule:" + x.Key, Reason: reason}})
		return x.ID, tx.Schedules().Pause(x)
	})
	return core.Translate(err, "pause a schedule")
}
