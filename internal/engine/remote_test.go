package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/planner/walk"
)

// elsewhere is a Remote that executes each run in an engine of its own, and reports its checkpoints.
type elsewhere struct {
	t       *testing.T
	r       *enginetest.Registry
	control *enginetest.Engine

	mu      sync.Mutex
	engines map[string]*enginetest.Engine // by run
	reports []engine.Report
	drop    bool // reports are lost
	opening sync.Mutex
	// launched lists the launches.
	launched []string
	launches sync.WaitGroup
	// signal, if not nil, is called before and after a signal is delivered to a run. An error prevents its delivery.
	signal func(run string, delivered bool) error
	// tails, if not nil, returns the output of the active attempts of a run.
	tails   func(run string) []tail.Tail
	workers domain.Workers
	waits   []domain.WorkerWait
	// freed is called when a run may end its wait for a budget.
	freed func(run string, ev *runstate.BudgetFreed) error
}

// openElsewhere opens an engine whose runs are executed elsewhere.
func openElsewhere(t *testing.T, r *enginetest.Registry) (*enginetest.Engine, *elsewhere) {
	t.Helper()
	w := &elsewhere{t: t, r: r, engines: map[string]*enginetest.Engine{}}
	w.open(storetest.Open(t))
	t.Cleanup(w.launches.Wait)
	return w.control, w
}

// open opens the engine on a store, and begins the runs that have no execution.
func (w *elsewhere) open(s *store.Store) {
	w.control = enginetest.OpenOn(w.t, s, w.r, engine.Options{Remote: w})
	unfinished, err := s.Unfinished(context.Background())
	if err != nil {
		w.t.Errorf("unfinished runs: %v", err)
	}
	for _, run := range unfinished {
		if w.engines[run.ID] == nil {
			engine.RecordsOf(w.control.Engine).Begin(run)
		}
	}
	engine.RecordsOf(w.control.Engine).Compared()
}

// restart stops the engine, and opens it again on its store. The runs continue elsewhere meanwhile.
func (w *elsewhere) restart(between func()) *enginetest.Engine {
	w.control.Close()
	between()
	w.open(w.control.Store)
	return w.control
}

// reporting is a store that reports each checkpoint when it is durable.
type reporting struct {
	*store.Store
	w *elsewhere
}

func (s reporting) Enqueue(list []domain.Checkpoint, done func(error)) {
	list = slices.Clone(list)
	n := 0
	s.Store.Enqueue(list, func(err error) {
		if err == nil {
			s.w.report(list[n])
		}
		n++
		done(err)
	})
}

func (s reporting) Commit(ctx context.Context, c domain.Checkpoint) error {
	err := s.Store.Commit(ctx, c)
	if err == nil {
		s.w.report(c)
	}
	return err
}

func (w *elsewhere) report(c domain.Checkpoint) {
	c.Chain = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	rep := engine.Report{Run: c.Run, Checkpoints: []domain.Checkpoint{c}}
	w.reports = append(w.reports, rep)
	if w.drop {
		return
	}
	rep.Checkpoints = slices.Clone(rep.Checkpoints)
	if err := engine.RecordsOf(w.control.Engine).Add(context.Background(), rep); err != nil {
		w.t.Errorf("record: %v", err)
	}
}

func (w *elsewhere) Accept(_ context.Context, p *runstate.Compiled, _ domain.NewRun) error {
	if p.Version.PlanKey == "refused" {
		return domain.Errorf(domain.CodeInvalid, "not here")
	}
	return nil
}

// Launch executes a run. If its record has rows that its execution lacks, a new one continues the record.
func (w *elsewhere) Launch(run string) { w.launches.Go(func() { w.launch(run) }) }

func (w *elsewhere) launch(run string) {
	w.mu.Lock()
	e := w.engines[run]
	w.launched = append(w.launched, run)
	w.mu.Unlock()
	if e != nil {
		here, err := w.control.Store.Run(context.Background(), run)
		there, failed := e.Store.Run(context.Background(), run)
		if err != nil || failed != nil {
			w.t.Errorf("launch: %v %v", err, failed)
		}
		if here.LastSeq > there.LastSeq {
			w.mu.Lock()
			delete(w.engines, run)
			w.mu.Unlock()
		}
	}
	w.engine(run)
}

// engine returns the engine of a run. It starts with the run as it is stored.
func (w *elsewhere) engine(id string) *enginetest.Engine {
	w.opening.Lock() // a launch may do this at the same time
	defer w.opening.Unlock()
	w.mu.Lock()
	e := w.engines[id]
	w.mu.Unlock()
	if e != nil {
		return e
	}
	ctx := context.Background()
	run, err := w.control.Store.Run(ctx, id)
	if err != nil {
		w.t.Errorf("launch: %v", err)
		return nil
	}
	rows, err := w.control.Store.Journal(ctx, id, 0)
	if err != nil {
		w.t.Errorf("launch: %v", err)
	}
	v, err := w.control.Store.VersionByHash(ctx, run.Hash)
	if err != nil {
		w.t.Errorf("launch: %v", err)
	}
	own := storetest.Open(w.t)
	if _, _, _, err := own.PutVersion(ctx, domain.NewVersion{Key: v.PlanKey, Hash: v.Hash, Kind: v.Kind, Format: v.Format,
		Source: v.Source, Canonical: v.Canonical, Semantics: v.Semantics, ByPerson: true}, enginetest.Operator); err != nil {
		w.t.Errorf("launch: %v", err)
	}
	if _, _, err := own.CreateRun(ctx, domain.NewRun{ID: id, Hash: v.Hash, Input: run.Input, Actor: run.Actor, Origin: run.Origin,
		Limits: run.Limits, StartAt: run.StartAt, Lineage: run.Lineage, Entries: rows}); err != nil {
		w.t.Errorf("launch: %v", err)
	}
	e = enginetest.OpenWith(w.t, own, reporting{own, w}, w.r, engine.Options{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engines[id] = e
	return e
}

func (w *elsewhere) Act(ctx context.Context, run domain.Run, ev *runstate.OperatorAction) (int64, error) {
	if (run.Status.Final()) != (ev.Reset != nil) {
		w.t.Errorf("%s of a run that is %s, with %+v", ev.Request.Action, run.Status, ev.Reset)
	}
	ev.Request.Digest = ""
	after, err := w.engine(run.ID).Act(ctx, ev.Actor, ev.Request)
	return after.LastSeq, err
}

func (w *elsewhere) Resolve(ctx context.Context, run domain.Run, ev *runstate.StepResolved) (int64, error) {
	after, err := w.engine(run.ID).Resolve(ctx, ev.Actor, ev.Request)
	return after.LastSeq, err
}

func (w *elsewhere) Decide(ctx context.Context, run domain.Run, ev *runstate.ApprovalDecided) (int64, error) {
	e := w.engine(run.ID)
	if _, err := e.Engine.Decide(ctx, ev.Actor, ev.Request); err != nil {
		return 0, err
	}
	after, err := e.Store.Run(ctx, run.ID)
	return after.LastSeq, err
}

func (w *elsewhere) Maintain(bool) {}

func (w *elsewhere) Signal(ctx context.Context, run string, ev *runstate.SignalArrived) error {
	if w.signal != nil {
		if err := w.signal(run, false); err != nil {
			return err
		}
	}
	e := w.engine(run)
	if _, waits, err := e.Store.Matchable(ctx, ev.Signal.Name, ev.Signal.Key, 1); err != nil || len(waits) == 0 {
		return domain.Errorf(domain.CodeConflict, "the run does not wait, %v", err)
	}
	if _, _, err := e.Store.Do(store.Operation{Name: "send", Action: "signal.send", By: enginetest.Operator, At: ev.Signal.CreatedAt},
		func(tx *store.Tx) (string, error) { return "", tx.Incoming().Send(ev.Signal) }); err != nil {
		return err
	}
	e.SignalStored(ctx, ev.Signal.Name, ev.Signal.Key)
	if w.signal != nil {
		return w.signal(run, true)
	}
	return nil
}

func (w *elsewhere) BudgetFreed(_ context.Context, run string, ev *runstate.BudgetFreed) error {
	return w.freed(run, ev)
}

func (w *elsewhere) Executes(_ context.Context, run string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.engines[run] != nil, nil
}

func (w *elsewhere) Reconcile(context.Context) error { return nil }

func (w *elsewhere) Active(_ context.Context, run string) (tail.Active, error) {
	if w.tails == nil {
		return tail.Active{Waits: w.waits}, nil
	}
	list := w.tails(run)
	return tail.Active{Tails: list, Attempts: len(list), Waits: w.waits}, nil
}

func (w *elsewhere) Workers() domain.Workers { return w.workers }

const paymentPlan = `
id: payment
nodes:
  ask: {type: approval, input: {message: "Pay?"}}
  pay: {type: pay, input: {amount: 5}}
  end: {type: set, input: "${output.pay}"}
edges: [{from: ask, to: pay}, {from: pay, to: end}]
`

// A run that is executed elsewhere is started, approved, failed, resumed, and deleted through the engine. Its record is
// that of its execution, and the engine calls no handler itself.
func TestRunsElsewhereAreRecorded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	broken := true
	r := enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return engine.Result{}, errors.New("the bank is closed")
		}
		return engine.Result{Output: "paid"}, nil
	})
	e, w := openElsewhere(t, r)
	run := e.Run(paymentPlan, "null")
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	p := requests(t, e.Store, run.ID)[0]
	yes := domain.DecideRequest{Approval: p.ID, Approve: true, Digest: p.Digest}
	if got, err := e.Decide(t.Context(), enginetest.Operator, yes); err != nil || got.Status != "approved" {
		t.Fatalf("decide: %+v, %v", got, err)
	}
	e.Until(run.ID, domain.RunFailed, "")
	mu.Lock()
	broken = false
	mu.Unlock()
	shown, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil {
		t.Fatal(err)
	}
	stale := domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Digest: "other"}
	if _, err := e.Act(t.Context(), enginetest.Operator, stale); domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("a resume that differs from its preview: %v", err)
	}
	if _, err := e.Act(t.Context(), enginetest.Operator,
		domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Digest: shown.Digest}); err != nil {
		t.Fatal(err)
	}
	end := e.Until(run.ID, domain.RunCompleted, "")
	if string(end.Output) != `"paid"` {
		t.Errorf("output %s", end.Output)
	}
	if _, err := e.Do(run.ID, domain.ActionResume); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a resume of a completed run: %v", err)
	}
	if got, err := e.Do(run.ID, domain.ActionDelete); err != nil || got.DeletedAt.IsZero() {
		t.Errorf("delete: %+v, %v", got, err)
	}
	if has, want := e.Journal(run.ID), w.engine(run.ID).Journal(run.ID); has != want {
		t.Errorf("the record is\n%s\nand not\n%s", has, want)
	}
	if n := r.Count("pay"); n != 2 {
		t.Errorf("%d payments were attempted", n)
	}
}

// A report that is repeated changes nothing, and one after a gap is refused until the gap is filled. Rows of another
// execution are refused.
func TestReportsAreStoredOnce(t *testing.T) {
	t.Parallel()
	r := enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, echo)
	e, w := openElsewhere(t, r)
	w.drop = true
	run := e.Run(paymentPlan, "null")
	other := w.engine(run.ID)
	other.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	p := requests(t, other.Store, run.ID)[0]
	if _, err := other.Engine.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	other.Until(run.ID, domain.RunCompleted, "")
	w.mu.Lock()
	defer w.mu.Unlock()
	send := func(rep engine.Report) error {
		rep.Checkpoints = slices.Clone(rep.Checkpoints)
		return engine.RecordsOf(e.Engine).Add(t.Context(), rep)
	}
	last := len(w.reports) - 1
	if err := send(w.reports[last]); !errors.Is(err, engine.ErrGap) {
		t.Errorf("a report after a gap: %v", err)
	}
	for range 2 {
		for _, rep := range w.reports {
			if err := send(rep); err != nil {
				t.Fatal(err)
			}
		}
	}
	if has, want := e.Journal(run.ID), other.Journal(run.ID); has != want {
		t.Errorf("the record is\n%s\nand not\n%s", has, want)
	}
	events := func(s *store.Store) int {
		list, err := s.EventsAfter(t.Context(), 0, run.ID, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if has, want := events(e.Store), events(other.Store)+1; has != want { // the other store has no record of the creation
		t.Errorf("%d events, and not %d", has, want)
	}
	changed := w.reports[last]
	changed.Checkpoints = slices.Clone(changed.Checkpoints)
	changed.Checkpoints[0].Entries = slices.Clone(changed.Checkpoints[0].Entries)
	changed.Checkpoints[0].Entries[0].At = time.Now().Add(time.Hour)
	if err := send(changed); !errors.Is(err, engine.ErrDiverged) {
		t.Errorf("rows of another execution: %v", err)
	}
}

// A plan that the remote does not accept is refused before a run exists. A lost run waits for a person.
func TestRefusedAndLostRuns(t *testing.T) {
	t.Parallel()
	r := enginetest.NewRegistry().Handle("pay", walk.EffectIdempotent, echo)
	e, _ := openElsewhere(t, r)
	v := e.Save("id: refused\nnodes: {a: {type: pay, input: {}}}\n")
	if _, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash}); err == nil ||
		!strings.Contains(err.Error(), "not here") {
		t.Errorf("start: %v", err)
	}
	run := e.Run(paymentPlan, "null")
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	for range 2 {
		if err := engine.RecordsOf(e.Engine).Lost(t.Context(), run.ID, domain.Messagef("its workflow is gone")); err != nil {
			t.Fatal(err)
		}
	}
	lost := e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
	if lost.Headline != "its workflow is gone" {
		t.Errorf("headline %q", lost.Headline)
	}
	v2, err := e.View(t.Context(), run.ID)
	if err != nil || !v2.State.Quarantined {
		t.Errorf("the state: %+v, %v", v2, err)
	}
}
