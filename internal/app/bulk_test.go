package app_test

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A bulk operation is started once per key, a role without permission is rejected, and a repeated
// stop finds it stopped.
func TestABulkOperationIsStartedOnce(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	failedRun(t, w, storetest.Plan(t, w.Store, report))
	later := time.Now().Add(time.Hour)
	repeated := false
	req := app.BulkStart{Meta: app.Meta{By: apptest.Operator, Key: "k", Repeated: &repeated},
		BulkRequest: domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed", NotBefore: later}}
	first, err := w.Bulk.Start(t.Context(), req)
	if err != nil || repeated || first.Total != 1 {
		t.Fatal(first, repeated, err)
	}
	again, err := w.Bulk.Start(t.Context(), req)
	if err != nil || !repeated || again.ID != first.ID {
		t.Errorf("a repetition gives %+v, repeated %v, %v", again, repeated, err)
	}
	if n := len(audited(t, w, "bulk.resume")); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	req.By, req.Key = apptest.Viewer, ""
	if _, err := w.Bulk.Start(t.Context(), req); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a viewer starts one: %v", err)
	}
	stop := app.BulkChange{Meta: app.Meta{By: apptest.Operator, Key: "s"}, Bulk: first.ID, Reason: "enough"}
	for range 2 { // the second request has the same key
		if b, err := w.Bulk.Stop(t.Context(), stop); err != nil || b.State != domain.BulkStopped {
			t.Errorf("stop: %+v, %v", b, err)
		}
	}
	stop.Key = ""
	if b, err := w.Bulk.Stop(t.Context(), stop); err != nil || b.State != domain.BulkStopped || b.Note != "stopped by otto: enough" {
		t.Errorf("stopped again: %+v %v", b, err)
	}
	stop.Bulk = "none"
	if _, err := w.Bulk.Stop(t.Context(), stop); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("stop nothing: %v", err)
	}
}
