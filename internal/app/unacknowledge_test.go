package app_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

func TestUnacknowledgeARun(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	run := failedRun(t, w, storetest.Plan(t, w.Store, report))
	req := func(by domain.Actor, key string) app.RunRequest {
		return app.RunRequest{Meta: app.Meta{By: by, Key: key}, Run: run.ID}
	}
	if _, err := w.Runs.Unacknowledge(t.Context(), req(apptest.Viewer, "")); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("by a viewer: %v", err)
	}
	if r, err := w.Runs.Unacknowledge(t.Context(), req(apptest.Operator, "")); err != nil || !r.Attention {
		t.Errorf("a run that needs attention changed: %+v, %v", r, err)
	}
	if r, err := w.Runs.Acknowledge(t.Context(), app.AcknowledgeRequest{Meta: app.Meta{By: apptest.Operator}, Run: run.ID}); err != nil ||
		r.Attention {
		t.Fatalf("acknowledge: %+v, %v", r, err)
	}
	for range 2 { // the second request is a repetition
		if r, err := w.Runs.Unacknowledge(t.Context(), req(apptest.Operator, "k")); err != nil || !r.Attention {
			t.Errorf("unacknowledge: %+v, %v", r, err)
		}
	}
	if records := audited(t, w, "run.unacknowledge"); len(records) != 1 || records[0].Object != "run:"+run.ID {
		t.Errorf("audit records: %+v", records)
	}
	if groups, err := w.Failures.List(t.Context(), apptest.Viewer, 10); err != nil || len(groups) != 1 || groups[0].Runs != 1 {
		t.Errorf("failure groups: %+v, %v", groups, err)
	}
	missing := req(apptest.Operator, "")
	missing.Run = "zzzzzzzz"
	if _, err := w.Runs.Unacknowledge(t.Context(), missing); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a run that does not exist: %v", err)
	}
}
