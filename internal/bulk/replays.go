package bulk

import (
	"context"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/hook"
)

// PrepareReplays returns the bulk operation that replays deliveries to a hook. Launch starts it after
// it is stored.
func (s *Service) PrepareReplays(by domain.Actor, r domain.ReplayRequest) (domain.Bulk, []domain.BulkItem) {
	b := domain.Bulk{ID: domain.NewID(), Action: domain.ActionReplay, Query: "label.hook=" + r.Hook.Key, Reason: r.Reason, Actor: by.Name,
		Role: by.Role, Source: by.Source, Canary: r.Canary && len(r.Deliveries) > 1 && r.Hook.PlanID != "", Rate: r.Rate,
		State: domain.BulkRunning, Total: int64(len(r.Deliveries)), CreatedAt: s.Now().UTC()}
	if b.Canary {
		b.State = domain.BulkCanary
	}
	items := make([]domain.BulkItem, len(r.Deliveries))
	for i, id := range r.Deliveries { // the item names the delivery in place of a run
		items[i] = domain.BulkItem{Position: int64(i) + 1, Run: id, State: "pending"}
	}
	return b, items
}

// replay repeats one delivery. A delivery that an earlier process repeated for this operation keeps its
// result.
func (w *worker) replay(ctx context.Context, it *domain.BulkItem) (bool, error) {
	original, err := w.s.Store.HookDelivery(ctx, it.Run)
	var d domain.HookDelivery
	if err == nil {
		d, err = hook.New(hook.Config{Store: w.s.Store, Engine: w.s.Engine, Now: w.s.Now, Log: w.s.Log}).Replay(ctx, original, w.b.ID)
	}
	if ctx.Err() != nil && err != nil {
		return false, ctx.Err()
	}
	it.State, it.At, it.Result = "acted", w.s.Now(), d.Run
	if err != nil {
		e, ok := errors.AsType[*domain.Error](err)
		if !ok || e.Code == domain.CodeUnavailable || e.Code == domain.CodeNoSpace || e.Code == domain.CodeInternal {
			return false, fmt.Errorf("replay delivery %s: %w", it.Run, err)
		}
		it.State, it.Detail, it.Message = "refused", e.Message, e.Localize()
	}
	return it.State == "acted", w.settle(ctx, it)
}
