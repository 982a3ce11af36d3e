package store_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/memtest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// nomemEnv turns this test binary into a process whose SQLite runs out of memory.
const nomemEnv = "KAIROS_TEST_NOMEM"

// SQLite gets no memory at one allocation, or at all allocations after it, while runs commit and
// people read. All acknowledged data is there afterwards, rejections are reported, and with memory
// the same store continues (G14).
func TestOneFailingAllocationLosesNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoMemoryChild$", "-test.v")
	cmd.Env = append(os.Environ(), nomemEnv+"="+proof.Dir(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		if _, text, ok := strings.Cut(line, "allocations that failed: "); ok {
			if _, err := fmt.Sscan(text, &n); err != nil {
				t.Fatal(err)
			}
			t.Log(strings.TrimSpace(text))
		}
	}
	if n == 0 {
		t.Errorf("no allocation failed:\n%s", out)
	}
	proof.Figure(t, "faults", n)
}

func TestNoMemoryChild(t *testing.T) {
	dir := os.Getenv(nomemEnv)
	if dir == "" {
		t.Skip("this is the process that another test takes memory from")
	}
	if err := memtest.Install(); err != nil {
		t.Fatal(err)
	}
	tried, refused, silent, step := 0, 0, 0, proof.Step(67)
	shift := int(proof.Seed(t) % 1000)
	for _, all := range []bool{false, true} {
		for n := 1 + shift%step; ; n += step {
			o, err := starved(t, filepath.Join(dir, fmt.Sprint(all, n)), int64(n), all)
			if err != nil {
				t.Fatalf("allocation %d fails, and all after it: %v: %v", n, all, err)
			}
			if !o.reached {
				break
			}
			if tried++; o.refused > 0 {
				refused++
			} else {
				silent++
			}
		}
	}
	fmt.Printf("allocations that failed: %d, %d times something was refused, %d times nobody noticed\n", tried, refused, silent)
}

// starved commits to three runs and reads while allocations fail, then continues with memory, and
// checks the data afterwards.
func starved(t *testing.T, dir string, n int64, all bool) (o faultOutcome, err error) {
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(dir, "kairos.db"), store.Options{})
	if err != nil {
		return o, err
	}
	v := storetest.Plan(t, s, twoNodes)
	ids := make([]string, 3)
	for i := range ids {
		ids[i] = storetest.Run(t, s, v, "").ID
	}
	var mu sync.Mutex
	acks := []ack{}
	commit := func(id string, fence int64) error {
		err := s.Commit(ctx, domain.Checkpoint{Run: id, Fence: fence, Patch: &domain.RunPatch{AddSteps: 2},
			Entries: []domain.Entry{visit("a", fence, `"`+longText+`"`), visit("b", fence, "1")}})
		if err == nil {
			mu.Lock()
			acks = append(acks, ack{run: id, seq: fence + 2})
			mu.Unlock()
		}
		return err
	}
	memtest.FailAt(n, all)
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for fence := int64(0); fence < 8; fence += 2 {
				if err := commit(id, fence); err != nil {
					mu.Lock()
					o.refused++
					mu.Unlock()
					return
				}
				if _, err := s.Run(ctx, id); err != nil && domain.CodeOf(err) == domain.CodeNotFound {
					t.Errorf("for want of memory run %s is said not to be there: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	o.reached = memtest.Heal() > 0
	if err := s.Failure(); err != nil {
		o.stopped = true
	} else {
		for _, id := range ids {
			r, err := s.Run(ctx, id)
			if err != nil {
				return o, fmt.Errorf("with memory again it does not read: %w", err)
			}
			if err := commit(id, r.LastSeq); err != nil {
				return o, fmt.Errorf("with memory again it does not write: %w", err)
			}
		}
	}
	if err := s.Close(); err != nil && !o.stopped {
		return o, err
	}
	if o.stopped {
		fmt.Printf("allocation %d stopped the store\n", n)
	}
	return o, checkAfterPowerCut(dir, acks, 0)
}
