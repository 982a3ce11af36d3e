package store

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A rejected operation leaves no changes, alone or in a transaction with others that commit.
func TestARefusedOperationLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ctx := t.Context()
	put := func(name string, then error) op {
		return op{apply: func(w *writer) ([]auditRow, error) {
			if err := w.q.UserInsert(w.ctx, w.s.userParams(domain.User{ID: name, Name: name, Role: domain.RoleViewer})); err != nil {
				return nil, err
			}
			w.tally.counts[countKey{"failed", ""}]++
			if then != nil {
				return nil, then
			}
			w.tally.counts[countKey{"failed", ""}]--
			return nil, w.s.sealAccess(w.ctx, w.q, 0)
		}}
	}
	refusal := domain.Errorf(domain.CodeConflict, "refused after it wrote")
	for name, ops := range map[string][]op{
		"alone":        {put("a", refusal)},
		"among others": {put("b", nil), put("c", refusal), put("d", nil)},
	} {
		results := make([]error, len(ops))
		done := make(chan struct{}, len(ops))
		for i := range ops {
			ops[i].done = func(err error) { results[i] = err; done <- struct{}{} }
		}
		s.writer.submit(ops...)
		for range ops {
			<-done
		}
		for i, err := range results {
			if want := i == len(ops)/2; want != (domain.CodeOf(err) == domain.CodeConflict) || !want && err != nil {
				t.Errorf("%s: operation %d: %v", name, i, err)
			}
		}
	}
	users, err := s.Users(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range users {
		names = append(names, u.Name)
	}
	if want := []string{"b", "d"}; !slices.Equal(names, want) {
		t.Errorf("users %q, want %q", names, want)
	}
	verified(t, s)
}

// A read-only store never fails, and callers can wait for it.
func TestAReadOnlyStoreCanBeWatched(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), path, Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	select {
	case <-s.Failed():
		t.Error("it failed")
	default:
	}
}
