package store

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// everyHookQuery creates a hook for a version, delivers to it, and deletes it.
func everyHookQuery(t *testing.T, s *Store, v domain.Version, must func(string, error)) {
	t.Helper()
	ctx, now := t.Context(), s.now()
	h := domain.Hook{ID: domain.NewID(), Key: "h", PlanID: v.PlanID, Actor: "t", HookSpec: domain.HookSpec{Scheme: domain.HookBearer,
		Secret: "S", Labels: map[string]string{"env": "prod"}}}
	do := func(name string, f func(tx *Tx) error) {
		t.Helper()
		_, _, err := s.Do(s.by(name, domain.System), func(tx *Tx) (string, error) { return "", f(tx) })
		must(name, err)
	}
	do("create", func(tx *Tx) error { return tx.Incoming().CreateHook(h) })
	d := domain.HookDelivery{ID: domain.NewID(), HookID: h.ID, Key: "k", State: domain.DeliveryAccepted, Verified: true, Body: "{}",
		ReceivedAt: now}
	run, created, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Delivery: &d})
	if must("run", err); !created {
		t.Error("no run")
	}
	if got, err := s.HookDelivery(ctx, d.ID); err != nil || got.Body != "{}" {
		t.Errorf("%+v %v", got, err)
	}
	again := d
	again.ID = domain.NewID()
	if other, created, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Delivery: &again}); err != nil || created ||
		other.ID != run.ID {
		t.Errorf("a second run: %t %s %v", created, other.ID, err)
	}
	refused := domain.HookDelivery{ID: domain.NewID(), HookID: h.ID, State: domain.DeliveryRefused, Reason: "r", ReceivedAt: now}
	must("record", s.RecordDelivery(ctx, refused))
	first, err := s.Accepted(ctx, h.ID, "k")
	if must("accepted", err); first.ID != d.ID || first.Run != run.ID {
		t.Errorf("%+v", first)
	}
	got, err := s.HookDelivery(ctx, d.ID)
	if must("delivery", err); got.Hook != "h" || got.Run != run.ID || !got.Verified {
		t.Errorf("%+v", got)
	}
	if id, err := s.DeliveryOfRun(ctx, run.ID); err != nil || id != d.ID {
		t.Errorf("delivery of the run: %q %v", id, err)
	}
	if id, err := s.DeliveryOfRun(ctx, "none"); err != nil || id != "" {
		t.Errorf("delivery of an unknown run: %q %v", id, err)
	}
	page, err := s.HookDeliveries(ctx, domain.DeliveryFilter{Hook: h.ID, Page: domain.Page{Limit: 1}})
	if must("deliveries", err); len(page.Items) != 1 || page.Items[0].ID != refused.ID || page.Next == "" {
		t.Errorf("%+v", page)
	}
	page, err = s.HookDeliveries(ctx, domain.DeliveryFilter{Hook: h.ID, State: domain.DeliveryAccepted,
		Page: domain.Page{After: page.Next}})
	if must("second page", err); len(page.Items) != 1 || page.Items[0].ID != d.ID {
		t.Errorf("%+v", page)
	}
	ids, at, _, err := s.Replayable(ctx, domain.ReplayFilter{Hook: h.ID, State: domain.DeliveryAccepted, Limit: 9})
	if must("replayable", err); len(ids) != 1 || ids[0] != d.ID || !at.Equal(d.ReceivedAt.Truncate(time.Microsecond)) {
		t.Errorf("%v %s", ids, at)
	}
	do("change", func(tx *Tx) error {
		x, err := tx.Incoming().Hook("h")
		x.Paused = &domain.Disablement{Since: now, By: "t"}
		must("read", err)
		return tx.Incoming().ChangeHook(x)
	})
	list, err := s.Hooks(ctx, domain.HookFilter{Text: "H"})
	if must("list", err); len(list.Items) != 1 || list.Items[0].Paused == nil || list.Items[0].Labels["env"] != "prod" ||
		list.Items[0].PlanKey == "" || list.Items[0].Last == nil || list.Items[0].Last.ID != refused.ID {
		t.Errorf("%+v", list.Items)
	}
	old := domain.HookDelivery{ID: domain.NewID(), HookID: h.ID, State: domain.DeliveryRefused, Body: "b", Verified: true}
	for i := range deletedAtOnce + 1 { // more than one transaction deletes
		x := old
		if i > 0 {
			x.ID = domain.NewID()
		}
		x.ReceivedAt = now.Add(-domain.HookRetention - time.Hour)
		do("record an old one", func(tx *Tx) error { return tx.Incoming().Record(x, 0) })
	}
	must("expire", s.Expire(ctx))
	page, err = s.HookDeliveries(ctx, domain.DeliveryFilter{Hook: h.ID, Page: domain.Page{Limit: 200}})
	if must("deliveries that are left", err); len(page.Items) != 2 {
		t.Errorf("%d deliveries are left, want 2", len(page.Items))
	}
	if _, err := s.HookDelivery(ctx, old.ID); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("an old delivery: %v", err)
	}
	files := h
	files.ID, files.Key = domain.NewID(), "files"
	files.HookSpec = domain.HookSpec{Scheme: domain.HookFiles, Files: "/in/*", Settle: time.Second}
	do("create a hook for files", func(tx *Tx) error { return tx.Incoming().CreateHook(files) })
	must("record a file", s.RecordDelivery(ctx, domain.HookDelivery{ID: domain.NewID(), HookID: files.ID, Key: "/in/a 1", Event: "/in/a 1",
		State: domain.DeliveryRefused, ReceivedAt: now}))
	watching, err := s.WatchingHooks(ctx)
	if must("watching", err); len(watching) != 1 || watching[0].Files != "/in/*" || watching[0].Settle != time.Second {
		t.Errorf("%+v", watching)
	}
	present := func(want int) {
		t.Helper()
		events, err := s.WatchedFiles(ctx, files.ID)
		if must("files", err); len(events) != want {
			t.Errorf("%q, want %d", events, want)
		}
	}
	present(1)
	must("mark", s.MarkFiles(ctx, files.ID, []domain.WatchedFile{{Event: "/in/a 1", Gone: true}}))
	present(0)
	if was, err := s.WasDelivered(ctx, files.ID, "/in/a 1"); err != nil || !was {
		t.Errorf("%t %v", was, err)
	}
	must("mark again", s.MarkFiles(ctx, files.ID, []domain.WatchedFile{{Event: "/in/a 1"}}))
	present(1)
	do("delete", func(tx *Tx) error { return tx.Incoming().DeleteHook(h.ID) })
	if _, err := s.Hook(ctx, "h"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a deleted hook: %v", err)
	}
}
