package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
	"github.com/kairosd/kairosd/planner/walk"
)

// plainOperator may start runs but may not write plans.
var plainOperator = domain.Actor{Name: "ola", Role: domain.RoleOperator, Source: "test"}

// dryPlan reads, writes, requests an approval, waits an hour, and calls a model.
const dryPlan = `
id: payout
nodes:
  read: {type: look, input: {of: "${input}"}}
  pay: {type: transfer, input: {amount: "${last.amount}"}}
  ask: {type: approval, input: {message: Sure?, form: {type: object, properties: {note: {type: string}, level: {type: integer, minimum: 2}}}}}
  rest: {type: wait, input: {for: 1h}}
  judge: {type: llm, output_schema: {type: object, properties: {verdict: {type: string, enum: [fine, bad]}}}}
  end: {type: set, input: {said: "${output.judge.verdict}", level: "${output.ask.values.level}", paid: "${output.pay.dryRun}"}}
edges: [{from: read, to: pay}, {from: pay, to: ask}, {from: ask, to: rest}, {from: rest, to: judge}, {from: judge, to: end}]`

func dryEngine(t *testing.T) (*enginetest.Engine, *enginetest.Registry) {
	t.Helper()
	record := func(out any) engine.HandlerFunc {
		return func(context.Context, *engine.Call) (engine.Result, error) { return engine.Result{Output: out}, nil }
	}
	reg := enginetest.NewRegistry().Handle("look", walk.EffectRead, record(map[string]any{"amount": 5})).
		Handle("transfer", walk.EffectUnsafe, record("paid")).Handle("llm", walk.EffectIdempotent, record(map[string]any{"verdict": "bad"}))
	return enginetest.Open(t, reg), reg
}

func TestADryRunTouchesNothing(t *testing.T) {
	t.Parallel()
	e, reg := dryEngine(t)
	v := e.Save(dryPlan)
	start := func(dry bool) domain.Run {
		t.Helper()
		run, err := e.Start(
			t.Context(),
			enginetest.Operator,
			domain.StartRequest{Plan: v.PlanID, Input: domain.RawJSON(`{"n":1}`), Dry: dry},
		)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	run := e.Until(start(true).ID, domain.RunCompleted, "")
	if got, want := string(run.Output), `{"level":2,"paid":true,"said":"fine"}`; got != want {
		t.Errorf("the dry run's output is %s, want %s", got, want)
	}
	if reg.Count("read") != 1 || reg.Count("pay") != 0 || reg.Count("judge") != 0 {
		t.Errorf("calls: read %d, pay %d, judge %d; want 1, 0, 0", reg.Count("read"), reg.Count("pay"), reg.Count("judge"))
	}
	// The row of a step names the call that would have been made.
	rows, err := e.Store.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range rows {
		if r.Node == "pay" {
			found = string(r.Input) == `{"amount":5}` && strings.Contains(string(r.Log), "was not called") && r.Kind == domain.EntryResult
		}
	}
	if !found {
		t.Errorf("the row of pay does not say what would have been called:\n%s", e.Journal(run.ID))
	}

	again, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun})
	if err != nil {
		t.Fatal(err)
	}
	fork, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []domain.Run{again, fork} {
		if got := e.Until(r.ID, domain.RunCompleted, ""); !got.Dry() {
			t.Errorf("what came of a dry run has the origin %q", got.Origin)
		}
	}
	if n := reg.Count("pay"); n != 0 {
		t.Errorf("a rerun or fork of a dry run has paid %d times", n)
	}

	// Dry runs appear in no list, count, or statistic.
	list, err := e.Store.Runs(t.Context(), domain.RunFilter{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("listed: %d runs, %v", len(list.Items), err)
	}
	for f, want := range map[*domain.RunFilter]int{{}: 0, {PlanKey: "payout"}: 0,
		{Statuses: []domain.RunStatus{domain.RunCompleted}}: 0, {Origins: []string{"dry"}}: 3} {
		if n, _, err := e.Store.RunsCount(t.Context(), *f, 100); err != nil || n != want {
			t.Errorf("%+v counts %d runs, %v; want %d", *f, n, err, want)
		}
	}
	counts, err := e.Store.RunCounts(t.Context())
	if err != nil || counts.Total != 0 {
		t.Errorf("counters: %+v, %v", counts, err)
	}
	if of, err := e.Store.PlanOutcomes(t.Context(), "payout", run.CreatedAt); err != nil || len(of) != 0 {
		t.Errorf("outcomes: %v, %v", of, err)
	}
	if c := e.Until(start(false).ID, domain.RunWaiting, domain.WaitApproval); c.Dry() || reg.Count("pay") != 1 {
		t.Errorf("a run that is not dry: origin %q, paid %d times", c.Origin, reg.Count("pay"))
	}
}

func TestChildrenOfADryRunAreDry(t *testing.T) {
	t.Parallel()
	e, reg := dryEngine(t)
	e.Save(dryPlan)
	v := e.Save("id: parent\nnodes:\n  sub: {type: plan, plan: payout, input: {n: 1}}\n")
	run, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Plan: v.PlanID, Dry: true})
	if err != nil {
		t.Fatal(err)
	}
	if run = e.Until(run.ID, domain.RunCompleted, ""); reg.Count("pay") != 0 {
		t.Errorf("the child has paid; the run: %s\n%s", run.Output, e.Journal(run.ID))
	}
}

func TestADryRunOfADraftStoresNoVersion(t *testing.T) {
	t.Parallel()
	e, reg := dryEngine(t)
	e.Save(dryPlan)
	src := strings.Replace(dryPlan, "amount: \"${last.amount}\"", "amount: 7", 1)
	run, problems, err := e.TryPlan(
		t.Context(),
		enginetest.Operator,
		[]planfile.File{planfile.Alone([]byte(src), planner.FormatYAML)},
		domain.StartRequest{Input: domain.RawJSON(`{"n":1}`)},
	)
	if err != nil {
		t.Fatalf("%v %v", err, problems)
	}
	run = e.Until(run.ID, domain.RunCompleted, "")
	if run.PlanKey != "draft-payout" || run.Labels["draft"] == "" || !run.Dry() || reg.Count("pay") != 0 {
		t.Errorf("tried: plan %s, labels %v, origin %s, paid %d times", run.PlanKey, run.Labels, run.Origin, reg.Count("pay"))
	}
	p, err := e.Store.Plan(t.Context(), "payout")
	if err != nil || p.Latest != 1 {
		t.Errorf("the plan has version %d, %v", p.Latest, err)
	}
	list, err := e.Store.Plans(t.Context(), domain.PlanFilter{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("%d plans are listed, %v", len(list.Items), err)
	}
	try := func(who domain.Actor, src string) error {
		_, _, err := e.TryPlan(t.Context(), who, []planfile.File{planfile.Alone([]byte(src), planner.FormatYAML)}, domain.StartRequest{})
		return err
	}
	if err := try(plainOperator, src); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an operator tries a draft: %v", err)
	}
	if err := try(enginetest.Operator, "nodes: {a: {type: none}}"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a draft that is wrong: %v", err)
	}
}

// An offline dry run makes no call, and neither do its rerun and its child runs.
func TestAnOfflineDryRunSendsNothing(t *testing.T) {
	t.Parallel()
	e, reg := dryEngine(t)
	e.Save("id: part\nnodes: {read: {type: look}, pay: {type: transfer, input: \"${output.read}\"}}\nedges: [{from: read, to: pay}]")
	v := e.Save("id: above\nnodes: {read: {type: look}, below: {type: plan, plan: part}}\nedges: [{from: read, to: below}]")
	run, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Plan: v.PlanID, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	if run = e.Until(run.ID, domain.RunCompleted, ""); !run.Dry() {
		t.Errorf("its origin is %q", run.Origin)
	}
	again, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun})
	if err != nil {
		t.Fatal(err)
	}
	e.Until(again.ID, domain.RunCompleted, "")
	if reg.Count("read")+reg.Count("pay") != 0 {
		t.Errorf("calls: read %d, pay %d; want none", reg.Count("read"), reg.Count("pay"))
	}
	online, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Plan: v.PlanID, Dry: true})
	if err != nil {
		t.Fatal(err)
	}
	e.Until(online.ID, domain.RunCompleted, "")
	if reg.Count("read") != 2 || reg.Count("pay") != 0 {
		t.Errorf("a dry run that is not offline calls read %d times, pay %d times", reg.Count("read"), reg.Count("pay"))
	}
}
