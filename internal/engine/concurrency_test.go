package engine_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// perCustomer limits the runs of a customer to one.
const perCustomer = `
values: {team: billing}
labels: {team: "${value.team}", customer: "${input.customer}", tier: 2}
priority: 7
concurrency: {key: "customer-${input.customer}", on_conflict: ON}
nodes: {a: {type: approval, input: {message: m}}}`

// The plan sets labels, the priority, and the concurrency key of its runs, by their input. A request
// takes precedence.
func TestAPlanSetsLabelsPriorityAndConcurrency(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(strings.ReplaceAll(perCustomer, "ON", "skip"))
	start := func(r domain.StartRequest) (domain.Run, error) {
		r.Hash = v.Hash
		return e.Start(t.Context(), enginetest.Operator, r)
	}
	one := domain.RawJSON(`{"customer": 1}`)
	first, err := start(domain.StartRequest{Input: one})
	want := map[string]string{"team": "billing", "customer": "1", "tier": "2"}
	if err != nil || !maps.Equal(first.Labels, want) || first.Priority != 7 || first.Concurrency == nil ||
		first.Concurrency.Key != "customer-1" {
		t.Fatalf("the run has the labels %v, the priority %d, and the rule %+v, %v", first.Labels, first.Priority, first.Concurrency, err)
	}
	_, err = start(domain.StartRequest{Input: one})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "skipped") {
		t.Errorf("a second run of the customer: %v", err)
	}
	other, err := start(domain.StartRequest{Input: domain.RawJSON(`{"customer": "eve"}`), Labels: map[string]string{"team": "sales", "x": "y"},
		Priority: -1})
	want = map[string]string{"team": "sales", "customer": "eve", "tier": "2", "x": "y"}
	if err != nil || !maps.Equal(other.Labels, want) || other.Priority != -1 {
		t.Errorf("the run of another customer has the labels %v and the priority %d, %v", other.Labels, other.Priority, err)
	}
	free, err := start(domain.StartRequest{Input: one, Concurrency: &domain.Concurrency{Key: "mine"}})
	if err != nil || free.Concurrency.Key != "mine" {
		t.Errorf("a request with its own key: %+v, %v", free.Concurrency, err)
	}
	dry, err := start(domain.StartRequest{Input: one, Dry: true})
	if err != nil || dry.Concurrency != nil || dry.Labels["customer"] != "1" {
		t.Errorf("a dry run has the rule %+v and the labels %v, %v", dry.Concurrency, dry.Labels, err)
	}
	again, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: other.ID, Action: domain.ActionRerun,
		Input: domain.RawJSON(`{"customer": "ada"}`)})
	want["customer"] = "ada"
	if err != nil || !maps.Equal(again.Labels, want) || again.Concurrency.Key != "customer-ada" || again.Priority != -1 {
		t.Errorf("a rerun for another customer has the labels %v and the rule %+v, %v", again.Labels, again.Concurrency, err)
	}
}

// Bad input P53: a label or a key for which the input has no value, or a bad one. The run is not created.
func TestSettingsWithoutAValue(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(strings.ReplaceAll(perCustomer, "ON", "queue"))
	long := strings.Repeat("x", 300)
	for input, want := range map[string]string{
		`{}`:                           "labels of the plan: unresolved reference ${input.customer}",
		`{"customer": "a\nb"}`:         "label \"customer\" is not valid",
		`{"customer": "` + long + `"}`: "label \"customer\" is not valid",
	} {
		_, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Input: domain.RawJSON(input)})
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", input, err)
		}
	}
	v = e.Save(`{concurrency: {key: "${input}"}, nodes: {a: {type: noop}}}`)
	for input, want := range map[string]string{`""`: "is empty", `"` + long + `"`: "more than 256 bytes"} {
		_, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Input: domain.RawJSON(input)})
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", input, err)
		}
	}
}

// A child run obeys the rule of its own plan. With the key of its parent, it would wait for its parent,
// so it shares the parent's place.
func TestAChildRunSharesTheKeyOfItsParent(t *testing.T) {
	t.Parallel()
	began := make(chan string)
	reg := enginetest.NewRegistry().Handle("park", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		began <- c.RunID
		<-ctx.Done()
		return engine.Result{}, context.Cause(ctx)
	})
	e := enginetest.Open(t, reg)
	e.Save(`{id: child, concurrency: {key: "${input}"}, nodes: {a: {type: park}}}`)
	parent := e.Save(`{id: parent, concurrency: {key: till}, nodes: {a: {type: plan, plan: child, input: "${input}"}}}`)
	child := func(run domain.Run) *domain.Concurrency {
		t.Helper()
		r, err := e.Store.Run(t.Context(), <-began)
		if err != nil || r.Parent == nil || r.Parent.Run != run.ID {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Concurrency
	}
	run := e.Begin(parent, `"till"`)
	if rule := child(run); rule != nil {
		t.Errorf("the child with the key of its parent has the rule %+v", rule)
	}
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if rule := child(e.Begin(parent, `"door"`)); rule == nil || rule.Key != "door" {
		t.Errorf("the child has the rule %+v", rule)
	}
}

// If kairosd is killed after a new run exists, and before the run that it replaces is cancelled, the next
// start cancels that run.
func TestARestartCancelsTheReplacedRun(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	v := e.Save(`{nodes: {a: {type: approval, input: {message: m}}}}`)
	rule := &domain.Concurrency{Key: "one", Limit: 1, OnConflict: "cancel_oldest"}
	old, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Concurrency: rule})
	if err != nil {
		t.Fatal(err)
	}
	e.Until(old.ID, domain.RunWaiting, domain.WaitApproval)
	e.Close()
	next, _, err := s.CreateRun(context.Background(), domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "marta", Origin: "api",
		Concurrency: rule})
	if err != nil {
		t.Fatal(err)
	}
	e = enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	e.Until(old.ID, domain.RunCancelled, "")
	e.Until(next.ID, domain.RunWaiting, domain.WaitApproval)
}

// A run that a schedule starts obeys the rule of the plan instead of the overlap of the schedule.
func TestTheRuleOfAPlanReplacesOverlap(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{concurrency: {key: one, on_conflict: skip}, nodes: {a: {type: approval, input: {message: m}}}}`)
	slot := func(from time.Time) domain.StartRequest {
		return domain.StartRequest{Hash: v.Hash, Concurrency: &domain.Concurrency{Key: "schedule:x", Limit: 1, OnConflict: "queue"},
			Claim: &domain.SlotClaim{Schedule: "gone", Slot: time.Unix(60, 0), SlotMove: domain.SlotMove{From: from}}}
	}
	first := e.Begin(v, "")
	e.Until(first.ID, domain.RunWaiting, domain.WaitApproval)
	// The schedule does not exist, which the store finds first.
	if _, err := e.Start(t.Context(), enginetest.Operator, slot(time.Unix(60, 0))); !strings.Contains(err.Error(), "deleted") {
		t.Error(err)
	}
	if r, err := e.Store.Run(t.Context(), first.ID); err != nil || r.Status != domain.RunWaiting {
		t.Errorf("a start that failed changed the active run: %s, %v", r.Status, err)
	}
}

// A run that has not ended within the timeout of its plan fails. Its finally steps run.
func TestARunTimesOut(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		<-ctx.Done()
		return engine.Result{}, context.Cause(ctx)
	})
	e := enginetest.Open(t, reg)
	run := e.Run(`{timeout: 20ms, nodes: {a: {type: work}}, finally: {f: {type: log, input: "${last.code}"}}}`, "")
	r := e.Until(run.ID, domain.RunFailed, "")
	if r.Error == nil || r.Error.Code != walk.CodeRunTimeout || !strings.Contains(e.Journal(run.ID), `"run_timeout"`) {
		t.Errorf("the run failed with %+v\n%s", r.Error, e.Journal(run.ID))
	}
	waits := e.Run(`{timeout: 20ms, nodes: {a: {type: approval, input: {message: m}}}}`, "")
	if r := e.Until(waits.ID, domain.RunFailed, ""); r.Error.Code != walk.CodeRunTimeout {
		t.Errorf("the run that waits failed with %+v", r.Error)
	}
}

// A run that was cancelled between its creation and its place in the queue does not keep its concurrency key.
func TestARunThatEndsBeforeItIsQueuedFreesItsKey(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{"concurrency": {"key": "till"}, "nodes": {"a": {"type": "set", "input": 1}}}`)
	first := e.Settle(e.Begin(v, "").ID)
	e.Queue(first)
	if second := e.Settle(e.Begin(v, "").ID); second.Status != domain.RunCompleted {
		t.Errorf("the second run is %s", second.Status)
	}
}
