package bulk_test

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A replay starts a run for each refused delivery, oldest first, and is recorded with the operation. Nothing
// is left for another one.
func TestReplayOfDeliveries(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: order\nnodes: {a: {type: set, input: \"${input.n}\"}}\n")
	plan, scheme, secret := "order", domain.HookBearer, "S"
	by := app.Meta{By: site.Admin}
	h, err := site.App.Hooks.Create(t.Context(), app.NewHook{Meta: by, Key: "orders", HookFields: app.HookFields{Plan: &plan,
		Scheme: &scheme, Secret: &secret}})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"e1", "e2", "e1"} {
		d := domain.HookDelivery{ID: domain.NewID(), HookID: h.ID, Key: event, Event: event, State: domain.DeliveryRefused, Verified: true,
			Body: `{"n": 1}`, ReceivedAt: time.Now()}
		if err := site.Store.RecordDelivery(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	p, err := site.App.Hooks.PreviewReplay(t.Context(), site.Admin, app.Replay{Hook: "orders"})
	if err != nil || len(p.Deliveries) != 2 {
		t.Fatalf("%+v %v", p, err)
	}
	b, err := site.App.Hooks.Replay(t.Context(), app.Replay{Meta: by, Hook: "orders", Digest: p.Digest, Canary: true})
	if err != nil {
		t.Fatal(err)
	}
	if b = wait(t, site.Bulk, b.ID, over); b.State != domain.BulkDone || b.Acted != 2 {
		t.Errorf("%+v", b)
	}
	items, err := site.Store.BulkItems(t.Context(), domain.BulkItemFilter{Bulk: b.ID, Limit: 10})
	if err != nil || len(items) != 2 || items[0].Run != p.Deliveries[0] || items[0].Result == "" {
		t.Errorf("%+v %v", items, err)
	}
	runs, err := site.Store.Runs(t.Context(), domain.RunFilter{Labels: map[string]string{"hook": "orders"}})
	if err != nil || len(runs.Items) != 2 {
		t.Errorf("%d runs, %v", len(runs.Items), err)
	}
	if _, err := site.App.Hooks.Replay(t.Context(), app.Replay{Meta: by, Hook: "orders"}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a second replay: %v", err)
	}
}
