package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// children returns the child runs of a run, by the item that they run for.
func children(t *testing.T, e *enginetest.Engine, run string) []domain.Run {
	t.Helper()
	list, err := e.Store.Lineage(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(r domain.Run) bool { return r.Parent == nil || r.Parent.Run != run })
	slices.SortFunc(list, func(a, b domain.Run) int { return a.Parent.Item - b.Parent.Item })
	return list
}

const shipping = `
id: shipping
values: {unit: kg}
nodes:
  fetch: {type: set, input: {orders: [{id: 7}, {id: 8}], rate: 2}}
  ship:
    needs: [fetch]
    foreach: output.fetch.orders
    max_parallel: 1
    input: {rate: "${output.fetch.rate}", order: "${item.id}"}
    do:
      nodes:
        reserve: {type: call, input: "${item.id}/${index}/${input.rate}${value.unit}"}
        ask: {type: wait, needs: [reserve], input: {for: 1ms}}
      result: "${output.reserve}"
`

// Lists and counts contain the run of a plan, not those of its blocks, except one that needs a person.
func TestRunsOfBlocksAreListedWhenTheyNeedAPerson(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo))
	run := e.Settle(e.Begin(e.Save(shipping), "").ID)
	asking := strings.NewReplacer("id: shipping", "id: asking", "type: wait", "type: approval", "{for: 1ms}", "{message: \"send?\"}").
		Replace(shipping)
	parent := e.Until(e.Begin(e.Save(asking), "").ID, domain.RunWaiting, domain.WaitChild)
	var started []domain.Run
	for len(started) == 0 { // the child run is created after the wait for it is durable
		started = children(t, e, parent.ID)
	}
	child := e.Until(started[0].ID, domain.RunWaiting, domain.WaitApproval)
	counts := map[string]int{}
	for name, f := range map[string]domain.RunFilter{
		"all": {}, "completed": {Statuses: []domain.RunStatus{domain.RunCompleted}}, "blocks": {Origins: []string{domain.OriginBlock}},
		"plan of a block": {PlanKey: "shipping/ship"}, "child runs": {Parent: run.ID}, "attention": {NeedsAttention: true},
	} {
		list, err := e.Store.Runs(t.Context(), f)
		n, _, counted := e.Store.RunsCount(t.Context(), f, 100)
		if err != nil || counted != nil || n != len(list.Items) {
			t.Errorf("%s: %d listed, %d counted; %v, %v", name, len(list.Items), n, err, counted)
		}
		counts[name] = n
	}
	want := map[string]int{"all": 3, "completed": 1, "blocks": 3, "plan of a block": 2, "child runs": 2, "attention": 1}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	total, err := e.Store.RunCounts(t.Context())
	if err != nil || total.Total != 3 || total.NeedsAttention != 1 {
		t.Errorf("counters while run %s waits: %+v, %v", child.ID, total, err)
	}
	if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: parent.ID, Action: domain.ActionCancel}); err != nil {
		t.Fatal(err)
	}
	e.Until(child.ID, domain.RunCancelled, "")
	if total, err = e.Store.RunCounts(t.Context()); err != nil || total.Total != 2 || total.NeedsAttention != 0 {
		t.Errorf("counters after the cancel: %+v, %v", total, err)
	}
}

// A block is executed by child runs with a plan of their own, which lists leave out. Its steps read the
// item, the index, the input of the block, and the values of the plan.
func TestABlockIsExecutedByChildRuns(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo))
	v := e.Save(shipping)
	run := e.Settle(e.Begin(v, "").ID)
	if want := `["7/0/2kg","8/1/2kg"]`; run.Status != domain.RunCompleted || string(run.Output) != want {
		t.Fatalf("%s %s\n%s", run.Status, run.Output, e.Journal(run.ID))
	}
	list := children(t, e, run.ID)
	if len(list) != 2 || list[0].PlanKey != "shipping/ship" || list[0].Hash != list[1].Hash {
		t.Fatalf("child runs: %+v", list)
	}
	if want := `{"index":1,"input":{"order":8,"rate":2},"item":{"id":8}}`; string(list[1].Input) != want {
		t.Errorf("input of a child run: %s", list[1].Input)
	}
	if list[1].CreatedAt.Before(list[0].EndedAt) {
		t.Errorf("max_parallel: 1, but the second child run began at %s, before the end of the first at %s", list[1].CreatedAt,
			list[0].EndedAt)
	}
	plans, err := e.Store.Plans(t.Context(), domain.PlanFilter{})
	if err != nil || len(plans.Items) != 1 || plans.Items[0].Key != "shipping" {
		t.Errorf("plans: %+v, %v", plans.Items, err)
	}
	block, err := e.Store.Plan(t.Context(), "shipping/ship")
	if err != nil || block.Stage != domain.StageBlock || block.Latest != 1 {
		t.Errorf("plan of the block: %+v, %v", block, err)
	}
	again := e.Settle(e.Begin(e.Save(strings.Replace(shipping, "rate: 2}", "rate: 3}", 1)), "").ID)
	if list := children(t, e, again.ID); len(list) != 2 || list[0].Version != 1 {
		t.Errorf("the same block has another version: %+v", list)
	}
}

// A rerun of a child run keeps its item.
func TestARerunOfABlockKeepsItsItem(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo))
	run := e.Settle(e.Begin(e.Save(shipping), "").ID)
	rerun, err := e.Do(children(t, e, run.ID)[1].ID, domain.ActionRerun)
	if err != nil {
		t.Fatal(err)
	}
	if rerun = e.Settle(rerun.ID); string(rerun.Output) != `"8/1/2kg"` {
		t.Errorf("%s %s", rerun.Status, rerun.Output)
	}
}

// The retries, the timeout, and on_error of a step with do: apply to the block as a group.
func TestABlockIsAGroup(t *testing.T) {
	t.Parallel()
	var failures atomic.Int32
	e := enginetest.Open(t, enginetest.NewRegistry().
		Handle("flap", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			if failures.Add(1) < 3 {
				return engine.Result{}, errors.New("not yet")
			}
			return engine.Result{Output: "at last"}, nil
		}).
		Handle("broken", walk.EffectIdempotent, fails(&walk.Failure{Code: "boom", Message: "it broke"})))
	for _, c := range []struct{ name, group, output string }{
		{"retries", `retry: {max_attempts: 3, backoff: [1ms]}, do: {nodes: {x: {type: flap}}}`, `"at last"`},
		{"timeout", `timeout: 5ms, on_error: [{code: timeout, to: sorry}], do: {nodes: {x: {type: wait, input: {for: 1h}}}}`, `"timeout"`},
		{"a code", `on_error: [{code: boom, to: sorry}], do: {nodes: {x: {type: broken}}}`, `"boom"`},
		{"another code", `on_error: [{code: bang, to: sorry}, {to: continue}], do: {nodes: {x: {type: broken}}}`, `null`},
		{"inside a block", `do: {start: y, nodes: {y: {on_error: [{code: boom, to: z}], do: {nodes: {x: {type: broken}}}}, z: {type: set, input: inner}}}`,
			`"inner"`},
	} {
		run := e.Settle(e.Run(`{start: group, nodes: {group: {`+c.group+`}, done: {type: set, input: "${last}"},
			sorry: {type: set, input: "${last.code}"}}, edges: [{from: group, to: done}, {from: group, to: sorry, condition: "failed: never"}]}`,
			"").ID)
		if run.Status != domain.RunCompleted || string(run.Output) != c.output {
			t.Errorf("%s: %s %s, want %s\n%s", c.name, run.Status, run.Output, c.output, e.Journal(run.ID))
		}
	}
}

// An undo of a run undoes the steps of its blocks, and a second step with an undo of its own as a whole.
func TestUndoOfABlock(t *testing.T) {
	t.Parallel()
	b := &bank{}
	e := enginetest.Open(t, b.registry())
	run := e.Settle(e.Run(`
id: trip
nodes:
  book:
    foreach: [1, 2]
    max_parallel: 1
    do:
      nodes:
        pay: {type: charge, input: "${item}", undo: {type: refund, input: "${last.id} of ${item} at ${index}"}}
        note: {type: set, needs: [pay], input: done}
  end: {type: broken, needs: [book]}
`, "").ID)
	r, _ := undo(t, e, run.ID)
	if r = e.Settle(r.ID); r.Status != domain.RunCompleted {
		t.Fatalf("the undo is %s\n%s", r.Status, e.Journal(r.ID))
	}
	if got, want := b.refunds(), "ch-2 of 2 at 1 ch-1 of 1 at 0"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A failed step of a block is resumed inside its child run.
func TestAResumeOfABlock(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	registry := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo).
		Handle("flap", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			if down.Load() {
				return engine.Result{}, errors.New("it is down")
			}
			return engine.Result{Output: "up"}, nil
		})
	e := enginetest.Open(t, registry)
	run := e.Settle(e.Run(`{nodes: {group: {do: {nodes: {first: {type: call}, second: {type: flap, needs: [first]}}}}}}`, "").ID)
	if run.Status != domain.RunFailed || !strings.Contains(run.Error.Message, "of block group failed: ") {
		t.Fatalf("%s: %+v", run.Status, run.Error)
	}
	// It is one failure, in one run.
	groups, err := e.Store.FailureGroups(t.Context(), 10)
	if err != nil || len(groups) != 1 || groups[0].Plan.Key != run.PlanKey || groups[0].Runs != 1 {
		t.Errorf("%+v, %v", groups, err)
	}
	down.Store(false)
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if run = e.Settle(run.ID); run.Status != domain.RunCompleted || string(run.Output) != `"up"` {
		t.Errorf("%s %s\n%s", run.Status, run.Output, e.Journal(run.ID))
	}
	if n := registry.Count("first"); n != 1 {
		t.Errorf("the first step ran %d times", n)
	}
}

// A dry run of a plan with a block calls nothing.
func TestADryRunOfABlock(t *testing.T) {
	t.Parallel()
	registry := enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo)
	e := enginetest.Open(t, registry)
	v := e.Save(shipping)
	run, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Dry: true})
	if err != nil {
		t.Fatal(err)
	}
	if run = e.Settle(run.ID); run.Status != domain.RunCompleted || registry.Count("reserve") != 0 {
		t.Errorf("%s, %d calls", run.Status, registry.Count("reserve"))
	}
	list := children(t, e, run.ID)
	if len(list) != 2 || !list[0].Dry() {
		t.Errorf("child runs: %+v", list)
	}
}

// The side effects of a plan include those of its blocks.
func TestTheSideEffectsOfABlock(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo))
	effects, err := engine.SideEffectsOf(t.Context(), e.Engine, e.Save(shipping).Hash)
	if err != nil || effects.Class != walk.EffectUnsafe {
		t.Errorf("%+v, %v", effects, err)
	}
}
