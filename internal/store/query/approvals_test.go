package query_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// requests is a store whose requests read at most 10 rows. It contains a run with 33 approval
// requests. Every tenth request is for ana, two have the same deadline, and the last one is
// decided.
func requests(t *testing.T) (s *store.Store, run string) {
	t.Helper()
	s = storetest.OpenExamining(t, 10)
	v := storetest.Plan(t, s, storetest.TwoNodes)
	run = storetest.Run(t, s, v, "").ID
	other := storetest.Run(t, s, v, "").ID
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	ask := func(run string, n int, status string) domain.Approval {
		a := domain.Approval{
			ID:        fmt.Sprintf("a%02d", n),
			PlanKey:   "two",
			Node:      "a",
			Visit:     1,
			Item:      -1,
			Message:   "?",
			Digest:    "d",
			Status:    status,
			OnTimeout: "fail",
			CreatedAt: at.Add(time.Duration(n) * time.Second),
			DueAt:     at.Add(time.Duration(1+n/2) * time.Hour),
		}
		if n%10 == 0 {
			a.Assignee = "ana"
		}
		return a
	}
	for i := range 33 {
		if err := s.Commit(t.Context(), domain.Checkpoint{Run: run, Fence: 0,
			Approvals: []domain.Approval{ask(run, i, "pending")}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []domain.Approval{ask(other, 90, "pending"), ask(run, 32, "approved")} {
		of := run
		if a.ID == "a90" {
			of = other
		}
		if a.Status == "approved" {
			a.DecidedAt, a.DecidedBy = at, "ben"
		}
		if err := s.Commit(t.Context(), domain.Checkpoint{Run: of, Fence: 0, Approvals: []domain.Approval{a}}); err != nil {
			t.Fatal(err)
		}
	}
	return s, run
}

// A request reads ten rows, however many match. The next request continues there, in both
// directions, and each approval is on one page.
func TestAListOfApprovalsReadsABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	s, run := requests(t)
	for name, c := range map[string]struct {
		f     domain.ApprovalFilter
		pages []int // number of items on each page
	}{
		"pending":                    {domain.ApprovalFilter{}, []int{10, 10, 10, 3}},
		"open, in small pages":       {domain.ApprovalFilter{Page: domain.Page{Limit: 15}}, []int{10, 10, 10, 3}},
		"open, few":                  {domain.ApprovalFilter{NotFor: "ben"}, []int{1, 1, 1, 2}},
		"open, none":                 {domain.ApprovalFilter{NotFor: "ana"}, []int{0, 0, 0, 0}},
		"open, that an index gives":  {domain.ApprovalFilter{Assignee: "ana"}, []int{5}},
		"of a run":                   {domain.ApprovalFilter{Run: run}, []int{10, 10, 10, 3}},
		"of a run, in small pages":   {domain.ApprovalFilter{Run: run, Page: domain.Page{Limit: 20}}, []int{10, 10, 10, 3}},
		"of a run, decided":          {domain.ApprovalFilter{Run: run, Status: "approved"}, []int{1, 0, 0, 0}},
		"of a run, for one person":   {domain.ApprovalFilter{Run: run, Assignee: "ana"}, []int{1, 1, 1, 1}},
		"decided":                    {domain.ApprovalFilter{Decided: true}, []int{1}},
		"of a run that is not there": {domain.ApprovalFilter{Run: "none"}, []int{0}},
	} {
		f, sizes, seen := c.f, []int(nil), []string(nil)
		var last domain.List[domain.Approval]
		for {
			list, err := s.Approvals(t.Context(), f)
			again, err2 := s.Approvals(t.Context(), f)
			if err != nil || err2 != nil || len(again.Items) != len(list.Items) || again.Next != list.Next {
				t.Fatalf("%s: %v %v, not the same page", name, err, err2)
			}
			sizes = append(sizes, len(list.Items))
			for _, a := range list.Items {
				if slices.Contains(seen, a.ID) {
					t.Errorf("%s: %s twice", name, a.ID)
				}
				seen = append(seen, a.ID)
			}
			if len(list.Items) > 0 {
				last = list
			}
			if f.Page.After = list.Next; list.Next == "" {
				break
			}
		}
		if !slices.Equal(sizes, c.pages) {
			t.Errorf("%s: pages of %v, want %v", name, sizes, c.pages)
		}
		back := len(last.Items)
		for f.Page = (domain.Page{Before: last.Prev, Limit: c.f.Page.Limit}); f.Page.Before != ""; {
			list, err := s.Approvals(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			back += len(list.Items)
			f.Page.Before = list.Prev
		}
		if last.Prev != "" && back != len(seen) {
			t.Errorf("%s: %d approvals backward, %d forward", name, back, len(seen))
		}
	}
	for _, c := range []struct {
		f    domain.ApprovalFilter
		max  int
		want int
	}{{domain.ApprovalFilter{}, 100, 10}, {domain.ApprovalFilter{}, 4, 4}, {domain.ApprovalFilter{NotFor: "ben"}, 100, 1},
		{domain.ApprovalFilter{Assignee: "ana"}, 100, 5}} {
		if n, err := s.ApprovalsCount(t.Context(), c.f, c.max); err != nil || n != c.want {
			t.Errorf("%+v: counted %d, want %d; %v", c.f, n, c.want, err)
		}
	}
}

// Sorted by duration, runs that have not ended come first, oldest first, at any time.
func TestLongestRunsAreInOneOrder(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, storetest.TwoNodes)
	var ids []string
	for range 4 {
		run := storetest.Run(t, s, v, "")
		ids = append(ids, run.ID)
	}
	e := storetest.Entry("a", "1")
	storetest.Commit(
		t,
		s,
		ids[0],
		0,
		&domain.RunPatch{
			Status:  domain.RunFailed,
			Error:   &domain.RunError{Code: "x", Message: "m"},
			EndedAt: new(time.Now().Add(time.Hour)),
		},
		e,
	)
	storetest.Commit(
		t,
		s,
		ids[2],
		0,
		&domain.RunPatch{
			Status:  domain.RunFailed,
			Error:   &domain.RunError{Code: "x", Message: "m"},
			EndedAt: new(time.Now().Add(2 * time.Hour)),
		},
		e,
	)
	list, _, err := s.SortedRuns(t.Context(), domain.RunFilter{}, domain.SortTook)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.ID)
	}
	if want := []string{ids[1], ids[3], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
