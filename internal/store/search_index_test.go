package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// Free text finds runs by whole words and by prefixes, with any characters in between. It no longer
// finds a run whose text has changed.
func TestRunsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	limit := failed(t, s, v, `rate limit of "openai" reached: retry-after=30`, nil)
	unicode := failed(t, s, v, "el año próximo no existe (ÜBERTRAG)", map[string]string{"team": "Zürich-West"})
	plain := storetest.Run(t, s, v, "").ID
	labelled, _, err := s.CreateRun(
		t.Context(),
		domain.NewRun{
			PlanID: v.PlanID,
			Hash:   v.Hash,
			Actor:  "test",
			Origin: "api",
			Labels: map[string]string{"env": "prod", "case": "INV-20981"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	works := storetest.Run(t, s, v, "").ID
	headline := "the bank-transfer gives no sign of life"
	commit(t, s, works, 0, &domain.RunPatch{Status: domain.RunRunning, Headline: &headline}, entry("a", "1"))
	both, _, err := s.CreateRun(
		t.Context(),
		domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: "api", Labels: map[string]string{"kind": "transfer"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	commit(
		t,
		s,
		both.ID,
		0,
		&domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitTimer, Headline: &headline},
		entry("a", "1"),
	)
	check := func(text string, want ...string) {
		t.Helper()
		for _, f := range []domain.RunFilter{{Text: text}, {Text: text, PlanKey: "two"},
			{Text: text, IDs: []string{limit, unicode, plain, labelled.ID, works, both.ID}}} {
			if got := found(t, s, f); !slices.Equal(got, slices.Concat([]string{}, want)) {
				t.Errorf("%+v: %q, want %q", f, got, want)
			}
		}
	}
	check("rate limit", limit)
	check("RATE-LIMIT", limit)
	check("rate lim", limit)
	check("limit rate")
	check(`"openai"`, limit)
	check("retry-after=30", limit)
	check("ate limit")
	check("AÑO PRÓX", unicode)
	check("ano proximo", unicode)
	check("übertrag", unicode)
	check("zurich", unicode)
	check("inv-20981", labelled.ID)
	check("prod", labelled.ID)
	check("transfer", works, both.ID)
	check("bank-transfer", works, both.ID)
	check(`*" OR headline : a NEAR( ^`)
	check("nothing of the kind")
	check("\x00")
	if got := found(t, s, domain.RunFilter{Text: "failed", Statuses: []domain.RunStatus{domain.RunFailed}}); !slices.Equal(
		got,
		[]string{limit, unicode},
	) {
		t.Errorf("failed: %q", got)
	}
	if got := found(t, s, domain.RunFilter{Text: "failed", NeedsAttention: true}); !slices.Equal(got, []string{limit, unicode}) {
		t.Errorf("need attention: %q", got)
	}
	// The status message of a run that continues changes. Its labels stay.
	for _, id := range []string{limit, unicode} {
		empty := ""
		commit(t, s, id, 1, &domain.RunPatch{Status: domain.RunQueued, ClearError: true, Headline: &empty}, entry("b", "2"))
	}
	check("rate limit")
	check("zurich", unicode)
	marta := domain.Actor{Name: "marta", Role: domain.RoleOperator}
	if err := s.LabelRun(t.Context(), marta, unicode, map[string]string{"team": "Bern"}, ""); err != nil {
		t.Fatal(err)
	}
	check("zurich")
	check("bern", unicode)
	sound(t, s)
}

// BenchmarkARunThatFails creates runs with and without labels and fails them. Both include the cost
// of the index of words.
func BenchmarkARunThatFails(b *testing.B) {
	for name, labels := range map[string]map[string]string{"plain": nil, "labelled": {"env": "prod", "team": "billing"}} {
		b.Run(name, func(b *testing.B) {
			s := storetest.Open(b)
			v := storetest.Plan(b, s, twoNodes)
			headline := "a failed after 3 of 3 attempts: the service at https://erp.example/v2 answered 503: try again later"
			for b.Loop() {
				r, _, err := s.CreateRun(
					b.Context(),
					domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: "api", Labels: labels},
				)
				if err != nil {
					b.Fatal(err)
				}
				commit(b, s, r.ID, 0, &domain.RunPatch{Status: domain.RunRunning}, entry("a", "1"))
				commit(
					b,
					s,
					r.ID,
					1,
					&domain.RunPatch{
						Status:   domain.RunFailed,
						Headline: &headline,
						Error:    &domain.RunError{Code: "http", Message: headline},
					},
				)
			}
		})
	}
}

// An integrity check during work reads the current index, not one that a connection cached.
func TestTheSearchIndexIsChecked(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	for i := range 40 {
		for j := range 25 {
			_, _, err := s.CreateRun(
				t.Context(),
				domain.NewRun{
					PlanID: v.PlanID,
					Hash:   v.Hash,
					Actor:  "test",
					Origin: "api",
					Labels: map[string]string{"case": fmt.Sprintf("inv-%d-%d", i, j)},
				},
			)
			if err != nil {
				t.Fatal(err)
			}
		}
		checks, err := recovery.Verify(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if len(c.Problems) > 0 {
				t.Fatalf("after %d runs, %s: %v", 25*(i+1), c.Name, c.Problems)
			}
		}
	}
}
