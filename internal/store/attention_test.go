package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// failed creates a run that fails at node a with a message.
func failed(t *testing.T, s *store.Store, v domain.Version, message string, labels map[string]string) string {
	t.Helper()
	r, _, err := s.CreateRun(t.Context(), domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: "api", Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	headline, node := "a failed: "+message, "a"
	commit(t, s, r.ID, 0, &domain.RunPatch{Status: domain.RunRunning}, entry("a", "1"))
	commit(
		t,
		s,
		r.ID,
		1,
		&domain.RunPatch{
			Status:   domain.RunFailed,
			Headline: &headline,
			Node:     &node,
			Error:    &domain.RunError{Code: "http", Message: message, Node: node},
		},
	)
	return r.ID
}

// found lists the runs that a filter selects, oldest first.
func found(t *testing.T, s *store.Store, f domain.RunFilter) []string {
	t.Helper()
	f.Page.Limit = 200
	list, err := s.Runs(t.Context(), f)
	if err != nil {
		t.Fatalf("%+v: %v", f, err)
	}
	ids := []string{}
	for _, r := range list.Items {
		ids = append(ids, r.ID)
	}
	slices.Reverse(ids)
	n, _, err := s.RunsCount(t.Context(), f, 1000)
	if err != nil || n != len(ids) {
		t.Errorf("%+v: %d listed, %d counted, %v", f, len(ids), n, err)
	}
	return ids
}

func sound(t *testing.T, s *store.Store) {
	t.Helper()
	checks, err := recovery.Verify(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			t.Errorf("%s: %q", c.Name, c.Problems)
		}
	}
}

// Failures belong to one group if their messages differ only in numbers, ids, and times. An action
// on a group changes exactly its runs.
func TestFailuresAreGroupedByFingerprint(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := t.Context()
	v := storetest.Plan(t, s, twoNodes)
	var slow, refused []string
	for i := range 5 {
		slow = append(slow, failed(t, s, v, fmt.Sprintf("no answer to invoice INV-%d after %d.5s", 1000+i, i), nil))
	}
	for i := range 3 {
		refused = append(refused, failed(t, s, v, fmt.Sprintf(`the bank refused "%d EUR"`, i), nil))
	}
	groups, err := s.FailureGroups(ctx, 10)
	if err != nil || len(groups) != 2 || groups[0].Runs != 3 || groups[1].Runs != 5 {
		t.Fatalf("%+v %v", groups, err)
	}
	of := func(ref domain.FailureRef) domain.RunFilter {
		return domain.RunFilter{
			Statuses:       []domain.RunStatus{domain.RunFailed},
			NeedsAttention: true,
			PlanKey:        ref.PlanKey,
			Node:           ref.Node,
			ErrorCode:      ref.Code,
			Fingerprint:    ref.Fingerprint,
		}
	}
	if got := found(t, s, of(groups[0].Ref())); !slices.Equal(got, refused) {
		t.Errorf("the refused: %q, want %q", got, refused)
	}
	if got := found(t, s, domain.RunFilter{Fingerprint: groups[1].Fingerprint}); !slices.Equal(got, slow) {
		t.Errorf("the slow: %q, want %q", got, slow)
	}
	marta := domain.Actor{Name: "marta", Role: domain.RoleOperator, Source: "ui"}
	if n, err := s.AckFailures(ctx, marta, groups[0].Ref(), "known"); err != nil || n != 3 {
		t.Errorf("%d acknowledged, %v", n, err)
	}
	if got := found(t, s, domain.RunFilter{NeedsAttention: true}); !slices.Equal(got, slow) {
		t.Errorf("left: %q, want %q", got, slow)
	}
	if got := found(t, s, domain.RunFilter{Acknowledged: true, Fingerprint: groups[0].Fingerprint}); !slices.Equal(got, refused) {
		t.Errorf("acknowledged: %q", got)
	}
	acks, err := s.FailureAcks(ctx, time.Time{}, 10)
	if err != nil || len(acks) != 1 || acks[0].FailureRef != groups[0].Ref() || acks[0].Headline != `a failed: the bank refused "2 EUR"` {
		t.Errorf("%+v %v", acks, err)
	}
	failed(t, s, v, `the bank refused "77 EUR"`, nil)
	again, err := s.FailureGroups(ctx, 10)
	if err != nil || len(again) != 2 || again[0].Runs != 1 || again[0].Ack == nil || again[1].Ack != nil {
		t.Errorf("one that is back: %+v %v", again, err)
	}
	all := groups[0].Ref()
	all.Fingerprint = "" // all messages of the group
	if n, err := s.UnackFailures(ctx, marta, groups[0].Ref()); err != nil || n != 3 {
		t.Errorf("%d taken back, %v", n, err)
	}
	if n, err := s.AckFailures(ctx, marta, all, ""); err != nil || n != 9 {
		t.Errorf("%d of all acknowledged, %v", n, err)
	}
	if n, err := s.UnackFailures(ctx, marta, all); err != nil || n != 9 {
		t.Errorf("%d of all taken back, %v", n, err)
	}
	sound(t, s)
}

// The cached groups are correct. After any change of failed runs, also of two runs in one
// transaction, the next read counts the runs that a list finds.
func TestGroupsAreThoseOfTheLastCommit(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := t.Context()
	v := storetest.Plan(t, s, twoNodes)
	marta := domain.Actor{Name: "marta", Role: domain.RoleOperator, Source: "ui"}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var open []string
	again := func(run string) domain.Checkpoint {
		return domain.Checkpoint{
			Run:     run,
			Fence:   1,
			Entries: []domain.Entry{entry("a", "2")},
			Patch:   &domain.RunPatch{Status: domain.RunRunning},
		}
	}
	fails := func(run string) domain.Checkpoint {
		headline, node := "a failed: no answer", "a"
		return domain.Checkpoint{
			Run:     run,
			Fence:   2,
			Entries: []domain.Entry{entry("a", "3")},
			Patch: &domain.RunPatch{
				Status:   domain.RunFailed,
				Headline: &headline,
				Node:     &node,
				Error:    &domain.RunError{Code: "http", Message: "no answer", Node: node},
			},
		}
	}
	for round := range 40 {
		what := rng.IntN(4)
		switch {
		case what == 0 || len(open) < 3:
			for range 3 {
				open = append(open, failed(t, s, v, []string{"no answer", "refused", "gone"}[rng.IntN(3)], nil))
			}
		case what == 1:
			ok(s.AckRun(ctx, marta, open[0], ""))
			open = open[1:]
		case what == 2:
			groups, err := s.FailureGroups(ctx, 1)
			ok(err)
			n, err := s.AckFailures(ctx, marta, groups[0].Ref(), "")
			ok(err)
			if back, err := s.UnackFailures(ctx, marta, groups[0].Ref()); err != nil || back < n {
				t.Fatalf("%d acknowledged, %d taken back: %v", n, back, err)
			}
			open = nil
		default: // one run fails and another continues in the same transaction
			ok(s.Commit(ctx, again(open[0])))
			if _, err := s.FailureGroups(ctx, 10); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 2)
			s.Enqueue([]domain.Checkpoint{fails(open[0]), again(open[1])}, func(err error) { done <- err })
			ok(<-done)
			ok(<-done)
			open = open[2:]
		}
		groups, err := s.FailureGroups(ctx, 10)
		ok(err)
		sum := 0
		for _, g := range groups {
			ref := g.Ref()
			n, _, err := s.RunsCount(
				ctx,
				domain.RunFilter{
					Statuses:       []domain.RunStatus{domain.RunFailed},
					NeedsAttention: true,
					PlanKey:        ref.PlanKey,
					Node:           ref.Node,
					ErrorCode:      ref.Code,
					Fingerprint:    ref.Fingerprint,
				},
				1000,
			)
			if err != nil || int64(n) != g.Runs {
				t.Fatalf("round %d (%d): %s is said of %d runs, %d are so: %v", round, what, g.Headline, g.Runs, n, err)
			}
			sum += n
		}
		if n, _, err := s.RunsCount(ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed}, NeedsAttention: true},
			1000); err != nil ||
			n != sum {
			t.Fatalf("round %d (%d): %d runs in groups, %d need attention: %v", round, what, sum, n, err)
		}
	}
}

// A run with a third attempt, and a run without a sign of life, need attention until that changes.
// The counters include them.
func TestStubbornRetriesAndSilenceNeedAttention(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := t.Context()
	v := storetest.Plan(t, s, twoNodes)
	run := storetest.Run(t, s, v, "").ID
	fence := int64(0)
	step := func(p domain.RunPatch, attention bool, stubborn, silent int64) {
		t.Helper()
		commit(t, s, run, fence, &p, entry(fmt.Sprintf("n%d", fence), "1"))
		fence++
		r, err := s.Run(ctx, run)
		if err != nil || r.Attention != attention {
			t.Errorf("%+v: attention %t, %v", p, r.Attention, err)
		}
		c, err := s.RunCounts(ctx)
		if err != nil || c.Stubborn != stubborn || c.Silent != silent || c.NeedsAttention != stubborn+silent || c.Total != 1 ||
			c.ByStatus[r.Status] != 1 ||
			r.Status == domain.RunWaiting && c.Waiting[r.WaitReason] != 1 {
			t.Errorf("%+v: %+v %v", p, c, err)
		}
		want := []string{}
		if attention {
			want = append(want, run)
		}
		for _, f := range []domain.RunFilter{{NeedsAttention: true},
			{NeedsAttention: true, WaitReasons: []domain.WaitReason{domain.WaitRetry}},
			{NeedsAttention: true, Statuses: []domain.RunStatus{domain.RunRunning}}} {
			if len(f.WaitReasons) > 0 && stubborn == 0 || len(f.Statuses) > 0 && silent == 0 {
				continue
			}
			if got := found(t, s, f); !slices.Equal(got, want) {
				t.Errorf("%+v selects %q, want %q", f, got, want)
			}
		}
	}
	on, off := true, false
	retry := func(n int) domain.RunPatch {
		return domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitRetry, Retrying: n}
	}
	running := domain.RunPatch{Status: domain.RunRunning}
	step(running, false, 0, 0)
	step(retry(2), false, 0, 0)
	step(running, false, 0, 0)
	step(retry(3), true, 1, 0)
	step(domain.RunPatch{AddUsage: domain.Usage{Cost: 1}}, true, 1, 0)
	step(running, false, 0, 0)
	step(domain.RunPatch{Silent: &on}, true, 0, 1)
	step(domain.RunPatch{AddUsage: domain.Usage{Cost: 1}}, true, 0, 1)
	step(domain.RunPatch{Silent: &off}, false, 0, 0)
	step(domain.RunPatch{Silent: &on}, true, 0, 1)
	sound(t, s)
	step(domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitTimer}, false, 0, 0)
	sound(t, s)
}
