package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// childOf returns a child run with a concurrency key, as its execution reports it before its first step.
func childOf(parent domain.Run, v domain.Version, onConflict string) *domain.Run {
	return &domain.Run{ID: domain.NewID(), PlanKey: v.PlanKey, Version: v.Number, ProgramRef: domain.AsWritten(v.Hash),
		Status: domain.RunQueued, Input: domain.RawJSON("1"),
		Parent: &domain.ParentRef{Run: parent.ID, Node: "a", Visit: 1, Item: runstate.NoItem},
		Actor:  parent.Actor, Origin: "child", CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
		Concurrency: &domain.Concurrency{Key: "till-1", Limit: 1, OnConflict: onConflict}}
}

// A child run that is executed elsewhere begins when its concurrency key is free, also after a restart. Its report may be repeated, and
// one of the past lets it not begin.
func TestChildRunsElsewhereWaitForTheirKey(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, echo))
	v := e.Save(oneAtATime("queue"))
	parent := e.Begin(v, "2")
	e.Until(parent.ID, domain.RunWaiting, domain.WaitApproval)
	report := func(child *domain.Run, filled bool) error {
		return engine.RecordsOf(e.Engine).Add(t.Context(), engine.Report{Run: child.ID, Created: child, Now: child, Filled: filled})
	}
	must := func(child *domain.Run) {
		t.Helper()
		for range 2 {
			if err := report(child, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, second, past := childOf(parent, v, "queue"), childOf(parent, v, "queue"), childOf(parent, v, "skip")
	must(first)
	e.Until(first.ID, domain.RunWaiting, domain.WaitApproval)
	must(second)
	var refused *domain.Error
	if err := report(childOf(parent, v, "skip"), false); !errors.As(err, &refused) || refused.Reason != domain.ReasonConcurrency {
		t.Errorf("skip: %v", err)
	}
	if err := report(past, true); err != nil { // it was not refused in the past
		t.Fatal(err)
	}
	e = w.restart(func() {})
	answer(t, e, *first)
	e.Until(first.ID, domain.RunCompleted, "")
	e.Until(second.ID, domain.RunWaiting, domain.WaitApproval)
	newest := childOf(parent, v, "cancel_oldest")
	must(newest)
	e.Until(second.ID, domain.RunCancelled, "")
	e.Until(past.ID, domain.RunCancelled, "") // it was active, too
	e.Until(newest.ID, domain.RunWaiting, domain.WaitApproval)
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(slices.DeleteFunc(slices.Clone(w.launched), func(id string) bool { return id != second.ID })); n != 1 {
		t.Errorf("the second one was launched %d times", n)
	}
}
