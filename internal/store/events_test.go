package store_test

import (
	"context"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// Reading a run's events while it writes them returns them up to some event without a gap. A reader
// that continues after it would otherwise miss events.
func TestEventsAreReadWithoutAGap(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.Open(t)
	run := storetest.Run(t, s, storetest.Plan(t, s, twoNodes), "")
	const checkpoints = 600
	written := make(chan error, 1)
	go func() {
		for fence := range int64(checkpoints) {
			headline := "at work"
			if err := s.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: fence, Entries: []domain.Entry{entry("a", `"x"`)},
				Patch: &domain.RunPatch{Headline: &headline},
				Audit: []domain.AuditRecord{{Action: "run.status", Actor: "system", Run: run.ID}}}); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	after, heard := int64(0), 0
	for over := false; ; {
		page, err := s.EventsAfter(ctx, after, run.ID, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if after != 0 && e.Seq != after+1 {
				t.Fatalf("event %d follows event %d", e.Seq, after)
			}
			after = e.Seq
		}
		if heard += len(page); over && len(page) == 0 {
			break
		}
		select {
		case err := <-written:
			if over = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	if heard != 2*checkpoints {
		t.Errorf("%d events were heard of, want %d", heard, 2*checkpoints)
	}
}
