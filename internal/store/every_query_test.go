package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// everyPositionQuery runs the queries of lists and checks about positions.
func everyPositionQuery(t *testing.T, s *Store, must func(string, error)) {
	t.Helper()
	ctx := t.Context()
	_, err := s.HandoffsOf(ctx, domain.HandoffFilter{Since: time.Now().Add(-time.Hour)})
	must("handoffs since", err)
	_, err = s.q.HandoffFrom(ctx, 1)
	if !errors.Is(err, sql.ErrNoRows) {
		must("a handoff", err)
	}
	_, err = s.q.RunFrom(ctx, 1)
	must("a run", err)
	_, err = s.q.VersionName(ctx, 1)
	must("a version", err)
	_, err = s.q.UnfinishedRunsOfPayload(ctx, []byte("none"), 1)
	must("runs of a value", err)
	_, err = s.q.AuditNewestOf(ctx, "user.create")
	if !errors.Is(err, sql.ErrNoRows) {
		must("an event", err)
	}
	_, err = s.q.StepsOfAnotherAudit(ctx, dbsqlc.StepsOfAnotherAuditParams{RunID: 1, First: 1, Last: 1})
	must("rows of an event", err)
	must("a status message", s.writer.perform(func(w *writer) ([]auditRow, error) {
		_, err := w.q.RunMoveMessage(w.ctx, dbsqlc.RunMoveMessageParams{ID: 1 << 40})
		return nil, err
	}))
}

// everyFailureQuery runs the queries of the home page for a run of plan p that failed with x.
func everyFailureQuery(t *testing.T, s *Store, must func(string, error)) {
	t.Helper()
	ctx := context.Background()
	marta := domain.Actor{Name: "marta", Role: domain.RoleOperator, Source: "ui"}
	groups, err := s.FailureGroups(ctx, 10)
	if must("groups", err); len(groups) != 1 || groups[0].Code != "x" || groups[0].Ack != nil {
		t.Fatalf("%+v", groups)
	}
	ref := groups[0].Ref()
	n, err := s.AckFailures(ctx, marta, ref, "the bank knows")
	if must("ack", err); n != 1 {
		t.Errorf("%d runs were acknowledged", n)
	}
	counts, err := s.RunCounts(ctx)
	if must("counts", err); counts.Acknowledged != 1 || counts.NeedsAttention != counts.Held || counts.ByStatus[domain.RunFailed] != 1 {
		t.Errorf("%+v", counts)
	}
	acks, err := s.FailureAcks(ctx, time.Now().Add(-time.Hour), 10)
	if must("acks", err); len(acks) != 1 || acks[0].Note != "the bank knows" || acks[0].FailureRef != ref {
		t.Errorf("%+v", acks)
	}
	list, err := s.Runs(ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed}, Acknowledged: true})
	if must("acknowledged", err); len(list.Items) != 1 {
		t.Errorf("%d acknowledged runs", len(list.Items))
	}
	if _, err := s.AckFailures(ctx, marta, ref, ""); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a second time: %v", err)
	}
	n, err = s.UnackFailures(ctx, marta, ref)
	if must("unack", err); n != 1 {
		t.Errorf("%d runs came back", n)
	}
	origin, err := s.FailureOrigin(ctx, ref)
	if must("origin", err); origin.Version != 2 || origin.FirstAt.IsZero() || origin.Good != "" {
		t.Errorf("%+v", origin)
	}
	if crashed, err := s.Runs(ctx, domain.RunFilter{HasCrash: true}); err != nil || len(crashed.Items) != 0 {
		t.Errorf("crashed: %d %v", len(crashed.Items), err)
	}
	failed := groups[0].Newest
	must("label", s.LabelRun(ctx, marta, failed, map[string]string{"case": "4711"}, ""))
	must("label anew", s.LabelRun(ctx, marta, failed, map[string]string{"case": "4712"}, ""))
	if labelled, err := s.Runs(ctx, domain.RunFilter{Labels: map[string]string{"case": "4712"}}); err != nil || len(labelled.Items) != 1 ||
		labelled.Items[0].Labels["case"] != "4712" {
		t.Errorf("labelled: %+v %v", labelled.Items, err)
	}
	if old, err := s.Runs(ctx, domain.RunFilter{Labels: map[string]string{"case": "4711"}}); err != nil || len(old.Items) != 0 {
		t.Errorf("a label that was replaced: %d %v", len(old.Items), err)
	}
	must("ack one", s.AckRun(ctx, marta, failed, "known"))
	if err := s.AckRun(ctx, marta, failed, ""); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a run twice: %v", err)
	}
	if _, err := s.UnackFailures(ctx, marta, ref); err != nil {
		t.Errorf("take back: %v", err)
	}
	if codes, err := s.Known(ctx, "error", 10); err != nil || !slices.Contains(codes, "x") {
		t.Errorf("known codes: %q %v", codes, err)
	}
	for _, key := range []string{"by", domain.UseAgent, domain.UseTool, domain.UseProvider} {
		_, err := s.Known(ctx, key, 10)
		must("known "+key, err)
	}
	times, err := s.FailureTimes(ctx, ref)
	if must("times of the group", err); len(times) != 1 {
		t.Errorf("the group's runs failed at %v", times)
	}
	everySpendQuery(t, s, failed, must)
	out, err := s.Outcomes(ctx, time.Now().Add(-time.Hour))
	if must("outcomes", err); len(out) != 1 || out[0].Runs != 1 || out[0].Status != domain.RunFailed {
		t.Errorf("%+v", out)
	}
	of, err := s.PlanOutcomes(ctx, "p", time.Now().Add(-time.Hour))
	if must("outcomes", err); of[domain.RunFailed] != 1 {
		t.Errorf("%+v", of)
	}
	if run, at, err := s.NextStart(ctx, "p"); err != nil || run != "" || !at.IsZero() {
		t.Errorf("next: %q %v, %v", run, at, err)
	}
	last, err := s.LastRuns(ctx, "p", 5)
	if must("last runs", err); len(last) != 2 || last[1].Status != domain.RunFailed {
		t.Errorf("%+v", last)
	}
	_, _, err = s.Do(Operation{Name: "add-note", By: marta, At: time.Now()}, func(tx *Tx) (string, error) {
		_, err := tx.AddNote(last[0].ID, "the bank\nknows")
		return last[0].ID, err
	})
	must("note", err)
	notes, err := s.Notes(ctx, last[0].ID)
	if must("notes", err); len(notes) != 1 || notes[0].Text != "the bank\nknows" || notes[0].Actor != marta.Name {
		t.Errorf("%+v", notes)
	}
	recent, err := s.RecentNotes(ctx, time.Now().Add(-time.Hour), 5)
	if must("recent notes", err); len(recent) != 1 || recent[0].Run != last[0].ID || recent[0].Plan.Key != "p" {
		t.Errorf("%+v", recent)
	}
	users, err := s.PlansThatRun(ctx, "p", 5)
	if must("plans that run it", err); len(users) != 0 {
		t.Errorf("%v", users)
	}
	_, _, err = s.Do(
		Operation{Name: "set-preference"},
		func(tx *Tx) (string, error) { return "", tx.SetPreference("marta", "columns", "cost") },
	)
	must("prefer", err)
	if v, err := s.Preference(ctx, "marta", "columns"); err != nil || v != "cost" {
		t.Errorf("%q %v", v, err)
	}
	if v, err := s.Preference(ctx, "marta", "other"); err != nil || v != "" {
		t.Errorf("%q %v", v, err)
	}
}
