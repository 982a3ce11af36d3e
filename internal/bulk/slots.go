package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/schedule"
)

// PrepareSlots returns the bulk operation that runs past slots of a schedule, oldest first. Launch
// starts it after it is stored.
func (s *Service) PrepareSlots(by domain.Actor, r domain.BackfillRequest) (domain.Bulk, []domain.BulkItem) {
	b := domain.Bulk{ID: domain.NewID(), Action: domain.ActionBackfill, Query: "schedule:" + r.Schedule.Key, Reason: r.Reason,
		Actor: by.Name, Role: by.Role, Source: by.Source, Canary: r.Canary && len(r.Slots) > 1, Rate: r.Rate, State: domain.BulkRunning,
		Total: int64(len(r.Slots)), CreatedAt: s.Now().UTC()}
	if b.Canary {
		b.State = domain.BulkCanary
	}
	items := make([]domain.BulkItem, len(r.Slots))
	for i, slot := range r.Slots {
		// The item names the schedule and the slot in place of a run.
		items[i] = domain.BulkItem{Position: int64(i) + 1, Run: domain.SlotName(r.Schedule.ID, slot), State: "pending"}
	}
	return b, items
}

// backfill runs one slot. A slot that started a run before, also by an earlier process, keeps it.
func (w *worker) backfill(ctx context.Context, it *domain.BulkItem) (bool, error) {
	id, slot, err := domain.SplitSlotName(it.Run)
	var run domain.Run
	if err == nil {
		run, err = w.startSlot(ctx, id, slot)
	}
	if ctx.Err() != nil && err != nil {
		return false, ctx.Err()
	}
	it.State, it.At, it.Result = "acted", w.s.Now(), run.ID
	if err != nil {
		e, ok := errors.AsType[*domain.Error](err)
		if !ok || e.Code == domain.CodeUnavailable || e.Code == domain.CodeNoSpace || e.Code == domain.CodeInternal {
			return false, fmt.Errorf("run slot %s: %w", it.Run, err)
		}
		it.State, it.Detail, it.Message = "refused", e.Message, e.Localize()
	}
	return it.State == "acted", w.settle(ctx, it)
}

// startSlot starts the run of a slot.
func (w *worker) startSlot(ctx context.Context, id string, slot time.Time) (domain.Run, error) {
	return schedule.StartSlot(ctx, w.s.Store, w.s.Engine, w.actor, id, slot)
}
