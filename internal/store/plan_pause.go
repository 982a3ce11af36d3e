package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// pausedKey is where it is kept of which plans no run starts: by id, since when, by
// whom and why.
const pausedKey = "plans.paused"

// paused are the plans of which no run starts. They are read once: only PausePlan
// changes them. The map must not be changed.
func (s *Store) paused(ctx context.Context) (map[string]domain.Stop, error) {
	if known := s.pausedPlans.Load(); known != nil {
		return *known, nil
	}
	text, err := s.Setting(ctx, pausedKey)
	if err != nil {
		return nil, err
	}
	list, err := readPaused(text)
	if err != nil {
		return nil, err
	}
	s.pausedPlans.CompareAndSwap(nil, &list)
	return list, nil
}

func readPaused(text string) (map[string]domain.Stop, error) {
	list := map[string]domain.Stop{}
	if text == "" {
		return list, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "which plans are paused cannot be read: %w", err)
	}
	return list, nil
}

// PausePlan lets no run of a plan start, or, with on false, lets them start again. It is
// durable, with the record of it, on return. CodeConflict when it is so already.
func (s *Store) PausePlan(_ context.Context, planID string, on bool, actor domain.Actor, reason string) error {
	s.pausing.Lock() // what is known follows what is stored, in its order
	defer s.pausing.Unlock()
	var next map[string]domain.Stop
	err := s.writer.perform(func(w *writer) ([]auditRow, error) {
		p, err := w.q.PlanByPublicID(w.ctx, planID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, domain.Errorf(domain.CodeNotFound, "no plan %q", planID)
		} else if err != nil {
			return nil, err
		}
		text, err := w.q.SettingGet(w.ctx, pausedKey)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		list, err := readPaused(text)
		if err != nil {
			return nil, err
		}
		switch was, paused := list[planID]; {
		case paused && on:
			return nil, domain.Errorf(domain.CodeConflict, "plan %s is paused already, since %s by %s", p.Key, was.Since.Format(time.DateTime), was.By)
		case !paused && !on:
			return nil, domain.Errorf(domain.CodeConflict, "plan %s is not paused", p.Key)
		}
		next = maps.Clone(list)
		action := "plan.unpause"
		if delete(next, planID); on {
			action, next[planID] = "plan.pause", domain.Stop{Since: w.s.now().UTC().Truncate(time.Millisecond), By: actor.Name, Reason: reason}
		}
		raw, err := json.Marshal(next)
		if err != nil {
			return nil, fmt.Errorf("write down which plans are paused: %w", err)
		}
		return []auditRow{{record: domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + p.Key, Reason: reason,
			Detail: domain.ChangeDetail(map[string]bool{"paused": !on}, map[string]bool{"paused": on})}}}, w.q.SettingPut(w.ctx, pausedKey, string(raw))
	})
	if err != nil {
		return err
	}
	s.pausedPlans.Store(&next)
	return nil
}

// pauses fills in which of the plans are paused.
func (s *Store) pauses(ctx context.Context, plans []domain.Plan) error {
	list, err := s.paused(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	for i := range plans {
		if stop, ok := list[plans[i].ID]; ok {
			plans[i].Paused = &stop
		}
	}
	return nil
}

// plansPaused lists the paused plans that a filter allows, latest change first: all on
// one page, since people pause few.
func (s *Store) plansPaused(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error) {
	var list domain.List[domain.Plan]
	paused, err := s.paused(ctx)
	if err != nil {
		return list, err
	}
	text := strings.ToLower(f.Text)
	for id := range paused {
		p, err := s.Plan(ctx, id)
		if err != nil {
			return list, err
		}
		if p.Archived || text != "" && !strings.Contains(strings.ToLower(p.Name), text) && !strings.Contains(strings.ToLower(p.Key), text) {
			continue
		}
		facts, err := s.PlanFacts(ctx, p.Key)
		if err != nil {
			return list, err
		}
		if !slices.ContainsFunc(f.Facts, func(want domain.PlanFact) bool { return !slices.Contains(facts, want) }) {
			list.Items = append(list.Items, p)
		}
	}
	slices.SortFunc(list.Items, func(a, b domain.Plan) int {
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	return list, nil
}
