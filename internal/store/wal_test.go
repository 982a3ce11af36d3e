package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A long-running store allocates the space of its write-ahead log automatically, also during work.
// After a crash, the store opens as usual.
func TestSpaceForTheLog(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(ctx, path, store.Options{Stay: true})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, twoNodes)
	run, _, err := s.CreateRun(ctx, domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: "api"})
	if err != nil {
		t.Fatal(err)
	}
	const room = 17 << 20
	fence := int64(0)
	for size := int64(0); size < room; {
		c := domain.Checkpoint{Run: run.ID, Fence: fence, Entries: []domain.Entry{visit("a", fence, fmt.Sprint(fence))}}
		if err := s.Commit(ctx, c); err != nil {
			t.Fatal(err)
		}
		fence++
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		if size = info.Size(); size < room {
			time.Sleep(time.Millisecond) // the writer is idle in the meantime
		}
	}
	left := filepath.Join(t.TempDir(), "kairos.db")
	for _, suffix := range []string{"", "-wal", ".key", ".anchor"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix == "-wal" && !bytes.HasSuffix(b, make([]byte, 1<<20)) {
			t.Error("the log does not end with zeros")
		}
		if err := os.WriteFile(left+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(ctx, left, store.Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.Run(ctx, run.ID); err != nil || r.LastSeq != fence {
		t.Errorf("%d of %d checkpoints are there: %v", r.LastSeq, fence, err)
	}
}
