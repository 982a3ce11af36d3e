package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/store/vfstest"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// faults are the kinds of faults that each operation is tested with.
var faults = map[string]vfstest.Fault{
	"an error once":              {},
	"an error from here on":      {Forever: true},
	"a short write and an error": {Short: 10},
	"a full disk once":           {Code: lib.SQLITE_FULL},
	"a full disk from here on":   {Code: lib.SQLITE_FULL, Forever: true},
}

// Every single operation on the database's files fails in turn. All acknowledged data is there
// afterwards. A full disk rejects and then continues, and any other error stops the store
// permanently (G14).
func TestOneFailingOperationLosesNothing(t *testing.T) {
	t.Parallel()
	dir := proof.Dir(t)
	seed := proof.Seed(t)
	step := proof.Step(61)
	tried, silent, stopped, refused := 0, 0, 0, 0
	shift := int(seed % 1000) // shifts the faulty operations for each kind and seed
	for name, f := range faults {
		shift++
		for n := 1 + shift%step; ; n += step {
			o, err := faulty(t, filepath.Join(dir, fmt.Sprint(tried)), n, f)
			if err != nil {
				t.Fatalf("%s at operation %d: %v", name, n, err)
			}
			if !o.reached {
				break
			}
			tried++
			switch {
			case o.stopped:
				stopped++
			case o.refused > 0:
				refused++
			default:
				silent++
			}
			if f.Code == lib.SQLITE_FULL && o.stopped && !o.opening {
				t.Errorf("%s at operation %d stopped the store", name, n)
			}
			if f.Code == 0 && o.refused > 0 && !o.stopped {
				t.Errorf("%s at operation %d refused %d checkpoints and went on", name, n, o.refused)
			}
		}
	}
	t.Logf("of %d faults %d stopped the store, %d refused checkpoints, %d raised no error", tried, stopped, refused, silent)
	proof.Figure(t, "faults", tried)
}

type faultOutcome struct {
	reached bool // the fault occurred
	stopped bool
	opening bool // the fault prevented the store from opening
	refused int  // checkpoints that were not acknowledged
}

// faulty commits to three runs while the n-th operation fails. Then it opens the store again
// without faults and checks it.
func faulty(t *testing.T, dir string, n int, f vfstest.Fault) (o faultOutcome, err error) {
	ctx := context.Background()
	path := filepath.Join(dir, "kairos.db")
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return o, err
	}
	v := storetest.Plan(t, s, twoNodes)
	ids := make([]string, 3)
	for i := range ids {
		ids[i] = storetest.Run(t, s, v, "").ID
	}
	if err := s.Close(); err != nil {
		return o, err
	}
	vfs := vfstest.New(t)
	vfs.Quiet()
	vfs.FailAt(n, f)
	acks, errs := []ack{}, []error{}
	if s, err = store.Open(ctx, path, store.Options{}.Through(vfs.Name, smallWAL)); err != nil {
		o.opening, o.stopped = true, true
	} else {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() {
				for fence := int64(0); fence < 16; {
					err := s.Commit(ctx, domain.Checkpoint{Run: id, Fence: fence, Patch: &domain.RunPatch{AddSteps: 2},
						Entries: []domain.Entry{visit("a", fence, `"`+longText+`"`), visit("b", fence, "1")}})
					mu.Lock()
					if err != nil {
						errs = append(errs, err)
						mu.Unlock()
						return
					}
					fence += 2
					acks = append(acks, ack{run: id, seq: fence})
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		o.stopped = s.Failure() != nil
		o.refused = len(errs)
		if o.stopped {
			for _, err := range errs {
				if code := domain.CodeOf(err); code != domain.CodeUnavailable && code != domain.CodeCorrupt && code != domain.CodeInternal {
					return o, fmt.Errorf("the store stopped, and says %w", err)
				}
			}
		}
	}
	o.reached = vfs.Heal() > 0
	if s != nil && !o.stopped && o.refused > 0 {
		// After the fault, the same store accepts the rejected checkpoint.
		for _, id := range ids {
			r, err := s.Run(ctx, id)
			if err != nil {
				return o, err
			}
			if err := s.Commit(ctx, domain.Checkpoint{Run: id, Fence: r.LastSeq, Patch: &domain.RunPatch{AddSteps: 2},
				Entries: []domain.Entry{visit("a", r.LastSeq, "1"), visit("b", r.LastSeq, "1")}}); err != nil {
				return o, fmt.Errorf("it does not go on when there is space again: %w", err)
			}
			acks = append(acks, ack{run: id, seq: r.LastSeq + 2})
		}
	}
	if s != nil {
		if err := s.Close(); err != nil && !o.stopped && !o.reached {
			return o, err
		}
	}
	return o, checkAfterPowerCut(dir, acks, 0)
}

// longText needs more than one page.
var longText = func() string {
	b := make([]byte, 3000)
	for i := range b {
		b[i] = 'a' + byte(i*7%26)
	}
	return string(b)
}()
