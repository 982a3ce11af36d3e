package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// past is a store with a clock that the test sets.
type past struct {
	*store.Store
	t   *testing.T
	at  time.Time
	dir string
}

func newPast(t *testing.T) *past {
	p := &past{t: t, at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), dir: t.TempDir()}
	s, err := store.Open(context.Background(), filepath.Join(p.dir, "kairos.db"), store.Options{Now: func() time.Time { return p.at }})
	if err != nil {
		t.Fatal(err)
	}
	p.Store = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// ended creates a run that ended a number of days ago.
func (p *past) ended(v domain.Version, status domain.RunStatus, days int, r domain.NewRun) string {
	p.t.Helper()
	ctx := context.Background()
	r.PlanID, r.Hash, r.Actor, r.Origin = v.PlanID, v.Hash, "t", "api"
	run, _, err := p.CreateRun(ctx, r)
	if err != nil {
		p.t.Fatal(err)
	}
	end := p.at.AddDate(0, 0, -days)
	value := `"` + strings.Repeat(fmt.Sprintf("%s %d ", run.ID, days), 400) + `"`
	commit(p.t, p.Store, run.ID, 0, &domain.RunPatch{Status: domain.RunRunning}, entry("a", `1`))
	patch := &domain.RunPatch{Status: status, EndedAt: &end}
	if !status.Final() {
		patch = &domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitPaused}
	}
	commit(p.t, p.Store, run.ID, 1, patch, entry("b", value))
	return run.ID
}

func (p *past) kept(ids map[string]string) (names []string) {
	p.t.Helper()
	for name, id := range ids {
		journal, err := p.Journal(context.Background(), id, 0)
		if err != nil {
			p.t.Fatal(err)
		}
		if len(journal) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestRetentionFollowsItsRules(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPast(t)
	one := storetest.Plan(t, p.Store, twoNodes)
	two := storetest.Plan(t, p.Store, strings.Replace(twoNodes, "id: ", "id: other-", 1))
	ids := map[string]string{}
	waiting := p.ended(one, domain.RunWaiting, 900, domain.NewRun{})
	ids["waiting"] = waiting
	ids["new"] = p.ended(one, domain.RunCompleted, 5, domain.NewRun{})
	ids["old"] = p.ended(one, domain.RunCompleted, 95, domain.NewRun{})
	ids["old failed"] = p.ended(one, domain.RunFailed, 95, domain.NewRun{})
	ids["older failed"] = p.ended(one, domain.RunFailed, 400, domain.NewRun{})
	ids["old cancelled"] = p.ended(one, domain.RunCancelled, 4000, domain.NewRun{})
	ids["pinned"] = p.ended(one, domain.RunCompleted, 500, domain.NewRun{Labels: map[string]string{"pin": "audit"}})
	ids["child"] = p.ended(
		one,
		domain.RunCompleted,
		500,
		domain.NewRun{Parent: &domain.ParentRef{Run: waiting, Node: "a", Visit: 1, Item: -1}},
	)
	for i := range 5 {
		ids[fmt.Sprintf("other %d", i)] = p.ended(two, domain.RunCompleted, 1000-i, domain.NewRun{})
	}
	policy := domain.Retention{Default: domain.RetentionRule{Completed: 90 * 24 * time.Hour, Failed: 365 * 24 * time.Hour},
		Plans: map[string]domain.RetentionRule{two.PlanKey: {Keep: 2}}}
	before, err := os.ReadDir(p.dir)
	if err != nil || len(before) == 0 {
		t.Fatal(err)
	}
	would, err := p.Retain(ctx, policy, domain.System, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.kept(ids); len(got) != len(ids) {
		t.Fatalf("a dry run removed something: %v is left", got)
	}
	did, err := p.Retain(ctx, policy, domain.System, false)
	if err != nil {
		t.Fatal(err)
	}
	would.DryRun, would.Took, did.Took, did.Bytes = false, 0, 0, 0
	if fmt.Sprint(would) != fmt.Sprint(did) {
		t.Errorf("said %+v, did %+v", would, did)
	}
	want := []string{"child", "new", "old cancelled", "old failed", "other 3", "other 4", "pinned", "waiting"}
	if got := p.kept(ids); !slices.Equal(got, want) {
		t.Errorf("kept %v\nwant %v", got, want)
	}
	r, err := p.Run(ctx, ids["old"])
	if err != nil || r.Status != domain.RunCompleted || r.Output != nil {
		t.Errorf("a purged run stays in lists: %+v, %v", r, err)
	}
	purges, err := p.AuditEvents(ctx, domain.AuditFilter{Action: "run.purge"})
	if err != nil || len(purges.Items) != 5 {
		t.Errorf("%d records of purges, %v", len(purges.Items), err)
	}
	if report, err := p.VerifyAudit(ctx); err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	if again, err := p.Retain(ctx, policy, domain.System, false); err != nil || again.Runs != 0 {
		t.Errorf("a second pass: %+v, %v", again, err)
	}
}

func TestRetentionFreesSpaceWhileWorkContinues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPast(t)
	v := storetest.Plan(t, p.Store, twoNodes)
	// Values that do not compress or repeat: about 24 MiB in 60 runs.
	x := uint32(7)
	for range 60 {
		b := make([]byte, 400<<10)
		for i := range b {
			x = x*1664525 + 1013904223
			b[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-"[x>>26]
		}
		run := storetest.Run(t, p.Store, v, "")
		commit(t, p.Store, run.ID, 0, &domain.RunPatch{Status: domain.RunRunning}, entry("a", `"`+string(b)+`"`))
		end := p.at.AddDate(-1, 0, 0)
		commit(t, p.Store, run.ID, 1, &domain.RunPatch{Status: domain.RunCompleted, EndedAt: &end})
	}
	p.at = p.at.Add(2 * time.Hour) // values may be deleted only when their checkpoint cannot be in progress
	before, err := p.Usage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// Other work continues at the same time.
	busy := storetest.Run(t, p.Store, v, "")
	done, stop := make(chan int64), make(chan struct{})
	go func() {
		for seq := int64(0); ; seq++ {
			select {
			case <-stop:
				done <- seq
				return
			default:
			}
			if err := p.Commit(ctx, domain.Checkpoint{Run: busy.ID, Fence: seq, Entries: []domain.Entry{entry("a", "1")}}); err != nil {
				t.Error(err)
			}
		}
	}()
	r, err := p.Retain(ctx, domain.Retention{Default: domain.RetentionRule{Completed: 24 * time.Hour}}, domain.System, false)
	if err != nil {
		t.Fatal(err)
	}
	close(stop)
	if n := <-done; n < 10 {
		t.Errorf("only %d checkpoints passed meanwhile", n)
	}
	if r.Runs != 60 || r.Bytes < 10<<20 {
		t.Errorf("retention: %+v", r)
	}
	if err := p.Checkpoint(); err != nil { // the file shrinks when the log is moved into it
		t.Fatal(err)
	}
	after, err := p.Usage(ctx)
	if err != nil || after.Database > before.Database/3 {
		t.Errorf("the database had %d bytes and has %d (%d free), %v", before.Database, after.Database, after.Unused, err)
	}
}
