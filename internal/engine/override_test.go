package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

const ledger = `
id: ledger
nodes:
  read:  {type: set, input: {total: "${input.total}"}}
  large: {type: decision}
  pay:   {type: call, input: {amount: "${output.read.total}"}}
  skip:  {type: set, input: nothing}
  book:  {type: call, input: {paid: "${output.pay.amount}"}}
edges:
  - {from: read, to: large}
  - {from: large, to: pay, condition: "expr: last.total > 10"}
  - {from: large, to: skip, condition: default}
  - {from: pay, to: book}
`

// A fork can use the recorded result or a stub for a step whose side effects would be repeated. The
// step is not called.
func TestForkWithOverrides(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo)
	e := enginetest.Open(t, reg)
	run := e.Until(e.Begin(e.Save(ledger), `{"total": 40}`).ID, domain.RunCompleted, "")
	fork := func(instead map[string]domain.Override) (domain.Preview, domain.Run) {
		t.Helper()
		req := domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: 1, Instead: instead}
		p, err := e.Preview(t.Context(), enginetest.Operator, req)
		if err != nil {
			t.Fatal(err)
		}
		req.Digest = p.Digest
		r, err := e.Act(t.Context(), enginetest.Operator, req)
		if err != nil {
			t.Fatal(err)
		}
		return p, e.Until(r.ID, domain.RunCompleted, "")
	}
	p, r := fork(nil)
	if len(p.Repeats) != 2 || p.Repeats[0].Node != "pay" || p.Repeats[0].Effect != "unsafe" || reg.Count("pay") != 2 ||
		reg.Count("book") != 2 {
		t.Errorf("%+v; pay ran %d times", p.Repeats, reg.Count("pay"))
	}
	if string(r.Output) != `{"paid":40}` {
		t.Errorf("output %s", r.Output)
	}
	p, r = fork(map[string]domain.Override{"pay": {Recorded: true}, "book#1": {Output: domain.RawJSON(`{"paid": 0}`)}})
	if names(p.Given) != "book pay" || names(p.Effects) != "" || names(p.Again) != "large" {
		t.Errorf("given %q effects %q again %q new %q", names(p.Given), names(p.Effects), names(p.Again), names(p.New))
	}
	if reg.Count("pay") != 2 || reg.Count("book") != 2 || string(r.Output) != `{"paid":0}` {
		t.Errorf("pay ran %d times, book %d, output %s\n%s", reg.Count("pay"), reg.Count("book"), r.Output, e.Journal(r.ID))
	}
	_, r = fork(map[string]domain.Override{"pay": {Output: domain.RawJSON(`{"amount": 7}`)}})
	if reg.Count("pay") != 2 || reg.Count("book") != 3 || string(r.Output) != `{"paid":7}` {
		t.Errorf("pay ran %d times, book %d, output %s", reg.Count("pay"), reg.Count("book"), r.Output)
	}
	for name, message := range map[string]string{"read": "read#1 is kept", "skip": "skip#1 has no recorded result",
		"none": `no step "none"`, "pay#x": "not node or node#visit"} {
		_, err := e.Preview(
			t.Context(),
			enginetest.Operator,
			domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: 1,
				Instead: map[string]domain.Override{name: {Recorded: true}}},
		)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A result cannot replace the decision of a person.
func TestNoOverrideReplacesAPersonsDecision(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Until(
		e.Begin(e.Save("id: ask\nnodes: {a: {type: approval, input: {message: m}}}\n"), "1").ID,
		domain.RunWaiting,
		domain.WaitApproval,
	)
	_, err := e.Preview(
		t.Context(),
		enginetest.Operator,
		domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, Instead: map[string]domain.Override{"a": {}}},
	)
	if domain.CodeOf(err) != domain.CodeForbidden {
		t.Error(err)
	}
}

// A preview predicts the decisions that depend only on edited values.
func TestDecisionsArePredicted(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo)
	e := enginetest.Open(t, reg)
	run := e.Until(e.Begin(e.Save(ledger), `{"total": 40}`).ID, domain.RunCompleted, "")
	for _, tt := range []struct {
		req  domain.ActionRequest
		want domain.PreviewDecision
	}{
		{domain.ActionRequest{At: 1, Edits: map[string]domain.RawJSON{"read": domain.RawJSON(`{"total": 3}`)}},
			domain.PreviewDecision{Node: "large", Visit: 1, To: "skip", Was: "pay", Condition: "default"}},
		{domain.ActionRequest{At: 2, Edits: map[string]domain.RawJSON{"large": domain.RawJSON(`{"total": 3}`)}},
			domain.PreviewDecision{Node: "large", Visit: 1, To: "skip", Was: "pay", Condition: "default"}},
		{domain.ActionRequest{At: 1},
			domain.PreviewDecision{Node: "large", Visit: 1, To: "pay", Was: "pay", Condition: "expr: last.total > 10"}},
	} {
		tt.req.Run, tt.req.Action = run.ID, domain.ActionFork
		p, err := e.Preview(t.Context(), enginetest.Operator, tt.req)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Decisions) != 1 || p.Decisions[0].Node != tt.want.Node || p.Decisions[0].To != tt.want.To ||
			p.Decisions[0].Was != tt.want.Was {
			t.Errorf("%+v: %+v, want %+v", tt.req, p.Decisions, tt.want)
		}
		r, err := e.Act(t.Context(), enginetest.Operator, tt.req)
		if err != nil {
			t.Fatal(err)
		}
		r = e.Until(r.ID, domain.RunCompleted, "")
		if went := strings.Contains(e.Journal(r.ID), tt.want.To); !went {
			t.Errorf("foretold %s\n%s", tt.want.To, e.Journal(r.ID))
		}
	}
}

const payroll = `
id: payroll
nodes:
  list: {type: set, input: "${input.people}"}
  pay:  {type: call, foreach: "${output.list}", max_parallel: 1, input: {to: "${item}"}}
  sum:  {type: set, input: "${output.pay}"}
edges:
  - {from: list, to: pay}
  - {from: pay, to: sum}
`

// In a step that runs once per item, a result can replace one item or all of them.
func TestForkWithOverridesForItems(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo)
	e := enginetest.Open(t, reg)
	run := e.Until(e.Begin(e.Save(payroll), `{"people": ["ana", "bo", "cy"]}`).ID, domain.RunCompleted, "")
	stub := domain.Override{Output: domain.RawJSON(`0`)}
	recorded := domain.Override{Recorded: true}
	calls := 3
	for _, tt := range []struct {
		message string
		at      int64
		input   string
		instead map[string]domain.Override
		given   string // items of the preview, by reason
		runs    int
		output  string
	}{
		{"nothing stands in", 1, "", nil, "", 3, `[{"to":"ana"},{"to":"bo"},{"to":"cy"}]`},
		{"what is recorded, for all", 1, "", map[string]domain.Override{"pay": recorded}, "recorded[0 1 2]", 0,
			`[{"to":"ana"},{"to":"bo"},{"to":"cy"}]`},
		{"a stub for each", 1, "", map[string]domain.Override{"pay#1": stub}, "stub[0 1 2]", 0, `[0,0,0]`},
		{"one of them", 1, "", map[string]domain.Override{"pay#1[1]": stub}, "stub[1]", 2, `[{"to":"ana"},0,{"to":"cy"}]`},
		{"all, one in its own way", 1, "", map[string]domain.Override{"pay#1": stub, "pay#1[2]": recorded},
			"stub[0 1] recorded[2]", 0, `[0,0,{"to":"cy"}]`},
		{"a list that is longer now", 0, `{"people": ["ana", "bo", "cy", "di"]}`, map[string]domain.Override{"pay": recorded},
			"recorded[0 1 2]", 1, `[{"to":"ana"},{"to":"bo"},{"to":"cy"},{"to":"di"}]`},
		{"a stub for each of a longer list", 0, `{"people": ["ana", "bo", "cy", "di"]}`,
			map[string]domain.Override{"pay": stub}, "stub", 0, `[0,0,0,0]`},
	} {
		req := domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: tt.at, Instead: tt.instead}
		if tt.input != "" {
			req.Input = domain.RawJSON(tt.input)
		}
		p, err := e.Preview(t.Context(), enginetest.Operator, req)
		if err != nil {
			t.Fatalf("%s: %v", tt.message, err)
		}
		var given []string
		for _, s := range p.Given {
			how := "stub"
			if strings.Contains(s.Reason.String(), "recorded") {
				how = "recorded"
			}
			if len(s.Items) > 0 {
				how += fmt.Sprint(s.Items)
			}
			given = append(given, how)
		}
		if got := strings.Join(given, " "); got != tt.given {
			t.Errorf("%s: given %q, want %q", tt.message, got, tt.given)
		}
		if len(p.Repeats) != 1 || len(p.Repeats[0].Items) != 3 {
			t.Errorf("%s: repeats %+v", tt.message, p.Repeats)
		}
		if touches := names(p.Effects) == "pay"; touches != (tt.runs > 0) {
			t.Errorf("%s: effects %q", tt.message, names(p.Effects))
		}
		req.Digest = p.Digest
		r, err := e.Act(t.Context(), enginetest.Operator, req)
		if err != nil {
			t.Fatalf("%s: %v", tt.message, err)
		}
		r = e.Until(r.ID, domain.RunCompleted, "")
		calls += tt.runs
		if reg.Count("pay") != calls || string(r.Output) != tt.output {
			t.Errorf("%s: pay ran %d times, want %d; output %s\n%s", tt.message, reg.Count("pay"), calls, r.Output, e.Journal(r.ID))
		}
	}
	var first int64 // the row of the first item
	rows, err := e.Store.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Node == "pay" && row.Final && first == 0 {
			first = row.Seq
		}
	}
	for name, message := range map[string]string{"pay#1[7]": "pay#1[7] has no recorded result",
		"list#1[0]": "runs once and has no items", "pay#1[x]": "not node#visit[item]", "pay#1[0]": "pay#1[0] is kept"} {
		_, err := e.Preview(
			t.Context(),
			enginetest.Operator,
			domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: first, Instead: map[string]domain.Override{name: recorded}},
		)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run was resumed, so that its finally step ran twice. In a fork after the resumed step, the result that a
// person gives for the second time replaces the step. The preview and the fork agree.
func TestAFinallyStepOfAResumedRunIsReplaced(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	registry := enginetest.NewRegistry().Handle("clean", walk.EffectUnsafe, echo).
		Handle("flaky", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			if broken.Load() {
				return engine.Result{}, &walk.Failure{Code: "down", Message: "broken", Permanent: true}
			}
			return engine.Result{Output: 1}, nil
		})
	e := enginetest.Open(t, registry)
	run := e.Settle(e.Begin(e.Save(`{nodes: {a: {type: flaky}}, finally: {f: {type: clean}}}`), "").ID)
	broken.Store(false)
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if run = e.Settle(run.ID); run.Status != domain.RunCompleted || registry.Count("f") != 2 {
		t.Fatalf("%s after %d calls\n%s", run.Status, registry.Count("f"), e.Journal(run.ID))
	}
	view, err := e.View(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var after int64 // the position after the resumed step
	for _, row := range view.Journal {
		if row.Node == "a" && row.Final && row.Status == domain.NodeCompleted {
			after = row.Seq
		}
	}
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: after,
		Instead: map[string]domain.Override{"f#2": {Output: domain.RawJSON(`"stub"`)}}}
	p, err := e.Preview(t.Context(), enginetest.Operator, req)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Again) != 0 || len(p.Given) != 1 || len(p.Repeats) != 1 || p.Repeats[0].Given != "stub" {
		t.Errorf("the preview is %+v", p)
	}
	req.Digest = p.Digest
	fork, err := e.Act(t.Context(), enginetest.Operator, req)
	if err != nil {
		t.Fatal(err)
	}
	if fork = e.Settle(fork.ID); fork.Status != domain.RunCompleted || registry.Count("f") != 2 {
		t.Errorf("the fork is %s after %d calls\n%s", fork.Status, registry.Count("f"), e.Journal(fork.ID))
	}
}
