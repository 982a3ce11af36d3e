package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// bank records payments and refunds in the order in which they happen.
type bank struct {
	mu      sync.Mutex
	entries []string
	down    atomic.Pointer[string] // the input of refunds that fail
}

func (b *bank) record(entry string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, entry)
}

func (b *bank) refunds() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, e := range b.entries {
		if r, ok := strings.CutPrefix(e, "refund "); ok {
			list = append(list, r)
		}
	}
	return strings.Join(list, " ")
}

// registry has charge, which returns {id}, and refund and broken.
func (b *bank) registry() *enginetest.Registry {
	return enginetest.NewRegistry().
		Handle("charge", walk.EffectUnsafe, func(_ context.Context, c *engine.Call) (engine.Result, error) {
			id := fmt.Sprintf("ch-%v", c.Input)
			b.record("charge " + id)
			return engine.Result{Output: map[string]any{"id": id}}, nil
		}).
		Handle("refund", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
			if down := b.down.Load(); down != nil && *down == fmt.Sprint(c.Input) {
				return engine.Result{}, &walk.Failure{Code: "down", Message: "the bank is closed", Permanent: true}
			}
			b.record(fmt.Sprintf("refund %v", c.Input))
			return engine.Result{}, nil
		}).
		Handle("broken", walk.EffectPure, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{}, &walk.Failure{Code: "broken", Message: "it is broken", Permanent: true}
		})
}

// undo previews the undo of a run and starts it.
func undo(t *testing.T, e *enginetest.Engine, run string, skip ...string) (domain.Run, domain.Preview) {
	t.Helper()
	req := domain.ActionRequest{Run: run, Action: domain.ActionUndo, Skip: skip}
	p, err := e.Preview(t.Context(), enginetest.Operator, req)
	if err != nil || !p.Allowed {
		t.Fatalf("preview: %v %s (%s)", err, p.Refusal, p.Suggestion)
	}
	req.Digest = p.Digest
	r, err := e.Act(t.Context(), enginetest.Operator, req)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

// undoRefusal previews an undo that is not possible, and returns why. The action is refused, too.
func undoRefusal(t *testing.T, e *enginetest.Engine, run string) string {
	t.Helper()
	req := domain.ActionRequest{Run: run, Action: domain.ActionUndo}
	p, err := e.Preview(t.Context(), enginetest.Operator, req)
	if err != nil || p.Allowed {
		t.Fatalf("preview: allowed %v, %v", p.Allowed, err)
	}
	req.Digest = "x"
	if _, err := e.Act(t.Context(), enginetest.Operator, req); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("act: %v", err)
	}
	return p.Refusal.String() + " | " + p.Suggestion.String()
}

const booking = `
id: booking
nodes:
  flight: {type: charge, input: "flight-${input.who}", undo: {type: refund, input: "${last.id}"}}
  hotel: {type: charge, input: hotel, undo: {type: refund, input: "${output.flight.id}+${output.hotel.id}"}}
  gift: {type: charge, input: gift}
  car: {type: broken}
edges: [{from: flight, to: hotel}, {from: hotel, to: gift}, {from: gift, to: car}]
`

// An undo calls the undo of each completed step, the newest first, with the values of that time. Its
// preview shows the calls and what stays.
func TestUndo(t *testing.T) {
	t.Parallel()
	b := &bank{}
	e := enginetest.Open(t, b.registry())
	run := e.Settle(e.Begin(e.Save(booking), `{"who": "ada"}`).ID)
	if run.Status != domain.RunFailed {
		t.Fatalf("got %s", run.Status)
	}
	_, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionUndo})
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("without the digest of a preview: %v", err)
	}
	r, p := undo(t, e, run.ID)
	if len(p.Undo) != 2 || p.Undo[0].Node != "hotel" || string(p.Undo[0].Input) != `"ch-flight-ada+ch-hotel"` || p.Undo[1].Node != "flight" {
		t.Errorf("the preview lists %+v", p.Undo)
	}
	if len(p.Keep) != 1 || p.Keep[0].Node != "gift" || p.Keep[0].Reason.String() != "it has no undo" {
		t.Errorf("the preview keeps %+v", p.Keep)
	}
	if r = e.Settle(r.ID); r.Status != domain.RunCompleted || r.Undoes != run.ID || r.Origin != "undo" || r.PlanKey != "booking" {
		t.Errorf("the undo run is %s, undoes %s, of plan %s\n%s", r.Status, r.Undoes, r.PlanKey, e.Journal(r.ID))
	}
	if got := b.refunds(); got != "ch-flight-ada+ch-hotel ch-flight-ada" {
		t.Errorf("refunds: %s", got)
	}
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || len(d.Undos) != 1 || d.Undos[0].ID != r.ID || len(d.Undos[0].Steps) != 2 || d.Undos[0].Actor != "marta" ||
		d.Undos[0].Steps[0].Node != "hotel" || d.Undos[0].Steps[0].Status != domain.NodeCompleted || d.Undos[0].Steps[0].EndedAt.IsZero() {
		t.Errorf("the run shows %+v, %v", d.Undos, err)
	}
	outcomes, err := e.Store.Outcomes(t.Context(), run.CreatedAt.Add(-time.Hour))
	if err != nil || len(outcomes) != 1 || outcomes[0].Status != domain.RunFailed {
		t.Errorf("the outcomes of the plan are %+v, %v; its undo is none", outcomes, err)
	}
	if good, err := rundiff.LastGood(t.Context(), e.Store, run); err != nil || good.ID != "" {
		t.Errorf("the failed run is compared with %s, %v; no run of its plan has completed", good.ID, err)
	}
	if got := undoRefusal(t, e, run.ID); !strings.HasPrefix(got, "all completed steps of run "+domain.ShortID(run.ID)+" were undone") {
		t.Errorf("a second undo: %s", got)
	}
	if _, err := e.Do(run.ID, domain.ActionResume); domain.CodeOf(err) != domain.CodeConflict ||
		!strings.Contains(err.Error(), "was undone") {
		t.Errorf("a resume after the undo: %v", err)
	}
	if p, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume}); err != nil ||
		p.Allowed || !strings.Contains(p.Suggestion.String(), "rerun") {
		t.Errorf("its preview: %+v %v", p.Suggestion, err)
	}
	for _, action := range []domain.Action{domain.ActionRerun, domain.ActionFork} {
		if _, err := e.Do(r.ID, action); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("%s of the undo run: %v", action, err)
		}
	}
	fork := domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: run.LastSeq}
	if p, err = e.Preview(t.Context(), enginetest.Operator, fork); err != nil || names(p.Again) != "car flight gift hotel" {
		t.Errorf("a fork after the undo runs %q again, %v", names(p.Again), err)
	}
	stored, err := e.Store.Plan(t.Context(), "booking")
	if err != nil || stored.Latest != 1 {
		t.Errorf("the plan has version %d, %v", stored.Latest, err)
	}
}

// O17: an undo that fails stops there. Its resume continues with the rest, and meanwhile no other undo
// starts.
func TestUndoThatFails(t *testing.T) {
	t.Parallel()
	b := &bank{}
	down := "ch-flight-ada"
	b.down.Store(&down)
	e := enginetest.Open(t, b.registry())
	run := e.Settle(e.Begin(e.Save(booking), `{"who": "ada"}`).ID)
	r, _ := undo(t, e, run.ID)
	if r = e.Settle(r.ID); r.Status != domain.RunFailed || r.Error == nil || r.Error.Node != "flight" || !r.Attention {
		t.Fatalf("the undo run is %s: %v", r.Status, r.Error)
	}
	if got := undoRefusal(t, e, run.ID); !strings.Contains(got, "resume it: kairos resume "+domain.ShortID(r.ID)) {
		t.Errorf("another undo: %s", got)
	}
	b.down.Store(nil)
	if _, err := e.Do(r.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if r = e.Until(r.ID, domain.RunCompleted, ""); b.refunds() != "ch-flight-ada+ch-hotel ch-flight-ada" {
		t.Errorf("refunds: %s", b.refunds())
	}
}

// A step that is left out is undone by the next undo. A deleted undo run that did not complete leaves the
// rest to the next one.
func TestUndoInParts(t *testing.T) {
	t.Parallel()
	b := &bank{}
	e := enginetest.Open(t, b.registry())
	run := e.Settle(e.Begin(e.Save(booking), `{"who": "ada"}`).ID)
	_, err := e.Preview(t.Context(), enginetest.Operator,
		domain.ActionRequest{Run: run.ID, Action: domain.ActionUndo, Skip: []string{"car"}})
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("skipping a step that did not complete: %v", err)
	}
	r, p := undo(t, e, run.ID, "hotel#1")
	e.Settle(r.ID)
	if b.refunds() != "ch-flight-ada" || !slices.ContainsFunc(p.Keep, func(s domain.PreviewStep) bool { return s.Node == "hotel" }) {
		t.Errorf("refunds: %s, kept %+v", b.refunds(), p.Keep)
	}
	down := "ch-flight-ada+ch-hotel"
	b.down.Store(&down)
	second, p := undo(t, e, run.ID)
	if e.Settle(second.ID); len(p.Undo) != 1 || p.Undo[0].Node != "hotel" {
		t.Errorf("the second undo: %+v", p.Undo)
	}
	if _, err := e.Do(second.ID, domain.ActionDelete); err != nil {
		t.Fatal(err)
	}
	b.down.Store(nil)
	third, _ := undo(t, e, run.ID)
	if e.Until(third.ID, domain.RunCompleted, ""); b.refunds() != "ch-flight-ada ch-flight-ada+ch-hotel" {
		t.Errorf("refunds: %s", b.refunds())
	}
}

// Items, iterations, and the steps of child runs are undone in the reverse order of their completion. A
// step with its own undo stands for the steps of its child run.
func TestUndoOfItemsLoopsAndSubPlans(t *testing.T) {
	t.Parallel()
	b := &bank{}
	e := enginetest.Open(t, b.registry())
	e.Save(`{id: room, nodes: {bed: {type: charge, input: "${input}", undo: {type: refund}}, key: {type: set, input: "${input}"}},
		edges: [{from: bed, to: key}]}`)
	v := e.Save(`
id: trip
nodes:
  each: {type: charge, foreach: [1, 2], max_parallel: 1, input: "item-${item}", undo: {type: refund, input: "${last.id}/${index}/${item}"}}
  inner: {type: plan, plan: room, input: first}
  outer: {type: plan, plan: room, input: second, undo: {type: refund, input: "room ${last}"}}
  loop: {type: charge, input: again, max_visits: 2, undo: {type: refund, input: "${last.id}"}}
  check: {type: decision, max_visits: 2}
  end: {type: broken}
edges:
  - {from: each, to: inner}
  - {from: inner, to: outer}
  - {from: outer, to: loop}
  - {from: loop, to: check}
  - {from: check, to: end, condition: "expr: status.loop == 'completed' && input.stop"}
  - {from: check, to: loop, condition: default}
`)
	run := e.Settle(e.Begin(v, `{"stop": false}`).ID) // it ends with the limit of the loop
	r, p := undo(t, e, run.ID)
	if r = e.Settle(r.ID); r.Status != domain.RunCompleted {
		t.Fatalf("the undo is %s\n%s", r.Status, e.Journal(r.ID))
	}
	want := "ch-again ch-again room second map[id:ch-first] ch-item-2/1/2 ch-item-1/0/1"
	if got := b.refunds(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	var steps []string
	for _, c := range p.Undo {
		steps = append(steps, c.Step)
	}
	if got := strings.Join(steps, " "); got != "loop-2 loop outer inner-bed each-1 each-0" {
		t.Errorf("steps of the undo: %s", got)
	}
}

// O17: a run that has not ended or has a step in doubt is not undone. A fork does not undo the steps that it
// copied, and a child run is undone with its parent.
func TestUndoIsRefused(t *testing.T) {
	t.Parallel()
	b := &bank{}
	e := enginetest.Open(t, b.registry())
	waiting := e.Run(`{nodes: {a: {type: charge, input: 1, undo: {type: refund}}, b: {type: wait, input: {for: 1h}}},
		edges: [{from: a, to: b}]}`, "")
	e.Until(waiting.ID, domain.RunWaiting, domain.WaitTimer)
	if got := undoRefusal(t, e, waiting.ID); !strings.Contains(got, "has not ended (status: waiting) | cancel it first: kairos cancel") {
		t.Errorf("a waiting run: %s", got)
	}
	source := e.Settle(e.Begin(e.Save(booking), `{"who": "ada"}`).ID)
	fork, err := e.Act(t.Context(), enginetest.Operator,
		domain.ActionRequest{Run: source.ID, Action: domain.ActionFork, At: source.LastSeq})
	if err != nil {
		t.Fatal(err)
	}
	e.Settle(fork.ID)
	if got := undoRefusal(t, e, fork.ID); !strings.Contains(got, "has no completed steps to undo") {
		t.Errorf("a fork that ran nothing: %s", got)
	}
	early, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: source.ID, Action: domain.ActionFork, At: 2})
	if err != nil {
		t.Fatal(err)
	}
	e.Settle(early.ID)
	r, p := undo(t, e, early.ID)
	e.Settle(r.ID)
	if b.refunds() != "ch-flight-ada+ch-hotel" || !slices.ContainsFunc(p.Keep, func(s domain.PreviewStep) bool {
		return s.Node == "flight" && strings.Contains(s.Reason.String(), "run "+domain.ShortID(source.ID)+" ran it")
	}) {
		t.Errorf("a fork after the first step: refunds %s, kept %+v", b.refunds(), p.Keep)
	}
	e.Save(`{id: part, nodes: {a: {type: charge, input: 1, undo: {type: refund}}}}`)
	whole := e.Settle(e.Run(`{nodes: {sub: {type: plan, plan: part}}}`, "").ID)
	lineage, err := e.Store.Lineage(t.Context(), whole.ID)
	if err != nil || len(lineage) != 1 {
		t.Fatalf("children: %v %v", lineage, err)
	}
	if got := undoRefusal(t, e, lineage[0].ID); !strings.Contains(got, "undo that run: kairos runs undo "+domain.ShortID(whole.ID)) {
		t.Errorf("a child run: %s", got)
	}
}
