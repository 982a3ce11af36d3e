package query_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// past is a store whose requests read at most 100 rows. It contains 250 runs of one step each.
// Every fiftieth run failed.
func past(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.OpenExamining(t, 100)
	v := storetest.Plan(t, s, storetest.TwoNodes)
	for i := range 250 {
		run := storetest.RunFrom(t, s, v, "", "api")
		e, patch := storetest.Entry("a", "1"), &domain.RunPatch{AddSteps: 1}
		if i%50 == 0 {
			e.Status, e.Failure = domain.NodeFailed, &domain.Failure{Code: "odd", Message: "no"}
			patch.Status, patch.Error = domain.RunFailed, &domain.RunError{Code: "odd", Message: "no"}
		}
		storetest.Commit(t, s, run.ID, 0, patch, e)
	}
	return s
}

// A request that no index serves reads 100 rows, however many match. The next request continues
// there.
func TestASearchReadsABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	s := past(t)
	ctx := t.Context()
	runs := func(f domain.RunFilter) (int, string, error) {
		list, err := s.Runs(ctx, f)
		if (list.Next == "") != list.Stopped.IsZero() && len(list.Items) < 50 {
			t.Errorf("%+v: stopped at %s, next %q", f, list.Stopped, list.Next)
		}
		return len(list.Items), list.Next, err
	}
	events := func(f domain.AuditFilter) (int, string, error) {
		list, err := s.AuditEvents(ctx, f)
		return len(list.Items), list.Next, err
	}
	steps := func(f domain.StepFilter) (int, string, error) {
		list, err := s.Steps(ctx, f)
		return len(list.Items), list.Next, err
	}
	last, err := s.LastEvent(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ask   func(after string) (int, string, error)
		pages []int // number of items on each page
	}{
		"runs, none": {func(after string) (int, string, error) {
			return runs(domain.RunFilter{MinCost: 1, Page: domain.Page{After: after}})
		}, []int{0, 0, 0}},
		"runs, few": {func(after string) (int, string, error) {
			return runs(domain.RunFilter{ErrorCodes: []string{"odd"}, Page: domain.Page{After: after}})
		}, []int{2, 2, 1}},
		"runs of two kinds, few": {func(after string) (int, string, error) {
			return runs(domain.RunFilter{Statuses: []domain.RunStatus{domain.RunQueued, domain.RunFailed},
				ErrorCodes: []string{"odd"}, Page: domain.Page{After: after}})
		}, []int{2, 2, 1}},
		"runs that an index gives": {func(after string) (int, string, error) {
			return runs(domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed}, MaxCost: 1, Page: domain.Page{After: after}})
		}, []int{5}},
		"steps, none": {func(after string) (int, string, error) {
			return steps(domain.StepFilter{MinAttempt: 7, Page: domain.Page{After: after}})
		}, []int{0, 0, 0, 0, 0, 0}}, // a run and its journal row count as two
		"steps of failures": {func(after string) (int, string, error) {
			return steps(domain.StepFilter{Statuses: []domain.NodeStatus{domain.NodeFailed}, Page: domain.Page{After: after}})
		}, []int{5}},
		"audit, none": {func(after string) (int, string, error) {
			return events(domain.AuditFilter{Action: store.ActionCheckpoint, Objects: []string{"none"}, Page: domain.Page{After: after}})
		}, make([]int, (last+99)/100)},
	} {
		after := ""
		for i := 0; ; i++ {
			n, next, err := c.ask(after)
			if again, same, _ := c.ask(after); err != nil || again != n || same != next {
				t.Fatalf("%s: page %d: %d, then %d; %v", name, i, n, again, err)
			}
			if i < len(c.pages) && n != c.pages[i] || (next == "") != (i >= len(c.pages)-1) {
				t.Errorf("%s: page %d of %d has %d items, next %q", name, i, len(c.pages), n, next)
				break
			}
			if after = next; next == "" {
				break
			}
		}
	}
	if n, whole, err := s.RunsCount(ctx, domain.RunFilter{MaxCost: 1}, 1000); err != nil || n != 100 || whole {
		t.Errorf("counted %d, whole %v, %v", n, whole, err)
	}
	oldest, err := s.Runs(ctx, domain.RunFilter{MinCost: 1, Page: domain.Page{Oldest: true}})
	if err != nil || oldest.Prev == "" || oldest.Stopped.IsZero() {
		t.Errorf("from the oldest on: %+v, %v", oldest, err)
	}
}

// Lists that are not sorted by age, and the graph of a plan, read a bounded number of rows. They
// show which runs are included.
func TestASortedListReadsABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	s := past(t)
	ctx := t.Context()
	sorted := func() (out string) {
		runs, seen, err := s.SortedRuns(ctx, domain.RunFilter{}, domain.SortEnded)
		if err != nil || seen.Runs != 100 || seen.Whole || len(runs) != 50 || runs[0].Status != domain.RunFailed ||
			runs[1].Status != domain.RunFailed ||
			runs[2].Status == domain.RunFailed {
			t.Fatalf("%d of %+v, %v", len(runs), seen, err)
		}
		for _, r := range runs {
			out += r.ID
		}
		return out
	}
	if first, again := sorted(), sorted(); first != again {
		t.Error("not the same list")
	}
	flow, err := s.PlanFlow(ctx, "two", 0, time.Time{})
	if err != nil || flow.Runs != 50 || flow.Whole || flow.Nodes["a"].Runs != 50 {
		t.Errorf("%d runs, whole %v, %v", flow.Runs, flow.Whole, err)
	}
	if again, err := s.PlanFlow(ctx, "two", 0, time.Time{}); err != nil || !reflect.DeepEqual(again, flow) {
		t.Errorf("then %d runs, %v", again.Runs, err)
	}
	slow, err := s.Steps(ctx, domain.StepFilter{Slowest: true, Page: domain.Page{Limit: 3}})
	if err != nil || len(slow.Items) != 3 || slow.Whole || slow.Next != "" {
		t.Errorf("%+v, %v", slow, err)
	}
}

// One run may have more rows than a request reads. The search stops inside it, and finds each of
// its steps once.
func TestASearchStopsInsideARun(t *testing.T) {
	t.Parallel()
	s := storetest.OpenExamining(t, 100)
	run := storetest.Run(t, s, storetest.Plan(t, s, storetest.TwoNodes), "")
	var entries []domain.Entry
	for i := range 350 {
		e := storetest.Entry("a", "1")
		e.Visit, e.Attempt = i+1, 1+i%100/99 // three steps have two attempts
		entries = append(entries, e)
	}
	storetest.Commit(t, s, run.ID, 0, &domain.RunPatch{AddSteps: 350}, entries...)
	seen := map[int64]bool{}
	f := domain.StepFilter{MinAttempt: 1}
	pages := 0
	for ; ; pages++ {
		got, err := s.Steps(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got.Items {
			if seen[h.Seq] {
				t.Errorf("row %d twice", h.Seq)
			}
			seen[h.Seq] = true
		}
		if f.Page.After = got.Next; got.Next == "" {
			break
		}
	}
	if len(seen) != 3 || pages < 3 {
		t.Errorf("%d steps on %d pages", len(seen), pages)
	}
	flow, err := s.PlanFlow(t.Context(), "two", 0, time.Time{})
	if err != nil || flow.Whole || flow.Nodes["a"].Attempts > 100 {
		t.Errorf("%s, %v", fmt.Sprint(flow.Nodes["a"]), err)
	}
}

// A search for several words reads a fixed number of runs, however few contain all of them.
func TestASearchForAPhraseIsBounded(t *testing.T) {
	t.Parallel()
	s := storetest.OpenExamining(t, 4)
	v := storetest.Plan(t, s, storetest.TwoNodes)
	for i := range 250 {
		run := storetest.Run(t, s, v, "")
		headline := "the bank is closed"
		if i == 10 {
			headline = "the bank knows"
		}
		storetest.Commit(
			t,
			s,
			run.ID,
			0,
			&domain.RunPatch{Status: domain.RunFailed, Headline: &headline, Error: &domain.RunError{Code: "x", Message: headline}},
			storetest.Entry("a", "1"),
		)
	}
	f := domain.RunFilter{Text: "bank knows"}
	first, err := s.Runs(t.Context(), f)
	if err != nil || len(first.Items) != 0 || first.Next == "" || first.Stopped.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	f.Page.After = first.Next
	if second, err := s.Runs(t.Context(), f); err != nil || len(second.Items) != 1 || second.Next != "" || !second.Stopped.IsZero() {
		t.Errorf("%+v, %v", second, err)
	}
	f.Page = domain.Page{Oldest: true}
	if oldest, err := s.Runs(t.Context(), f); err != nil || len(oldest.Items) != 1 || oldest.Prev == "" {
		t.Errorf("%+v, %v", oldest, err)
	}
}

// The list is empty if all runs are older than the sorted period.
func TestAWeekWithoutRuns(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "kairos.db"), store.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	storetest.Run(t, s, storetest.Plan(t, s, storetest.TwoNodes), "")
	now = now.Add(60 * 24 * time.Hour)
	if runs, seen, err := s.SortedRuns(t.Context(), domain.RunFilter{}, domain.SortEnded); err != nil || len(runs) != 0 || seen.Runs != 0 {
		t.Errorf("%d runs of %+v, %v", len(runs), seen, err)
	}
}
