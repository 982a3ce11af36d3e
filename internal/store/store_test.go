package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

const twoNodes = storetest.TwoNodes

var entry, commit = storetest.Entry, storetest.Commit

func TestCheckpointsAreReadBackAfterReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "kairos.db")
	ctx := context.Background()
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, twoNodes)
	run := storetest.Run(t, s, v, `{"n": 1}`)
	big := `"` + strings.Repeat("x", 1<<20) + `"`
	commit(t, s, run.ID, 0, &domain.RunPatch{Status: domain.RunRunning, AddSteps: 1, AddPath: "c"}, entry("a", `{"x":1.50}`))
	commit(t, s, run.ID, 1, nil, entry("b", big), entry("b", `null`))
	commit(t, s, run.ID, 3, &domain.RunPatch{Status: domain.RunCompleted, Output: domain.RawJSON(big)})
	before := s.Generation()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.OpenAt(t, path)
	if s.Generation() != before {
		t.Error("the incarnation changed without a restore")
	}
	if s.RolledBack() {
		t.Error("reported as rolled back")
	}
	got, err := s.Run(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != domain.RunCompleted || got.LastSeq != 3 || string(got.Output) != big || got.Path != "c" || got.Version != 1 ||
		got.PlanKey != "two" {
		t.Errorf("run: %+v", got)
	}
	journal, err := s.Journal(ctx, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(journal) != 3 || string(journal[0].Output) != `{"x":1.50}` || string(journal[1].Output) != big || journal[2].Seq != 3 {
		t.Errorf("journal: %d rows", len(journal))
	}
	report, err := s.VerifyAudit(ctx)
	if err != nil || len(report.Problems) > 0 || report.Events != 4 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	events, err := s.EventsAfter(ctx, 1, run.ID, 10)
	if err != nil || len(events) != 3 || len(events[1].Entries) != 2 {
		t.Errorf("events: %+v, %v", events, err)
	}
	counts, err := s.RunCounts(ctx)
	if err != nil || counts.ByStatus[domain.RunCompleted] != 1 || counts.Total != 1 {
		t.Errorf("counts: %+v, %v", counts, err)
	}
}

// CreateRun builds its result from the written values. It equals the stored run.
func TestACreatedRunIsWhatIsStored(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	parent := storetest.Run(t, s, v, "")
	at := time.UnixMicro(1_700_000_000_000_001).UTC()
	for name, n := range map[string]domain.NewRun{
		"nothing given": {},
		"everything": {Input: domain.RawJSON(`{"a":[1.50]}`), Status: domain.RunWaiting, Actor: "ana", Origin: "api", Session: "s",
			Priority: 3,
			Labels:   map[string]string{"env": "prod"}, Limits: domain.Limits{MaxSteps: 7}, Key: "once", StartAt: at,
			Lineage:     domain.Lineage{ForkedFrom: parent.ID, ForkSeq: 2, RerunOf: parent.ID},
			Parent:      &domain.ParentRef{Run: parent.ID, Node: "a", Visit: 1, Item: -1},
			Concurrency: &domain.Concurrency{Key: "c", Limit: 2, OnConflict: "skip"},
			Entries:     []domain.Entry{entry("a", "1"), entry("b", "2")},
			Audit:       []domain.AuditRecord{{Action: "run.created", Actor: "ana", Source: "api"}}},
		"a large input": {Input: domain.RawJSON(`"` + strings.Repeat("x", 10_000) + `"`), Origin: domain.OriginDry},
	} {
		n.PlanID, n.Hash = v.PlanID, v.Hash
		got, created, err := s.CreateRun(ctx, n)
		if err != nil || !created {
			t.Fatalf("%s: created %v, %v", name, created, err)
		}
		want, err := s.Run(ctx, got.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the run that was given differs from the one that is stored (-stored +given):\n%s", name, diff)
		}
		n.ID = got.ID
		again, created, err := s.CreateRun(ctx, n)
		if err != nil || created || !cmp.Equal(want, again) {
			t.Errorf("%s: created again: %v, %v", name, created, err)
		}
		byKey, err := s.RunByKey(ctx, n.Key)
		if n.Key == "" && domain.CodeOf(err) != domain.CodeNotFound || n.Key != "" && (err != nil || !cmp.Equal(want, byKey)) {
			t.Errorf("%s: found by its key: %+v, %v", name, byKey, err)
		}
	}
	if counts, err := s.RunCounts(ctx); err != nil || counts.Total != 3 {
		t.Errorf("%d runs are counted, want 3 (a dry run is not): %v", counts.Total, err)
	}
}

func TestASecondWriterLoses(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	run := storetest.Run(t, s, storetest.Plan(t, s, twoNodes), "")
	commit(t, s, run.ID, 0, nil, entry("a", "1"))
	err := s.Commit(context.Background(), domain.Checkpoint{Run: run.ID, Fence: 0, Entries: []domain.Entry{entry("a", "2")}})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("got %v, want a conflict", err)
	}
	// A checkpoint without rows is rejected too.
	for name, patch := range map[string]*domain.RunPatch{"steps": {AddSteps: 7}, "status": {Status: domain.RunCancelled}} {
		if err := s.Commit(context.Background(), domain.Checkpoint{Run: run.ID, Fence: 0, Patch: patch}); domain.CodeOf(
			err,
		) != domain.CodeConflict {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
	}
	journal, err := s.Journal(context.Background(), run.ID, 0)
	if err != nil || len(journal) != 1 || string(journal[0].Output) != "1" {
		t.Errorf("journal %v, %v", journal, err)
	}
	if r, err := s.Run(context.Background(), run.ID); err != nil || r.Steps != 0 || r.Status != domain.RunQueued {
		t.Errorf("the run is %s with %d steps, %v", r.Status, r.Steps, err)
	}
}

func TestASecondProcessLearnsWhichProcessHasTheDatabaseOpen(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	_, err := store.Open(context.Background(), s.Path(), store.Options{})
	if domain.CodeOf(err) != domain.CodeLocked || !strings.Contains(err.Error(), "process ") {
		t.Errorf("got %v", err)
	}
	r, err := store.Open(context.Background(), s.Path(), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Audit(context.Background(), domain.AuditRecord{Action: "x"}); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a read-only store wrote: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestManyRunsCommitTogether(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	var seen sync.Map
	s.OnCommit(func(events []domain.AuditEvent) {
		for _, e := range events {
			if _, twice := seen.LoadOrStore(e.Seq, true); twice {
				t.Errorf("event %d delivered twice", e.Seq)
			}
		}
	})
	const runs, steps = 50, 20
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			run := storetest.Run(t, s, v, "")
			for i := range steps {
				commit(t, s, run.ID, int64(i), &domain.RunPatch{AddSteps: 1}, entry("a", fmt.Sprint(i)))
			}
			journal, err := s.Journal(context.Background(), run.ID, 0)
			if err != nil || len(journal) != steps {
				t.Errorf("journal of %d rows, %v", len(journal), err)
			}
		})
	}
	wg.Wait()
	last, err := s.LastEvent(context.Background())
	if err != nil || last != runs*steps+1 { // and one for the version of the plan
		t.Errorf("last event %d, %v", last, err)
	}
	if report, err := s.VerifyAudit(context.Background()); err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v %v", report, err)
	}
}

func TestEnqueuedCheckpointsOfARunAreFIFO(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	run := storetest.Run(t, s, storetest.Plan(t, s, twoNodes), "")
	results := make(chan error, 4)
	for i := range 2 {
		s.Enqueue(
			[]domain.Checkpoint{{Run: run.ID, Fence: int64(i), Entries: []domain.Entry{entry("a", "1")}}},
			func(err error) { results <- err },
		)
	}
	s.Enqueue([]domain.Checkpoint{{Run: run.ID, Fence: 7, Entries: []domain.Entry{entry("a", "1")}}}, func(err error) { results <- err })
	s.Enqueue([]domain.Checkpoint{{Run: run.ID, Fence: 8, Entries: []domain.Entry{entry("a", "1")}}}, func(err error) { results <- err })
	for i := range 4 {
		if err := <-results; (err == nil) != (i < 2) {
			t.Errorf("checkpoint %d: %v", i, err)
		}
	}
}

func TestRunListPagesByKey(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	v := storetest.Plan(t, s, twoNodes)
	var ids []string
	for range 7 {
		ids = append(ids, storetest.Run(t, s, v, "").ID)
	}
	commit(t, s, ids[2], 0, &domain.RunPatch{Status: domain.RunRunning}, entry("a", "1"))
	commit(t, s, ids[2], 1, &domain.RunPatch{Status: domain.RunFailed, Error: &domain.RunError{Code: "x", Message: "m", Node: "a"}})
	page, err := s.Runs(ctx, domain.RunFilter{Page: domain.Page{Limit: 3}})
	if err != nil || len(page.Items) != 3 || page.Items[0].ID != ids[6] || page.Prev != "" || page.Next == "" {
		t.Fatalf("first page: %+v %v", page, err)
	}
	second, err := s.Runs(ctx, domain.RunFilter{Page: domain.Page{Limit: 3, After: page.Next}})
	if err != nil || len(second.Items) != 3 || second.Items[0].ID != ids[3] || second.Prev == "" {
		t.Fatalf("second page: %+v %v", second, err)
	}
	back, err := s.Runs(ctx, domain.RunFilter{Page: domain.Page{Limit: 3, Before: second.Prev}})
	if err != nil || len(back.Items) != 3 || back.Items[0].ID != ids[6] {
		t.Fatalf("back: %+v %v", back, err)
	}
	for name, f := range map[string]domain.RunFilter{
		"status": {Statuses: []domain.RunStatus{domain.RunFailed}}, "attention": {NeedsAttention: true}, "error": {ErrorCode: "x"},
		"two statuses":    {Statuses: []domain.RunStatus{domain.RunFailed, domain.RunCompleted}, PlanKey: "two"},
		"plan and status": {Statuses: []domain.RunStatus{domain.RunFailed}, PlanKey: "two"}, "tail": {IDTail: ids[2][20:]},
		"ended since": {Statuses: []domain.RunStatus{domain.RunFailed, domain.RunCancelled}, Since: time.Now().Add(-time.Hour)},
		"since": {Statuses: []domain.RunStatus{domain.RunFailed}, Since: time.Now().Add(-time.Hour),
			Until: time.Now().Add(time.Hour)},
	} {
		got, err := s.Runs(ctx, f)
		if err != nil || len(got.Items) != 1 || got.Items[0].ID != ids[2] {
			t.Errorf("%s: %d items, %v", name, len(got.Items), err)
		}
		if n, _, err := s.RunsCount(ctx, f, 100); err != nil || n != 1 {
			t.Errorf("%s: count %d, %v", name, n, err)
		}
	}
	if n, _, err := s.RunsCount(ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed},
		Since: time.Now().Add(time.Hour)}, 100); err != nil ||
		n != 0 {
		t.Errorf("%d runs ended in the future, %v", n, err)
	}
	if _, err := s.Runs(ctx, domain.RunFilter{Page: domain.Page{After: "zzz"}}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a made-up cursor: %v", err)
	}
	if r, err := s.FindRun(ctx, ids[4][20:]); err != nil || r.ID != ids[4] {
		t.Errorf("by tail: %v %v", r.ID, err)
	}
	if r, err := s.FindRun(ctx, ids[4]); err != nil || r.ID != ids[4] {
		t.Errorf("by id: %v %v", r.ID, err)
	}
}

func TestTheDatabaseRefusesIllegalTransitions(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	for _, from := range domain.RunStatuses {
		for _, to := range domain.RunStatuses {
			run := storetest.Run(t, s, v, "")
			seq := int64(0)
			for _, st := range []domain.RunStatus{domain.RunRunning, from} {
				if st == domain.RunQueued && from == domain.RunQueued && seq == 0 {
					break
				}
				commit(t, s, run.ID, seq, &domain.RunPatch{Status: st, WaitReason: reason(st)}, entry("a", "1"))
				seq++
			}
			err := s.Commit(
				context.Background(),
				domain.Checkpoint{Run: run.ID, Fence: seq, Patch: &domain.RunPatch{Status: to, WaitReason: reason(to)}},
			)
			if (err == nil) != domain.CanMove(from, to) {
				t.Errorf("%s → %s: %v", from, to, err)
			}
		}
	}
}

func reason(s domain.RunStatus) domain.WaitReason {
	if s == domain.RunWaiting {
		return domain.WaitTimer
	}
	return ""
}

func BenchmarkCommit(b *testing.B) {
	for _, waiting := range []int{1, 32, 128, 500} {
		b.Run(fmt.Sprintf("runs=%d", waiting), func(b *testing.B) {
			s := storetest.Open(b)
			v := storetest.Plan(b, s, twoNodes)
			ids := make([]string, waiting)
			for i := range ids {
				ids[i] = storetest.Run(b, s, v, "").ID
			}
			b.ResetTimer()
			var wg sync.WaitGroup
			for w, id := range ids {
				wg.Go(func() {
					for i := int64(0); i < int64(b.N/waiting)+1; i++ {
						if err := s.Commit(context.Background(),
							domain.Checkpoint{Run: id, Fence: i, Entries: []domain.Entry{entry("a",
								`{"x":1,"text":"about a hundred bytes of json, as a node's result usually has, more or less so"}`)},
								Patch: &domain.RunPatch{AddSteps: 1}}); err != nil {
							b.Errorf("run %d: %v", w, err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "checkpoints/s")
		})
	}
}
