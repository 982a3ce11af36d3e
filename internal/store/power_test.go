package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/store/vfstest"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// ack is an acknowledged checkpoint, and the number of recorded operations at that time.
type ack struct {
	run string
	seq int64
	at  int
}

// worked is a recording of an active store.
type worked struct {
	before map[string][]byte // the closed files before the recording
	anchor []byte
	rec    vfstest.Recording
	acks   []ack
}

const smallWAL = 60 // in pages

// work records runs that commit concurrently: two rows per checkpoint, small and large values, and
// frequent checkpoints of the write-ahead log.
func work(t *testing.T, commits, walPages int) worked {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(proof.Dir(t), "kairos.db")
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, twoNodes)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w := worked{before: read(t, path, "", ".key", ".anchor")}
	vfs := vfstest.New(t)
	vfs.Watch(path + ".anchor")
	if s, err = store.Open(ctx, path, store.Options{}.Through(vfs.Name, walPages)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	noted := func(run string, seq int64) {
		at := vfs.Count()
		mu.Lock()
		defer mu.Unlock()
		w.acks = append(w.acks, ack{run, seq, at})
	}
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			run, _, err := s.CreateRun(
				ctx,
				domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: "api", Input: domain.RawJSON(`{"n":1}`),
					Audit: []domain.AuditRecord{{Action: "run.created", Actor: "test"}}},
			)
			if err != nil {
				t.Error(err)
				return
			}
			noted(run.ID, 0)
			for fence := int64(0); fence < int64(2*commits); fence += 2 {
				size := []int{10, 2000, 6000}[r.IntN(3)]
				if fence == 8 {
					size = 300 << 10
				}
				c := domain.Checkpoint{Run: run.ID, Fence: fence, Patch: &domain.RunPatch{AddSteps: 2},
					Entries: []domain.Entry{visit("a", fence, `"`+noise(r, size)+`"`), visit("b", fence, fmt.Sprint(fence))}}
				if fence == 0 {
					c.Patch.Status = domain.RunRunning
				}
				if err := s.Commit(ctx, c); err != nil {
					t.Error(err)
					return
				}
				noted(run.ID, fence+2)
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.rec, w.anchor = vfs.Recording(), read(t, path, ".anchor")["kairos.db.anchor"]
	return w
}

// visit returns a row of a new visit, because no visit may have two outcomes.
func visit(node string, n int64, output string) domain.Entry {
	e := entry(node, output)
	e.Visit = int(n) + 1
	return e
}

// noise returns text that does not compress well.
func noise(r *rand.Rand, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func read(t testing.TB, path string, suffixes ...string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, suffix := range suffixes {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)+suffix] = b
	}
	return out
}

// checkAfterPowerCut opens the remaining files and returns what is wrong: a missing acknowledged checkpoint,
// half a checkpoint, or a finding of the integrity check.
func checkAfterPowerCut(dir string, acks []ack, cut int) (err error) {
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(dir, "kairos.db"), store.Options{})
	if err != nil {
		return fmt.Errorf("it does not open: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.RolledBack() {
		return errors.New("the power cut looks like a rollback")
	}
	checks, err := recovery.Verify(ctx, s)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			return fmt.Errorf("%s: %s", c.Name, strings.Join(c.Problems, "; "))
		}
	}
	want := map[string]int64{}
	for _, a := range acks {
		if a.at <= cut {
			want[a.run] = max(want[a.run], a.seq)
		}
	}
	for id, seq := range want {
		r, err := s.Run(ctx, id)
		if err != nil {
			return fmt.Errorf("an acknowledged run is lost: %w", err)
		}
		journal, err := s.Journal(ctx, id, 0)
		if err != nil {
			return err
		}
		switch {
		case r.LastSeq < seq:
			return fmt.Errorf("run %s: %d was acknowledged, %d is there", id, seq, r.LastSeq)
		case r.LastSeq%2 != 0 || int64(len(journal)) != r.LastSeq || r.Steps != r.LastSeq:
			return fmt.Errorf("run %s: half a checkpoint: at %d with %d rows and %d steps", id, r.LastSeq, len(journal), r.Steps)
		}
	}
	// The store continues: another checkpoint is accepted and durable.
	runs, err := s.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := s.Commit(ctx, domain.Checkpoint{Run: r.ID, Fence: r.LastSeq,
			Entries: []domain.Entry{visit("a", r.LastSeq, "1")}}); err != nil {
			return fmt.Errorf("the run does not go on: %w", err)
		}
	}
	return nil
}

// The power fails after each operation on the database's files. Whichever unsynced writes the disk
// kept, all acknowledged data is there, and the audit chain is valid (G1, G4, G12).
func TestPowerCutsLoseNothingAcknowledged(t *testing.T) {
	t.Parallel()
	w := work(t, 12, smallWAL)
	seed := proof.Seed(t)
	var cases []powerCut
	for at := range len(w.rec.Ops) + 1 {
		for _, loss := range vfstest.Losses {
			cases = append(cases, powerCut{at, loss, seed + uint64(at)})
		}
	}
	r := rand.New(rand.NewPCG(seed, 2))
	r.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	cases = cases[:min(len(cases), proof.Size(40, 4000))]
	slices.SortFunc(cases, func(a, b powerCut) int { return cmp.Compare(a.at, b.at) })
	dir := proof.Dir(t)
	const workers = 2
	var wg sync.WaitGroup
	began := time.Now()
	for i := range workers {
		wg.Go(func() {
			d := vfstest.NewDisk(map[string][]byte{"kairos.db": w.before["kairos.db"]})
			done := 0
			for j := i; j < len(cases) && !t.Failed(); j += workers {
				c := cases[j]
				for ; done < c.at; done++ {
					d.Do(w.rec.Ops[done])
				}
				if err := w.after(dir, d, c); err != nil {
					t.Errorf(
						"power cut after operation %d of %d, writes not synced are %s, KAIROS_SEED=%d: %v",
						c.at,
						len(w.rec.Ops),
						c.loss,
						seed,
						err,
					)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d operations, %d states in %s", len(w.rec.Ops), len(cases), time.Since(began).Round(time.Millisecond))
	proof.Figure(t, "disk states", len(cases))
}

type powerCut struct {
	at   int
	loss vfstest.Loss
	seed uint64
}

// after writes the files as a power cut leaves them to a directory, and checks them.
func (w *worked) after(in string, d *vfstest.Disk, c powerCut) error {
	left := d.Cut(c.loss, c.seed)
	left["kairos.db.key"] = w.before["kairos.db.key"]
	left["kairos.db.anchor"] = w.anchor
	if c.at < len(w.rec.Side) {
		left["kairos.db.anchor"] = w.anchor[:w.rec.Side[c.at]]
	}
	dir, err := os.MkdirTemp(in, "")
	if err != nil {
		return err
	}
	if err := vfstest.Put(dir, left); err != nil {
		return err
	}
	err = checkAfterPowerCut(dir, w.acks, c.at)
	return errors.Join(err, os.RemoveAll(dir))
}
