package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// crashEnv turns the test binary into a process that commits until it is killed.
const crashEnv = "KAIROS_TEST_COMMIT_FOREVER"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashEnv); path != "" {
		if err := commitForEver(path); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// commitForEver commits to several runs at once. After every commit, it prints what is
// acknowledged.
func commitForEver(path string) error {
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		return err
	}
	runs, err := s.Unfinished(context.Background())
	if err != nil {
		return err
	}
	var mu sync.Mutex
	errs := make(chan error)
	for _, run := range runs {
		go func() {
			for fence := run.LastSeq; ; fence++ {
				if err := s.Commit(context.Background(),
					domain.Checkpoint{Run: run.ID, Fence: fence, Entries: []domain.Entry{entry("a", `"x"`)},
						Patch: &domain.RunPatch{AddSteps: 1}}); err != nil {
					errs <- err
					return
				}
				mu.Lock()
				fmt.Println("ack", run.ID, fence+1)
				mu.Unlock()
			}
		}()
	}
	return <-errs
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, twoNodes)
	for range 20 {
		storetest.Run(t, s, v, "")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acked := map[string]int64{}
	for round := range 5 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashEnv+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			var run string
			var seq int64
			if _, err := fmt.Sscanf(lines.Text(), "ack %s %d", &run, &seq); err != nil {
				t.Fatalf("child: %s", lines.Text())
			}
			acked[run] = max(acked[run], seq)
			if n == 300+97*round {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var exit *exec.ExitError
		if err := child.Wait(); !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("the child was not killed: %v", err)
		}
	}
	s = storetest.OpenAt(t, path)
	if s.RolledBack() {
		t.Error("a crash looks like a rollback")
	}
	runs, err := s.Unfinished(ctx)
	if err != nil || len(runs) != 20 || len(acked) != 20 {
		t.Fatalf("%d runs, %d acknowledged, %v", len(runs), len(acked), err)
	}
	for _, r := range runs {
		journal, err := s.Journal(ctx, r.ID, 0)
		if err != nil || int64(len(journal)) != r.LastSeq || r.Steps != r.LastSeq {
			t.Errorf("run at %d with %d steps and %d rows, %v", r.LastSeq, r.Steps, len(journal), err)
		}
		if r.LastSeq < acked[r.ID] {
			t.Errorf("run %s: %d acknowledged, %d found", r.ID, acked[r.ID], r.LastSeq)
		}
	}
	if report, err := s.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

func TestValuesOfEverySizeComeBack(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	run := storetest.Run(t, s, storetest.Plan(t, s, twoNodes), "")
	sizes := []int{2, 3, 4095, 4096, 4097, 300 << 10, 1 << 20, core.MaxPayload}
	if testing.Short() {
		sizes = sizes[:7]
	}
	var want []string
	for i, n := range sizes {
		// Random digits, so that compression does not avoid the limit.
		b := make([]byte, n)
		x := uint32(n)
		for j := range b {
			x = x*1664525 + 1013904223
			b[j] = '0' + byte(x>>24)%10
		}
		b[0], b[n-1] = '"', '"'
		want = append(want, string(b))
		commit(t, s, run.ID, int64(i), nil, entry("a", string(b)))
	}
	journal, err := s.Journal(ctx, run.ID, 0)
	if err != nil || len(journal) != len(want) {
		t.Fatalf("%d rows, %v", len(journal), err)
	}
	for i := range want {
		if string(journal[i].Output) != want[i] {
			t.Errorf("a value of %d bytes comes back with %d", len(want[i]), len(journal[i].Output))
		}
	}
	at := int64(len(want))
	for name, bad := range map[string]struct {
		value string
		code  domain.Code
	}{"too large": {`"` + strings.Repeat("x", core.MaxPayload) + `"`, domain.CodeTooLarge}, "not UTF-8": {"\"\xff\"", domain.CodeInvalid}} {
		err := s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: at, Entries: []domain.Entry{entry("a", bad.value)}})
		if domain.CodeOf(err) != bad.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	commit(t, s, run.ID, at, nil, entry("a", `""`)) // the run continues
	e := entry("a", "")
	e.Output = nil
	commit(t, s, run.ID, at+1, nil, e)
	if last, err := s.Journal(ctx, run.ID, at+1); err != nil || len(last) != 1 || last[0].Output != nil {
		t.Errorf("an absent value: %+v, %v", last, err)
	}
}

// Checkpoints that follow a rejected one are void, whenever they arrive. Checkpoints that another
// writer of the same run sends at that moment are not.
func TestARefusedCheckpointBreaksItsChain(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	run, other := storetest.Run(t, s, v, ""), storetest.Run(t, s, v, "")
	commit(t, s, run.ID, 0, &domain.RunPatch{Status: domain.RunRunning}, entry("a", "1"))
	commit(t, s, run.ID, 1, &domain.RunPatch{Status: domain.RunCompleted}, entry("b", "1"))
	// Keep the writer in the callback, so that all following checkpoints are one batch.
	hold, held := make(chan struct{}), make(chan struct{})
	s.Enqueue([]domain.Checkpoint{{Run: other.ID, Fence: 0, Entries: []domain.Entry{entry("a", "1")}}}, func(error) { close(held); <-hold })
	<-held
	var results [4]error
	var wg sync.WaitGroup
	wg.Add(len(results))
	enqueue := func(i int, c domain.Checkpoint) {
		s.Enqueue([]domain.Checkpoint{c}, func(err error) { results[i] = err; wg.Done() })
	}
	chain := new(domain.Chain)
	// The first checkpoint moves a completed run. The second has the correct fence nevertheless.
	enqueue(0, domain.Checkpoint{Run: run.ID, Chain: chain, Fence: 2, Patch: &domain.RunPatch{Status: domain.RunRunning}})
	enqueue(1, domain.Checkpoint{Run: run.ID, Chain: chain, Fence: 2, Entries: []domain.Entry{entry("c", "1")}})
	enqueue(2, domain.Checkpoint{Run: other.ID, Fence: 1, Entries: []domain.Entry{entry("b", "1")}})
	enqueue(3, domain.Checkpoint{Run: run.ID, Chain: new(domain.Chain), Fence: 2, Entries: []domain.Entry{entry("d", "1")}})
	close(hold)
	wg.Wait()
	if domain.CodeOf(results[0]) != domain.CodeConflict || domain.CodeOf(results[1]) != domain.CodeConflict || results[2] != nil ||
		results[3] != nil {
		t.Errorf("got %v", results)
	}
	err := s.Commit(t.Context(), domain.Checkpoint{Run: run.ID, Chain: chain, Fence: 3, Entries: []domain.Entry{entry("e", "1")}})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a later link of the broken chain: %v", err)
	}
	commit(t, s, run.ID, 3, nil, entry("e", "1"))
}

func TestALostFileStopsTheStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Failed():
	case <-time.After(time.Minute):
		t.Fatal("nobody noticed")
	}
	err = s.Audit(context.Background(), domain.AuditRecord{Action: "x"})
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "deleted or replaced") {
		t.Errorf("a write after that: %v", err)
	}
	_ = s.Close() // closing after a lost file may fail
}

func TestARestoredOldCopyIsNoticed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	step := func() string {
		s, err := store.Open(ctx, path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		if s.RolledBack() {
			// The anchor already belongs to this generation, so there is nothing to find.
			if report, err := s.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
				t.Errorf("audit at once after a rollback was noticed: %+v, %v", report, err)
			}
			return "rolled back " + s.Generation()
		}
		if err := s.Audit(ctx, domain.AuditRecord{Action: "note"}); err != nil {
			t.Fatal(err)
		}
		return s.Generation()
	}
	life := step()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if again := step(); again != life {
		t.Errorf("a new incarnation without a reason: %s, %s", life, again)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := step(); !strings.HasPrefix(got, "rolled back ") || strings.HasSuffix(got, life) {
		t.Errorf("got %s after %s", got, life)
	}
}

// O02: the files of the store are private.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{Stay: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Started()
	for { // space is allocated while there is nothing to write
		if _, err := os.Stat(path + "-reserve"); err == nil {
			break
		}
		if err := s.SetSetting(t.Context(), "a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range append(s.Files(), dir) {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
}

// O07: a database of another program, or a file that is not a database, is rejected.
func TestOtherDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a kairosd database", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(context.Background(), path, store.Options{}); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("a text file: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(context.Background(), path, store.Options{}); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("a log without its database: %v", err)
	}
}

func TestPagesStayPutWhileRunsArrive(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	v := storetest.Plan(t, s, twoNodes)
	want := map[string]bool{}
	for range 23 {
		want[storetest.Run(t, s, v, "").ID] = true
	}
	page := domain.Page{Limit: 5}
	for n := 0; ; n++ {
		list, err := s.Runs(ctx, domain.RunFilter{PlanKey: "two", Page: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Items {
			if !want[r.ID] {
				t.Errorf("run %s twice, or out of place", r.ID)
			}
			delete(want, r.ID)
		}
		if page.After = list.Next; page.After == "" {
			break
		}
		storetest.Run(t, s, v, "")
		if _, err := s.Runs(ctx, domain.RunFilter{Page: page}); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("a cursor of another filter: %v", err)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d runs were never shown", len(want))
	}
}

func TestCountersAgreeWithTheRuns(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	v := storetest.Plan(t, s, twoNodes)
	now := time.Now()
	for i, st := range []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting, domain.RunFailed,
		domain.RunCancelled, domain.RunCompleted, domain.RunFailed} {
		run := storetest.Run(t, s, v, "")
		if st != domain.RunQueued {
			patch := &domain.RunPatch{Status: st}
			if st == domain.RunWaiting {
				patch.WaitReason = domain.WaitApproval
			}
			commit(t, s, run.ID, 0, patch, entry("a", "1"))
		}
		if i == 6 {
			commit(t, s, run.ID, 1, &domain.RunPatch{DeletedAt: &now})
		}
	}
	c, err := s.RunCounts(ctx)
	if err != nil || c.Total != 6 || c.NeedsAttention != 2 {
		t.Errorf("counts %+v, %v", c, err)
	}
	for _, st := range domain.RunStatuses {
		n, _, err := s.RunsCount(ctx, domain.RunFilter{Statuses: []domain.RunStatus{st}}, 100)
		if err != nil || int64(n) != c.ByStatus[st] || n != 1 {
			t.Errorf("%s: %d runs, counter %d, %v", st, n, c.ByStatus[st], err)
		}
	}
	n, _, err := s.RunsCount(ctx, domain.RunFilter{NeedsAttention: true}, 100)
	if err != nil || n != 2 {
		t.Errorf("%d need attention, %v", n, err)
	}
}
