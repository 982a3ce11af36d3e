package store

import (
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// everySignalQuery sends signals to a run of a version, and ends a wait of it.
func everySignalQuery(t *testing.T, s *Store, v domain.Version, must func(string, error)) {
	t.Helper()
	ctx, now := t.Context(), s.now()
	send := func(x domain.Signal) domain.Signal {
		t.Helper()
		x.ID, x.Data, x.CreatedAt = domain.NewID(), domain.RawJSON("1"), now
		_, _, err := s.Do(s.by("send", domain.System), func(tx *Tx) (string, error) { return "", tx.Incoming().Send(x) })
		must("send", err)
		return x
	}
	one := send(domain.Signal{Name: "n", ExpiresAt: now.Add(time.Hour)})
	all := send(domain.Signal{Name: "n", ExpiresAt: now.Add(time.Hour), All: true})
	gone := send(domain.Signal{Name: "n", ExpiresAt: now.Add(-time.Hour)})
	run, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t"})
	must("run", err)
	wait := domain.SignalWait{ID: "w", Name: "n", Node: "a", Visit: 1, Item: -1, Since: now}
	must("wait", s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: run.LastSeq, Waits: []domain.SignalWait{wait},
		Patch: &domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitSignal}}))
	names, err := s.MatchableNames(ctx)
	if must("names", err); len(names) != 1 || names[0].Name != "n" {
		t.Errorf("%+v", names)
	}
	signals, waits, err := s.Matchable(ctx, "n", "", 10)
	must("matchable", err)
	if len(signals) != 2 || signals[0].ID != one.ID || !signals[1].All || len(waits) != 1 || waits[0].Run != run.ID {
		t.Errorf("%+v %+v", signals, waits)
	}
	second := wait
	second.ID, second.Node = "v", "b"
	must("second wait", s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: run.LastSeq, Waits: []domain.SignalWait{second},
		Patch: &domain.RunPatch{AddPath: "b"}}))
	var listed []string
	for f := (domain.WaitFilter{Text: "N", Page: domain.Page{Limit: 1}}); len(listed) < 9; {
		page, err := s.SignalWaits(ctx, f)
		must("waits", err)
		for _, w := range page.Items {
			listed = append(listed, w.ID+" "+w.Plan)
		}
		if f.Page.After = page.Next; page.Next == "" {
			break
		}
	}
	if want := []string{"v signaled", "w signaled"}; !slices.Equal(listed, want) {
		t.Errorf("waits %q, want %q", listed, want)
	}
	for _, after := range []string{"x", "[]"} {
		if _, err := s.SignalWaits(ctx, domain.WaitFilter{Page: domain.Page{After: after}}); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("cursor %q: %v", after, err)
		}
	}
	for _, x := range []domain.Signal{one, all} {
		end := domain.Checkpoint{Run: run.ID, Fence: run.LastSeq, Waits: []domain.SignalWait{{ID: "w", Node: "a", Visit: 1, Item: -1,
			Ended: true, Signal: x.ID}}, Patch: &domain.RunPatch{AddPath: "c"}}
		must("consume", s.Commit(ctx, end))
		if err := s.Commit(ctx, end); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("consumed twice: %v", err)
		}
		if done, err := s.Delivered(ctx, x.ID, domain.SignalWait{Run: run.ID, Node: "a", Item: -1}); err != nil || !done {
			t.Errorf("delivered: %t %v", done, err)
		}
		if got, err := s.Signal(ctx, x.ID); err != nil || got.Status != domain.SignalMatched || len(got.Matches) != 1 {
			t.Errorf("%+v %v", got, err)
		}
	}
	called := domain.Signal{ID: domain.NewID(), Name: domain.CallbackEvent, Key: run.ID, Data: domain.RawJSON("1"), CreatedAt: now,
		ExpiresAt: now.Add(-time.Hour)}
	must("callback", s.SendCallback(ctx, domain.System, called))
	for _, key := range []string{run.ID, "none"} {
		called.ID, called.Key = domain.NewID(), key
		if err := s.SendCallback(ctx, domain.System, called); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("a second callback to %s: %v", key, err)
		}
	}
	must("wait", s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: run.LastSeq, Waits: []domain.SignalWait{{ID: "w", Name: "n", Node: "a",
		Visit: 2, Item: -1, Since: now}}, Patch: &domain.RunPatch{AddPath: "d"}}))
	must("match", s.MatchWait(ctx, "w", called.ID))
	for _, w := range []string{"w", "none"} {
		if err := s.MatchWait(ctx, w, "other"); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("a second match of %s: %v", w, err)
		}
	}
	if list, err := s.Matched(ctx); err != nil || len(list) != 1 || list[0].Run != run.ID || list[0].Signal != called.ID ||
		list[0].Name != "n" {
		t.Errorf("matched %+v %v", list, err)
	}
	must("drop", s.DropWait(ctx, "w"))
	must("expire", s.Expire(ctx))
	list, err := s.Signals(ctx, domain.SignalFilter{Text: "N", Page: domain.Page{Limit: 1}})
	if must("list", err); len(list.Items) != 1 || list.Items[0].ID != gone.ID || list.Items[0].Status != domain.SignalUnmatched {
		t.Errorf("%+v", list)
	}
	list, err = s.Signals(ctx, domain.SignalFilter{Status: domain.SignalMatched, Page: domain.Page{After: list.Next}})
	if must("second page", err); len(list.Items) != 2 || list.Next != "" {
		t.Errorf("%+v", list)
	}
}
