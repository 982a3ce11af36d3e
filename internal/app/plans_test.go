package app_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

const report = "id: report\nnodes: {a: {type: set, input: 1}}\n"

func change(by domain.Actor, key, reason string) app.PlanChange {
	return app.PlanChange{Meta: app.Meta{By: by, Key: key}, Plan: "report", Reason: reason}
}

// audited lists the audit records with an action, oldest first.
func audited(t *testing.T, w *apptest.World, action string) []domain.AuditEvent {
	t.Helper()
	list, err := w.Store.AuditEvents(t.Context(), domain.AuditFilter{Action: action, Page: domain.Page{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestPauseAndUnpause(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, report)
	start := func() domain.Code {
		_, err := w.Engine.Start(t.Context(), apptest.Operator, domain.StartRequest{Plan: "report"})
		return domain.CodeOf(err)
	}
	p, err := w.Plans.Pause(t.Context(), change(apptest.Operator, "", "it floods the bank"))
	if err != nil || p.Paused == nil || p.Paused.By != "otto" || p.Paused.Reason != "it floods the bank" {
		t.Fatalf("%+v %v", p.Paused, err)
	}
	if code := start(); code != domain.CodeConflict {
		t.Errorf("a start while it is paused: %q", code)
	}
	again, err := w.Plans.Pause(t.Context(), change(apptest.Author, "", "me too"))
	if err != nil || again.Paused.By != "otto" || !again.Paused.Since.Equal(p.Paused.Since) {
		t.Errorf("paused twice: %+v %v", again.Paused, err)
	}
	if p, err = w.Plans.Unpause(t.Context(), change(apptest.Operator, "", "it is over")); err != nil || p.Paused != nil {
		t.Errorf("unpaused: %+v %v", p.Paused, err)
	}
	if code := start(); code != "" {
		t.Errorf("a start afterwards: %q", code)
	}
	if records := audited(t, w, "plan.pause"); len(records) != 1 || records[0].Object != "plan:report" ||
		records[0].Reason != "it floods the bank" {
		t.Errorf("the audit log has %+v", records)
	}
}

func TestArchiveAndUnarchive(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, report)
	for range 2 { // the second request changes nothing
		if p, err := w.Plans.Archive(t.Context(), change(apptest.Author, "", "replaced")); err != nil || !p.Archived {
			t.Fatalf("%+v %v", p, err)
		}
	}
	if list, err := w.Store.Plans(t.Context(), domain.PlanFilter{}); err != nil || len(list.Items) != 0 {
		t.Errorf("an archived plan is listed: %+v %v", list.Items, err)
	}
	for range 2 {
		if p, err := w.Plans.Unarchive(t.Context(), change(apptest.Author, "", "")); err != nil || p.Archived {
			t.Fatalf("%+v %v", p, err)
		}
	}
	if a, b := audited(t, w, "plan.archive"), audited(t, w, "plan.unarchive"); len(a) != 1 || len(b) != 1 {
		t.Errorf("%d and %d records, want one of each", len(a), len(b))
	}
}

func TestPlanChangesAreRefused(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, report)
	token := domain.Actor{Name: "token ci", Role: domain.RoleAdmin, Source: "api", Scopes: "runs:write"}
	for name, c := range map[string]struct {
		do   func(context.Context, app.PlanChange) (domain.Plan, error)
		req  app.PlanChange
		want domain.Code
	}{
		"a viewer pauses":           {w.Plans.Pause, change(apptest.Viewer, "k1", ""), domain.CodeForbidden},
		"an operator archives":      {w.Plans.Archive, change(apptest.Operator, "k2", ""), domain.CodeForbidden},
		"a token without the scope": {w.Plans.Pause, change(token, "k3", ""), domain.CodeForbidden},
		"a plan that is not there": {w.Plans.Pause, app.PlanChange{Meta: app.Meta{By: apptest.Operator, Key: "k4"}, Plan: "none"},
			domain.CodeNotFound},
		"and without a key": {w.Plans.Unarchive, app.PlanChange{Meta: app.Meta{By: apptest.Author}, Plan: "none"},
			domain.CodeNotFound},
		"a viewer pauses with no key": {w.Plans.Unpause, change(apptest.Viewer, "", ""), domain.CodeForbidden},
	} {
		if _, err := c.do(t.Context(), c.req); domain.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if p, err := w.Store.Plan(t.Context(), "report"); err != nil || p.Paused != nil || p.Archived {
		t.Errorf("%+v %v", p, err)
	}
	if records := audited(t, w, "access.denied"); len(records) != 4 {
		t.Errorf("%d refusals are in the audit log, want 4", len(records))
	}
}

// A key identifies one request of one principal, also after a restart. A repetition returns the
// current plan.
func TestAKeyIdentifiesOneOperation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	w := apptest.On(t, storetest.OpenAt(t, path))
	storetest.Plan(t, w.Store, report)
	if _, err := w.Plans.Pause(t.Context(), change(apptest.Operator, "k", "why")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Plans.Unpause(t.Context(), change(apptest.Operator, "k", "over")); err != nil { // keys of other operations are separate
		t.Fatal(err)
	}
	w.Engine.Close()
	if err := w.Store.Close(); err != nil {
		t.Fatal(err)
	}
	w = apptest.On(t, storetest.OpenAt(t, path))
	repeated := false
	req := change(apptest.Operator, "k", "why")
	req.Repeated = &repeated
	if p, err := w.Plans.Pause(t.Context(), req); err != nil || !repeated || p.Paused != nil {
		t.Errorf("a repetition: %+v, repeated %v, %v", p.Paused, repeated, err)
	}
	if _, err := w.Plans.Pause(t.Context(), change(apptest.Operator, "k", "another reason")); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("the key of another request: %v", err)
	}
	if p, err := w.Plans.Pause(t.Context(), change(apptest.Author, "k", "why")); err != nil || p.Paused == nil {
		t.Errorf("the same key of somebody else: %+v %v", p.Paused, err)
	}
	if records := audited(t, w, "plan.pause"); len(records) != 2 {
		t.Errorf("%d pauses are in the audit log, want 2", len(records))
	}
}

// Refused operations that share a transaction with others undo only their own changes.
func TestRefusedOperationsUndoOnlyTheirChanges(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, report)
	var wg sync.WaitGroup
	errs := make([]error, 200)
	for i := range errs {
		wg.Go(func() {
			req := change(apptest.Operator, fmt.Sprint("k", i%50), "why") // each key four times
			if i%2 == 1 {
				req.Plan = "none"
			}
			_, errs[i] = w.Plans.Pause(context.Background(), req)
		})
	}
	wg.Wait()
	for i, err := range errs {
		if want := map[bool]domain.Code{true: domain.CodeNotFound, false: ""}[i%2 == 1]; domain.CodeOf(err) != want {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	if records := audited(t, w, "plan.pause"); len(records) != 1 {
		t.Errorf("%d pauses are in the audit log, want 1", len(records))
	}
}
