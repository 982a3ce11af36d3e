package recovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

const twoNodes = `
id: two
nodes:
  a: {type: set, input: 1}
  b: {type: noop}
edges:
  - {from: a, to: b}
`

func entry(node string, output string) domain.Entry {
	now := time.Now()
	return domain.Entry{Kind: domain.EntryResult, Node: node, Visit: 1, Item: -1, Attempt: 1, Status: domain.NodeCompleted, Final: true,
		Effect: "pure", Output: domain.RawJSON(output), StartedAt: now, At: now}
}

func commit(tb testing.TB, s *store.Store, run string, fence int64, patch *domain.RunPatch, entries ...domain.Entry) {
	tb.Helper()
	if err := s.Commit(context.Background(), domain.Checkpoint{Run: run, Fence: fence, Entries: entries, Patch: patch}); err != nil {
		tb.Fatalf("commit at %d: %v", fence, err)
	}
}

func openAt(tb testing.TB, path string) *store.Store {
	tb.Helper()
	s, err := recovery.Open(context.Background(), path, recovery.Options{})
	if err != nil {
		tb.Fatalf("open %s: %v", path, err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close %s: %v", path, err)
		}
	})
	return s
}
