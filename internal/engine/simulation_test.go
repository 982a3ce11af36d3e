package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/vfstest"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// TestSimulation runs small worlds for days of virtual time: random plans, operators who request
// every action, handlers that end, fail, and hang, clean restarts, and power cuts after any file
// operation, with every possible result of unsynced writes. A seed determines everything. After
// every step, when all goroutines are idle, [world.judge] checks the world (G1 to G8, G10, G12).
func TestSimulation(t *testing.T) {
	t.Parallel()
	base := template(t)
	first, count := proof.Seed(t)*1_000_000, proof.Size(8, 1000)
	var next, lives, cuts, steps, hours, compared, refused, slots atomic.Int64
	for worker := range 2 {
		t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
			t.Parallel()
			for i := next.Add(1) - 1; i < int64(count) && !t.Failed(); i = next.Add(1) - 1 {
				w := simulate(t, base, first+uint64(i))
				lives.Add(int64(w.life))
				steps.Add(int64(w.step))
				cuts.Add(int64(w.cuts))
				compared.Add(int64(w.compared))
				refused.Add(int64(w.refused))
				slots.Add(int64(w.slotRuns))
				hours.Add(int64(w.passed / time.Hour))
			}
		})
	}
	t.Cleanup(func() {
		t.Logf(
			"%d worlds, %d steps, %d generations of the daemon, %d power cuts, %d checkpoints without space, "+
				"%d virtual hours, %d runs compared with undisturbed ones, %d runs of schedules",
			count,
			steps.Load(),
			lives.Load(),
			cuts.Load(),
			refused.Load(),
			hours.Load(),
			compared.Load(),
			slots.Load(),
		)
		if !t.Failed() && count >= 8 &&
			(cuts.Load() < int64(count) || compared.Load() == 0 || refused.Load() == 0 || slots.Load() == 0) {
			t.Error("too little happened in these worlds")
		}
		proof.Figure(t, "simulation seeds", count)
		proof.Figure(t, "virtual hours", int(hours.Load()))
	})
}

// TestASimulationRepeatsItself checks that a seed gives the same life each time, row by row and
// microsecond by microsecond. Otherwise a failing seed would be of no use. On a busy machine, the
// operating system can suspend a thread in the middle of a moment. Then two events of this moment
// change places, so a life that differs gets more attempts.
func TestASimulationRepeatsItself(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector shuffles what happens in one moment, such as two calls that reserve the rest of a limit")
	}
	t.Parallel()
	base := template(t)
	first := proof.Seed(t) * 1_000_000
	for seed := range uint64(proof.Size(1, 50)) {
		var diff string
		for range 5 {
			a, b := simulate(t, base, first+seed), simulate(t, base, first+seed)
			if diff = cmp.Diff(a.trace, b.trace); diff == "" {
				break
			}
		}
		if diff != "" {
			t.Fatalf("seed %d, first (-) and second (+) life differ:\n%s", first+seed, diff)
		}
	}
}

// TestTheSimulationNotices: a world with a deliberate mistake fails.
func TestTheSimulationNotices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it looks for the first of many worlds that shows a mistake")
	}
	base := template(t)
	for name, mistake := range map[string]mistake{"a disk that forgets what was synced": mistakeEarlyCut,
		"an early acknowledgement":         mistakeAck,
		"unsafe work taken for idempotent": mistakeTwice, "forgotten timers": mistakeTimer,
		"a commit that is not announced": mistakeEvents, "a call of an agent that a later attempt makes again": mistakeRepeat,
		"calls that reserve nothing": mistakeSpend, "a slot that starts two runs": mistakeClaim} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				w := newWorld(base, 77_000_000+seed)
				w.mistake = mistake
				if w.live(t); len(w.wrong) > 0 {
					t.Logf("seed %d: %s", w.seed, w.wrong[0])
					return
				}
			}
			t.Error("nobody noticed")
		})
	}
}

// template returns the files of an empty server, created in virtual time like the worlds.
func template(t *testing.T) map[string][]byte {
	dir := proof.Dir(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), filepath.Join(dir, "kairos.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return server(t, dir)
}

// server reads the files of a server.
func server(tb testing.TB, dir string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{"kairos.db", "kairos.db-wal", "kairos.db.key", "kairos.db.anchor"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			tb.Fatal(err)
		}
		files[name] = b
	}
	return files
}

// watch ends the process when a world uses minutes of CPU time, because a busy loop does not
// advance virtual time.
func watch(t *testing.T, seed uint64) (stop func()) {
	t.Helper()
	used := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			panic(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	most, ended := used()+4*time.Minute, make(chan struct{})
	go func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				if used() > most {
					panic(fmt.Sprintf("seed %d (KAIROS_SIM=%d runs it alone): something spins for ever", seed, seed))
				}
			}
		}
	}()
	return func() { close(ended) }
}

// simulate runs the world of one seed and reports its violations.
func simulate(t *testing.T, base map[string][]byte, seed uint64) *world {
	t.Helper()
	w := newWorld(base, seed)
	defer watch(t, seed)()
	w.live(t)
	for _, wrong := range w.wrong {
		t.Errorf("seed %d (KAIROS_SIM=%d runs it alone), life %d, step %d: %s", seed, seed, w.life, w.step, wrong)
	}
	if len(w.wrong) > 0 {
		t.Logf("the last steps of seed %d:\n%s\n%s", seed, strings.Join(w.trace[max(0, len(w.trace)-25):], "\n"), w.journals)
	}
	return w
}

// TestOneSimulation runs the seed in KAIROS_SIM and prints its events.
func TestOneSimulation(t *testing.T) {
	var seed uint64
	if _, err := fmt.Sscan(os.Getenv("KAIROS_SIM"), &seed); err != nil {
		t.Skip("KAIROS_SIM names no seed")
	}
	simulate(t, template(t), seed)
}

// live runs a world from its first start until all its runs have ended.
func (w *world) live(t *testing.T) {
	dir := proof.Dir(t)
	synctest.Test(t, func(t *testing.T) {
		w.t, w.dir, w.turns = t, dir, make(moments, 1)
		began := time.Now()
		defer func() {
			w.passed = time.Since(began)
			w.shut()
		}()
		if !w.boot(w.files) {
			return
		}
		w.prepare()
		for range 30 + w.rng.IntN(50) {
			if !w.act() {
				return
			}
		}
		if w.drain() {
			w.compareWithReferences()
		}
		for _, id := range w.runs() {
			if len(w.violations()) > 0 || w.closed {
				return
			}
			w.order.suspend(true)
			if _, ok := w.run(id); ok { // otherwise, the power cut undid the run
				w.replays(id)
			}
		}
	})
}

// act performs one action that the seed chooses, waits until all goroutines are idle, and checks
// the world. It returns false after a violation.
func (w *world) act() bool {
	w.step++
	if w.rng.IntN(10) == 0 {
		before, life := w.vfs.Count(), w.life
		if w.rng.IntN(4) == 0 {
			w.restart()
		} else {
			w.choose()()
		}
		if w.life != life {
			before = 0 // it crashes during the start
		}
		w.waitUntilIdle()
		if !w.closed {
			w.powerCut(before)
		}
	} else {
		w.choose()()
	}
	return w.settle()
}

// settle waits until all goroutines are idle, and checks the world.
func (w *world) settle() bool {
	w.waitUntilIdle()
	if len(w.violations()) == 0 && !w.closed {
		w.order.suspend(true) // checks take no simulated time
		w.judge()
		w.order.suspend(false)
	}
	return len(w.violations()) == 0
}

// waitUntilIdle returns when all goroutines are idle and no checkpoint waits for space.
func (w *world) waitUntilIdle() {
	for since := time.Now(); ; {
		w.sleep(0)
		w.mu.Lock()
		ending, acting := w.ending, w.acting
		w.mu.Unlock()
		if ending == 0 && !w.order.busy() {
			run := w.order.waits()
			if run == "" && acting == 0 || w.closed {
				return
			}
			if time.Since(since) > time.Hour {
				w.violate("%q does not go on though there is space, and %d people wait for an answer", w.name(run), acting)
				return
			}
			w.sleep(time.Second)
		}
	}
}

// sleep lets time pass until a moment of the world.
func (w *world) sleep(d time.Duration) {
	time.Sleep(d)
	w.turns.next(10*time.Microsecond, 750)
}

// choose draws the next action.
func (w *world) choose() func() {
	options := []struct {
		weight int
		act    func()
	}{
		{12 * min(1, len(w.waiting())), w.release},
		{6, w.pass},
		{3, w.start},
		{2, w.startDue},
		{3, w.performAction},
		{4, w.answer},
		{1, w.restart},
	}
	total := 0
	for _, o := range options {
		total += o.weight
	}
	n := w.rng.IntN(total)
	for _, o := range options {
		if n -= o.weight; n < 0 {
			return o.act
		}
	}
	panic("the weights do not add up")
}

// powerCut stops the daemon after a file operation later than the given number, and starts it again
// with the remaining data of the disk.
func (w *world) powerCut(after int) {
	rec := w.vfs.Recording()
	// The number does not depend on the total number of operations, because the seed does not fully
	// determine the layout of database pages.
	at := min(after+w.rng.IntN([]int{4, 20, 100}[w.rng.IntN(3)]), len(rec.Ops))
	loss := vfstest.Losses[w.rng.IntN(len(vfstest.Losses))]
	w.note("power cut after operation %d, what was not synced is %s", at-after, loss)
	upTo := at
	if w.mistake == mistakeEarlyCut {
		upTo = max(0, at-40)
	}
	w.cuts++
	disk := vfstest.NewDisk(w.durable)
	for _, op := range rec.Ops[:upTo] {
		disk.Do(op)
	}
	left := disk.Cut(loss, w.rng.Uint64())
	anchor := w.anchor()
	left["kairos.db.key"], left["kairos.db.anchor"] = w.files["kairos.db.key"], anchor
	if at < len(rec.Side) {
		left["kairos.db.anchor"] = anchor[:rec.Side[at]]
	}
	w.shut()
	w.forget(at)
	time.Sleep([]time.Duration{0, time.Second, time.Hour, 26 * time.Hour}[w.rng.IntN(4)])
	if w.boot(left) {
		w.waitUntilIdle()
		w.examine()
	}
}

// restart stops and starts the daemon cleanly.
func (w *world) restart() {
	w.note("restart")
	w.shut()
	files := server(w.t, w.home)
	w.forget(len(w.vfs.Recording().Ops))
	w.boot(files)
}

// release ends a handler: successfully, or with an error that is retried.
func (w *world) release() {
	list := w.waiting()
	p := list[w.rng.IntN(len(list))]
	if p.substep > 0 && w.rng.IntN(12) == 0 {
		w.note("%s fails for good", w.where(p))
		w.tampered[w.root(p.call.RunID)] = true
		p.end <- ending{fails: true, forGood: true}
		return
	}
	if w.rng.IntN(4) == 0 && w.mayFail(p) {
		w.note("%s fails for now", w.where(p))
		p.end <- ending{fails: true}
		return
	}
	w.note("%s ends", w.where(p))
	p.end <- ending{}
}

// pass lets time pass.
func (w *world) pass() {
	d := []time.Duration{time.Millisecond, time.Second, 15 * time.Second, time.Minute, 11 * time.Minute, 2 * time.Hour,
		30 * time.Hour}[w.rng.IntN(7)]
	if due := w.nextDue(); !due.IsZero() && w.rng.IntN(2) == 0 {
		d = max(time.Until(due), 0) + time.Millisecond
	}
	w.note("%s pass", d)
	w.sleep(d)
}

func (w *world) start() {
	if len(w.roots) >= 6 {
		w.pass()
		return
	}
	w.sleep(time.Millisecond) // no two runs have the same age
	req := domain.StartRequest{Hash: w.plans[w.rng.IntN(len(w.plans))].Hash, Input: domain.RawJSON(propertyInput), Priority: w.rng.IntN(3)}
	switch w.rng.IntN(5) {
	case 0:
		req.StartAt = time.Now().Add(time.Duration(w.rng.IntN(90)) * time.Minute)
	case 1:
		req.Concurrency = &domain.Concurrency{Key: "one", Limit: 1, OnConflict: "queue"}
	}
	run, err := w.engine.Start(w.ctx(), operator, req)
	if err != nil {
		w.violate("start: %v", err)
		return
	}
	w.roots = append(w.roots, run.ID)
	w.note("start %s", w.name(run.ID))
}

// drain acts as people and time would until every run has ended.
func (w *world) drain() bool {
	w.calm = true
	for range 3000 {
		w.step++
		open := w.unfinished()
		switch {
		case len(open) == 0:
			return w.settle()
		case len(w.waiting()) > 0:
			p := w.waiting()[0]
			w.note("%s ends", w.where(p))
			p.end <- ending{}
		case w.helped(open):
		default:
			due := w.nextDue()
			if due.IsZero() {
				w.violate("%s is %s %s, nothing is under way and nothing is due", w.name(open[0].ID), open[0].Status, open[0].WaitReason)
				return false
			}
			w.sleep(max(time.Until(due), 0) + time.Millisecond)
		}
		if !w.settle() {
			return false
		}
	}
	w.violate("the runs do not end")
	return false
}

// compareWithReferences runs each completed run that no person changed again without disturbance.
// The results are equal (G8).
func (w *world) compareWithReferences() {
	twins := map[string]outcome{}
	for _, id := range slices.Clone(w.roots) {
		r, ok := w.run(id)
		if !ok || r.Status == domain.RunCancelled || w.changed(id) {
			continue
		}
		want, ok := twins[r.Hash]
		if !ok {
			twin, err := w.engine.Start(w.ctx(), operator, domain.StartRequest{Hash: r.Hash, Input: r.Input})
			if err != nil {
				w.violate("start a twin: %v", err)
				return
			}
			w.roots = append(w.roots, twin.ID)
			if !w.settle() || !w.drain() {
				return
			}
			want = w.outcome(twin.ID)
			twins[r.Hash] = want
		}
		if want.Status != domain.RunCompleted {
			continue // the steps that a failing run settles depend on timing
		}
		w.compared++
		if diff := cmp.Diff(want, w.outcome(id)); diff != "" {
			w.violate("%s, undisturbed (-) and as it was (+) differ:\n%s\n%s", w.name(id), diff, w.journal(id))
			return
		}
	}
}

func newWorld(base map[string][]byte, seed uint64) *world {
	return &world{seed: seed, rng: rand.New(rand.NewPCG(seed, 8)), files: base, names: map[string]string{}, parents: map[string]string{},
		digests: map[string]liveDigest{}, tampered: map[string]bool{}, errors: map[visitOf]int{}, seen: map[string]int64{},
		pendingCalls: map[*engine.Call]bool{}}
}
