package recovery_test

import (
	"context"
	"testing"

	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

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
