// Package drivertest runs plans in the test environment of the SDK, with the scripted handlers of the engine's tests.
package drivertest

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/launch"
	"github.com/kairosd/kairosd/temporal/internal/steps"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Operator answers requests.
var Operator = enginetest.Operator

// TB is the part of a test that a world needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// World runs one run in the test environment.
type World struct {
	Env      *testsuite.TestWorkflowEnvironment
	Registry *enginetest.Registry
	Reports  *Reports
	// Secrets resolves secrets, if it is not nil.
	Secrets engine.Secrets
	Limits  domain.Limits
	Dry     bool
	Profile string
	Key     string // concurrency key of the run
	// Signer verifies requests to the run, if it is not empty.
	Signer ed25519.PublicKey
	// Callback returns the callback address of a run, if it is not nil.
	Callback func(run string) string

	// Converter measures values; nil: their size is not checked.
	Converter converter.DataConverter

	// SendTwice sends each row of a sub-step twice, as a worker does that has received no answer.
	SendTwice bool

	onAttempt    func(wire.Attempt) error
	afterAttempt func(wire.Attempt) error
	tb           TB
	versions     map[string]domain.Version
	plans        map[string]string // hash by key
	ID           string            // of the run, after Run
	// OnRenewed, if not nil, is called before another workflow run continues the run.
	OnRenewed func()
	// Continued counts the workflow runs that continued the run in another one.
	Continued int
	Input     wire.Input // of the workflow, after Run
}

// New returns a world with handlers.
func New(tb TB, r *enginetest.Registry) *World {
	w := &World{Registry: r, Reports: &Reports{}, tb: tb, versions: map[string]domain.Version{}, plans: map[string]string{}}
	w.Reports.w = w
	w.renew()
	return w
}

// renew begins another workflow run, at the time of the current one.
func (w *World) renew() {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	before := w.Env
	w.Env = suite.NewTestWorkflowEnvironment()
	w.Env.SetTestTimeout(time.Minute)
	w.Env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute, // a busy machine is slow
		MaxHeartbeatThrottleInterval: time.Millisecond})
	w.Env.SetDataConverter(wire.Converter())
	if before != nil {
		w.Env.SetStartTime(before.Now())
	}
}

// Save stores a plan.
func (w *World) Save(src string) domain.Version {
	w.tb.Helper()
	doc, problems := planner.Parse([]byte(src), planner.WithCatalog(w.Registry.Catalog()))
	if doc == nil || problems.Err() != nil {
		w.tb.Fatalf("plan: %v", problems)
	}
	v := domain.Version{PlanID: "plan-" + doc.ID, PlanKey: doc.ID, Number: 1, Hash: doc.Hash, Semantics: walk.Semantics,
		Kind: string(doc.Kind()), Format: string(doc.Format), Source: doc.Source, ByPerson: true, Author: Operator.Name}
	w.Keep(v)
	return v
}

// Keep stores a version.
func (w *World) Keep(v domain.Version) { w.versions[v.Hash], w.plans[v.PlanKey] = v, v.Hash }

// Resolve and VersionByHash find stored plans.
func (w *World) Resolve(_ context.Context, name string) (string, error) {
	if hash := w.plans[name]; hash != "" {
		return hash, nil
	}
	return "", domain.Errorf(domain.CodeNotFound, "no plan %s", name)
}

func (w *World) VersionByHash(_ context.Context, hash string) (domain.Version, error) {
	if v := w.versions[hash]; v.Hash != "" {
		return v, nil
	}
	return domain.Version{}, domain.Errorf(domain.CodeNotFound, "no version %s", hash)
}

// Run runs a plan to its end and returns the run.
func (w *World) Run(src, input string) domain.Run {
	w.tb.Helper()
	return w.RunVersion(w.Save(src), input)
}

// RunVersion runs a version to its end.
func (w *World) RunVersion(v domain.Version, input string) domain.Run {
	w.tb.Helper()
	flows := &driver.Workflows{}
	in, err := launch.Input(context.Background(), w, &flows.Programs, launch.Request{Hash: v.Hash, Profile: w.Profile,
		Input: domain.RawJSON(input), Actor: Operator.Name, Origin: "test", Now: w.Env.Now(), Limits: w.Limits, Dry: w.Dry, Report: true,
		Key: []byte("key"), Options: runstate.Options{QuarantineAfter: 3, Replans: w.Registry.Replanner != nil, MaxReplans: 2}})
	if err != nil {
		w.tb.Fatalf("input: %v", err)
	}
	in.Signer = w.Signer
	if w.Reports.Budgets != nil {
		in.Budgets = w.Reports.Budgets.Scopes()
	}
	if w.Key != "" {
		in.Run.Concurrency = &domain.Concurrency{Key: w.Key, Limit: 1}
	}
	if w.Reports.callback = w.Callback; w.Callback != nil {
		in.Callback = w.Callback(in.Run.ID)
	}
	return w.Execute(flows, in)
}

// Execute executes the workflow of an input.
func (w *World) Execute(flows *driver.Workflows, in wire.Input) domain.Run {
	w.tb.Helper()
	x, err := engine.NewExecutor(engine.ExecutorConfig{Setup: engine.Setup{Registry: w.Registry, Secrets: w.Secrets},
		StopGrace: time.Millisecond, CancelGrace: time.Millisecond})
	if err != nil {
		w.tb.Fatalf("executor: %v", err)
	}
	flows.Converter = w.Converter
	acts := &steps.Activities{Executor: x, Converter: w.Converter, Programs: &driver.Programs{Catalog: w.Registry.Catalog}, Send: w.send,
		Reserve: w.reserve}
	steps.Register(losing{w}, flows, acts)
	steps.RegisterRecord(w.Env, w.Reports)
	steps.RegisterBudgets(w.Env, w.Reports)
	w.ID, w.Input = in.Run.ID, in
	w.Env.ExecuteWorkflow(wire.RunWorkflow, in)
	if !w.Env.IsWorkflowCompleted() {
		w.tb.Fatalf("the workflow has not ended")
	}
	var run domain.Run
	err = w.Env.GetWorkflowError()
	if next, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
		var in wire.Input
		if err := wire.Converter().FromPayloads(next.Input, &in); err != nil {
			w.tb.Fatalf("input of the next workflow run: %v", err)
		}
		w.Continued++
		w.renew()
		if w.OnRenewed != nil {
			w.OnRenewed()
		}
		return w.Execute(flows, in)
	}
	if err != nil {
		w.tb.Fatalf("workflow: %v\n%s", err, w.Reports.Text(in.Run.ID))
	}
	if err := w.Env.GetWorkflowResult(&run); err != nil {
		w.tb.Fatalf("result: %v", err)
	}
	return run
}

// AfterAttempt sets a function that is called after an attempt has ended. If it returns an error, the worker is lost before it
// reports the end.
func (w *World) AfterAttempt(fn func(wire.Attempt) error) { w.afterAttempt = fn }

// OnAttempt sets a function that is called before an attempt begins. If it returns an error, the worker is lost.
func (w *World) OnAttempt(fn func(wire.Attempt) error) { w.onAttempt = fn }

// losing is an environment whose workers may be lost.
type losing struct{ w *World }

func (l losing) RegisterWorkflowWithOptions(f any, o workflow.RegisterOptions) {
	l.w.Env.RegisterWorkflowWithOptions(f, o)
}

func (l losing) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	if attempt, ok := a.(func(context.Context, wire.Attempt) (wire.Ending, error)); ok {
		a = func(ctx context.Context, t wire.Attempt) (wire.Ending, error) {
			if l.w.onAttempt != nil {
				if err := l.w.onAttempt(t); err != nil {
					return wire.Ending{}, err
				}
			}
			end, err := attempt(ctx, t)
			if err == nil && l.w.afterAttempt != nil {
				err = l.w.afterAttempt(t)
			}
			return end, err
		}
	}
	l.w.Env.RegisterActivityWithOptions(a, o)
}

// send delivers the row of a sub-step, as a worker does.
func (w *World) send(_ context.Context, id, _ string, s wire.Substep) error {
	if s.Row.Row.Kind != domain.EntryIntent {
		if w.SendTwice {
			if err := w.Env.SignalWorkflowByID(id, wire.SubstepSignal, s); err != nil {
				return err
			}
		}
		return w.Env.SignalWorkflowByID(id, wire.SubstepSignal, s)
	}
	done := make(chan error, 1)
	err := w.Env.UpdateWorkflowByID(id, wire.IntentUpdate, domain.NewID(), &callbacks{done: func(_ any, err error) { done <- err }}, s)
	if err != nil {
		return err
	}
	return <-done
}

// reserve asks the workflow whether a call may start, as a worker does.
func (w *World) reserve(ctx context.Context, id, _ string, q wire.Reserve) (a runledger.Answer, err error) {
	type result struct {
		answer runledger.Answer
		err    error
	}
	done := make(chan result, 1)
	w.Env.RegisterDelayedCallback(func() { // attempts ask at the same time
		w.Reports.mu.Lock()
		w.Reports.updates++
		w.Reports.mu.Unlock()
		err := w.Env.UpdateWorkflowByID(id, wire.ReserveUpdate, q.ID, &callbacks{done: func(success any, err error) {
			answer, _ := success.(runledger.Answer)
			done <- result{answer, err}
		}}, q)
		if err != nil {
			done <- result{err: err}
		}
	}, 0)
	for {
		select {
		case got := <-done:
			if a, err = got.answer, got.err; err != nil || !a.Pending {
				return a, err
			}
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
		w.Env.RegisterDelayedCallback(func() {
			v, err := w.Env.QueryWorkflowByID(id, wire.ReservedQuery, q.ID)
			var answer runledger.Answer
			if err == nil {
				err = v.Get(&answer)
			}
			done <- result{answer, err}
		}, 0)
	}
}

// At calls fn when the run has been running for a time on the clock of the environment.
func (w *World) At(d time.Duration, fn func()) { w.Env.RegisterDelayedCallback(fn, d) }

// Update sends an update to the run. Its error is that of the run, and nil while there is none.
func (w *World) Update(name string, arg any) *error {
	result := new(error)
	w.Env.UpdateWorkflow(name, domain.NewID(), &callbacks{done: func(_ any, err error) { *result = err }}, arg)
	return result
}

// Approvals returns the open approval requests of the run.
func (w *World) Approvals() []domain.Approval {
	w.tb.Helper()
	v, err := w.Env.QueryWorkflow(wire.ApprovalsQuery)
	if err != nil {
		w.tb.Fatalf("query: %v", err)
	}
	var list []domain.Approval
	if err := v.Get(&list); err != nil {
		w.tb.Fatalf("query: %v", err)
	}
	return list
}

// Current returns the run now.
func (w *World) Current() domain.Run {
	w.tb.Helper()
	v, err := w.Env.QueryWorkflow(wire.RunQuery)
	if err != nil {
		w.tb.Fatalf("query: %v", err)
	}
	var run domain.Run
	if err := v.Get(&run); err != nil {
		w.tb.Fatalf("query: %v", err)
	}
	return run
}

// callbacks receives the result of an update.
type callbacks struct{ done func(any, error) }

func (c *callbacks) Accept()                         {}
func (c *callbacks) Reject(err error)                { c.done(nil, err) }
func (c *callbacks) Complete(success any, err error) { c.done(success, err) }

// Reports is the record that kairosd keeps of the reports of runs. It refuses a report with a gap.
type Reports struct {
	mu      sync.Mutex
	journal map[string][]domain.Entry
	runs    map[string]domain.Run
	// callback returns the callback address of a run, if it is not nil.
	callback func(run string) string
	w        *World
	programs driver.Programs
	keys     map[string][]string // the unfinished child runs with a concurrency key, in order; the first one has begun
	// Planning, if set, is called before the planner.
	Planning func()
	// Budgets are the shared budgets, if they are not nil.
	Budgets *budget.Ledger
	// charges are those of the reports, and asked and updates count the questions to kairosd and to workflows.
	charges        []domain.BudgetCharge
	asked, updates int
	// OnReserve, if set, is called when a call asks the shared budgets.
	OnReserve func()
	// Fail, if set, is called before a report is stored.
	Fail func(r wire.Report) error
	// After, if set, is called after a report was stored. An error makes the workflow report again.
	After func(r wire.Report) error
}

// Report stores checkpoints, each once.
func (p *Reports) Report(_ context.Context, r wire.Report) (*wire.Reported, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Fail != nil {
		if err := p.Fail(r); err != nil {
			return nil, err
		}
	}
	if p.journal == nil {
		p.journal, p.runs = map[string][]domain.Entry{}, map[string]domain.Run{}
	}
	id := r.Run.ID
	input, output := p.runs[id].Input, p.runs[id].Output
	if _, known := p.runs[id]; !known {
		if r.Created == nil {
			return nil, errors.New("the first report does not contain the run")
		}
		if err := p.queue(r.Created); err != nil {
			return nil, err
		}
		input = r.Created.Input
		p.journal[id] = append([]domain.Entry{}, r.Journal...)
	}
	for _, c := range r.Checkpoints {
		switch at := int64(len(p.journal[id])); {
		case c.Fence+int64(len(c.Entries)) <= at && len(c.Entries) > 0:
			continue // it is stored
		case len(c.Entries) > 0 && c.Entries[0].Seq != at+1:
			return nil, fmt.Errorf("checkpoint %d follows %d", c.Entries[0].Seq, at)
		}
		p.journal[id] = append(p.journal[id], c.Entries...)
		p.charges = append(p.charges, c.Charges...)
		for _, charge := range c.Charges {
			p.Budgets.Settle(charge)
		}
		if c.Patch != nil && c.Patch.Output != nil {
			output = c.Patch.Output
		}
	}
	run := r.Run
	run.Input, run.Output = input, output
	p.runs[id] = run
	if err := p.free(&run); err != nil {
		return nil, err
	}
	var answer *wire.Reported
	if p.Budgets != nil && p.Budgets.Scopes().Digest != r.Budgets {
		now := p.Budgets.Scopes()
		answer = &wire.Reported{Budgets: &now}
	}
	if p.After != nil {
		return answer, p.After(r)
	}
	return answer, nil
}

// Reserve reserves from the shared budgets.
func (p *Reports) Reserve(_ context.Context, q runledger.SharedAsk) (runledger.SharedAnswer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked++; p.OnReserve != nil {
		p.OnReserve()
	}
	return q.Answer(p.Budgets), nil
}

// Child returns a child run. Runs are not resumed in this environment.
func (p *Reports) Child(_ context.Context, run string) (known wire.Child, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known.Run, known.Journal = p.runs[run], p.journal[run]
	if p.callback != nil {
		known.Callback = p.callback(run)
	}
	return known, nil
}

// Rows returns one row, so that each row is a page.
func (p *Reports) Rows(_ context.Context, q wire.Rows) ([]domain.Entry, error) {
	rows := p.Journal(q.Run)
	if int64(len(rows)) < q.Last {
		return nil, errors.New("the record does not have the rows")
	}
	return rows[q.First-1 : q.First], nil
}

// Recall returns no memory.
func (p *Reports) Recall(context.Context, wire.Recall) ([]domain.Memory, error) { return nil, nil }

// Charges returns the reported charges of shared budgets.
func (p *Reports) Charges() []domain.BudgetCharge {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.charges)
}

// Questions returns how often calls asked kairosd, and the workflow.
func (p *Reports) Questions() (kairosd, workflow int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.updates
}

// Journal returns the reported rows of a run.
func (p *Reports) Journal(run string) []domain.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.journal[run]
}

// Runs returns the reported runs.
func (p *Reports) Runs() map[string]domain.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

// Text formats the reported rows of a run, one per line.
func (p *Reports) Text(run string) string {
	var b strings.Builder
	for _, r := range p.Journal(run) {
		final := ""
		if r.Final {
			final = " final"
		}
		failure := ""
		if r.Failure != nil {
			failure = r.Failure.Code + ": " + r.Failure.Message
		}
		fmt.Fprintf(&b, "%d %s%s %s#%d[%d] attempt %d.%d %s %s %s %s %s\n", r.Seq, r.Kind, final, r.Node, r.Visit, r.Item, r.Attempt,
			r.Substep, r.Status, r.Reason, r.Output, r.Decision, failure)
	}
	return b.String()
}

var _ TB = (*testing.T)(nil)
