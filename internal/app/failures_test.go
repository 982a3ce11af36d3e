package app_test

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// failedRun stores a run that failed at node a.
func failedRun(t *testing.T, w *apptest.World, v domain.Version) domain.Run {
	t.Helper()
	r, _, err := w.Store.CreateRun(t.Context(), domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: "api"})
	if err != nil {
		t.Fatal(err)
	}
	node := "a"
	patch := &domain.RunPatch{
		Status: domain.RunFailed,
		Node:   &node,
		Error:  &domain.RunError{Code: "http", Message: "no answer", Node: node},
	}
	if err := w.Store.Commit(t.Context(), domain.Checkpoint{Run: r.ID, Patch: patch}); err != nil {
		t.Fatal(err)
	}
	if r, err = w.Store.FindRun(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAcknowledgeFailures(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	v := storetest.Plan(t, w.Store, report)
	run := failedRun(t, w, v)
	failedRun(t, w, v)
	groups, err := w.Failures.List(t.Context(), apptest.Viewer, 10)
	if err != nil || len(groups) != 1 || groups[0].Runs != 2 {
		t.Fatalf("%+v %v", groups, err)
	}
	req := func(by domain.Actor, key, note string) app.FailureChange {
		return app.FailureChange{Meta: app.Meta{By: by, Key: key}, FailureRef: groups[0].Ref(), Note: note}
	}
	if _, err := w.Failures.Acknowledge(t.Context(), req(apptest.Viewer, "", "")); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("by a viewer: %v", err)
	}
	for range 2 { // the second time is a repetition
		if n, err := w.Failures.Acknowledge(t.Context(), req(apptest.Operator, "k", "the bank knows")); err != nil || n != 2 {
			t.Errorf("%d runs, %v", n, err)
		}
	}
	if n, err := w.Failures.Acknowledge(t.Context(), req(apptest.Operator, "k2", "")); err != nil || n != 2 {
		t.Errorf("a second acknowledgment: %d runs, %v", n, err)
	}
	if run, err = w.Store.FindRun(t.Context(), run.ID); err != nil || run.Attention {
		t.Errorf("%+v %v", run, err)
	}
	if s, err := w.Failures.Standing(t.Context(), apptest.Viewer, run); err != nil || s.FailureGroup != nil || s.Acknowledged == nil ||
		s.Acknowledged.Note != "the bank knows" {
		t.Errorf("%+v %v", s, err)
	}
	if n, err := w.Failures.Unacknowledge(t.Context(), req(apptest.Operator, "k", "")); err != nil || n != 2 {
		t.Errorf("%d runs are back, %v", n, err)
	}
	if n, err := w.Failures.Unacknowledge(t.Context(), req(apptest.Operator, "", "")); err != nil || n != 2 {
		t.Errorf("%d runs are back a second time, %v", n, err)
	}
	if acks, unacks := audited(t, w, "failure.acknowledge"), audited(t, w, "failure.unacknowledge"); len(acks) != 1 || len(unacks) != 1 ||
		acks[0].Reason != "the bank knows" {
		t.Errorf("%+v %+v", acks, unacks)
	}
	late := req(apptest.Operator, "", "")
	late.ResumeAt = time.Now().Add(-time.Hour)
	if _, err := w.Failures.Acknowledge(t.Context(), late); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a time that is past: %v", err)
	}
	// The bulk operation that resumes the runs is stored once, together with the acknowledgment.
	late = req(apptest.Operator, "later", "")
	late.ResumeAt = time.Now().Add(time.Hour)
	for range 2 {
		if n, err := w.Failures.Acknowledge(t.Context(), late); err != nil || n != 2 {
			t.Errorf("acknowledged with a time to resume: %d, %v", n, err)
		}
	}
	if list, err := w.Bulk.List(t.Context(), apptest.Viewer, 10); err != nil || len(list) != 1 || list[0].Total != 2 ||
		list[0].NotBefore.IsZero() {
		t.Errorf("bulk operations: %+v, %v", list, err)
	}
}
