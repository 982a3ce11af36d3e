package engine_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// asked returns the only approval of a run.
func asked(t *testing.T, e *enginetest.Engine, run string) domain.Approval {
	t.Helper()
	list, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("approvals %+v, %v", list.Items, err)
	}
	return list.Items[0]
}

// Damage that the integrity check finds has the same effect as damage found at a load: the run is
// quarantined, and its approval request is withdrawn with the reason. When the data can be read
// again, a release requests the approval again.
func TestACheckedRunRequestsNothing(t *testing.T) {
	t.Parallel()
	path, run, _ := waitingRun(t, billing)
	storetest.Alter(t, path, `UPDATE step_results SET output = replace(output, '4711', '4712') WHERE node = 'pay' AND final = 1`)
	s := storetest.OpenAt(t, path)
	e := enginetest.OpenOn(t, s, billingRegistry(), engine.Options{})
	if p := asked(t, e, run.ID); p.Status != "pending" {
		t.Fatalf("before anybody looked: %+v", p)
	}
	checks, err := recovery.Verify(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		for _, id := range c.Runs {
			if err := e.CheckDamage(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	quarantined := e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
	p := asked(t, e, run.ID)
	if p.Status != "cancelled" || p.DecidedBy != domain.System.Name || p.Comment != quarantined.Headline ||
		!strings.Contains(p.Comment, "is damaged") {
		t.Errorf("its question: %+v", p)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Approve: true}); domain.CodeOf(
		err,
	) != domain.CodeConflict ||
		!strings.Contains(err.Error(), "is damaged") {
		t.Errorf("an answer: %v", err)
	}
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	storetest.Alter(t, path, `UPDATE step_results SET output = replace(output, '4712', '4711') WHERE node = 'pay' AND final = 1`)
	e = enginetest.OpenOn(t, storetest.OpenAt(t, path), billingRegistry(), engine.Options{})
	if _, err := e.Do(run.ID, domain.ActionRelease); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	if p = asked(t, e, run.ID); p.Status != "pending" || p.Comment != "" {
		t.Fatalf("asked anew: %+v", p)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Wait(t.Context(), run.ID); err != nil || r.Status != domain.RunCompleted {
		t.Errorf("released: %s, %v", r.Status, err)
	}
}

// A run without its input, or without its settings, is quarantined like one with a damaged journal.
// Everything else can be read, the damage is reported with what to do, and the run can only be
// cancelled.
func TestARunWithoutItsInputIsQuarantined(t *testing.T) {
	t.Parallel()
	for part, statement := range map[domain.RunPart]string{
		domain.PartInput:   `UPDATE run_details SET input = '{"order"'`,
		domain.PartLimits:  `PRAGMA ignore_check_constraints = 1; UPDATE run_details SET limits = '{"max'`,
		domain.PartDetails: `DELETE FROM run_details`,
	} {
		t.Run(string(part), func(t *testing.T) {
			t.Parallel()
			path, run, rows := waitingRun(t, billing)
			storetest.Alter(t, path, statement)
			reg := billingRegistry()
			e := enginetest.OpenOn(t, storetest.OpenAt(t, path), reg, engine.Options{})
			d, err := e.Detail(t.Context(), run.ID)
			if err != nil || d.Damage == nil || len(d.Damage.Parts) == 0 || d.Damage.Parts[0].Part != part || d.Damage.Row != 0 ||
				len(d.Journal) != len(rows) {
				t.Fatalf("%d of %d rows, %+v, %v", len(d.Journal), len(rows), d.Damage, err)
			}
			quarantined := e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
			if !quarantined.Attention || !strings.Contains(quarantined.Headline, string(part)) || quarantined.Headline != d.Run.Headline {
				t.Errorf("put aside: %q, shown %q", quarantined.Headline, d.Run.Headline)
			}
			if p := asked(t, e, run.ID); p.Status != "cancelled" || p.Comment != quarantined.Headline {
				t.Errorf("its question: %+v", p)
			}
			for _, action := range []domain.Action{domain.ActionResume, domain.ActionRelease, domain.ActionFork, domain.ActionRerun} {
				_, err := e.Do(run.ID, action)
				if code := domain.CodeOf(err); code != domain.CodeConflict && code != domain.CodeNotResumable ||
					!strings.Contains(err.Error(), string(part)+" of the run is damaged") {
					t.Errorf("%s: %v", action, err)
				}
				p, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: action})
				if err != nil || p.Allowed || !strings.Contains(p.Suggestion.String(), "restore a backup") || p.Damage == nil {
					t.Errorf("preview of %s: %+v, %v", action, p, err)
				}
			}
			if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
				t.Errorf("cancel: %v", err)
			}
			if reg.Count("pay")+reg.Count("ship") != 0 {
				t.Error("something was done again")
			}
		})
	}
}
