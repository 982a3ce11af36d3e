package driver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// agent is a step whose effects are all in sub-steps: a model call, and a payment.
type agent struct{ pay func(c *engine.Call) error }

func (agent) Stepped() bool { return true }

func (a agent) Handle(_ context.Context, c *engine.Call) (engine.Result, error) {
	c.Expect(1, engine.ExpectedUsage{Input: 10, Output: 90})
	answer, err := c.Substep(1, "model", "", walk.EffectIdempotent, func() (any, domain.Usage, error) {
		return "pay", domain.Usage{InputTokens: 10, OutputTokens: 20}, nil
	})
	if err != nil {
		return engine.Result{}, err
	}
	if err := c.Approve(2, engine.CallToApprove{Tool: "bank", Args: map[string]any{"amount": "5"}}); err != nil {
		return engine.Result{}, err
	}
	paid, err := c.Substep(2, "tool:bank", "", walk.EffectUnsafe, func() (any, domain.Usage, error) {
		return "paid", domain.Usage{}, a.pay(c)
	})
	return engine.Result{Output: []any{answer, paid}}, err
}

func withAgent(pay func(c *engine.Call) error) *enginetest.Registry {
	r := registry()
	r.Add("clerk", walk.EffectUnsafe, agent{pay})
	return r
}

// approve answers the open request of the run after a time.
func approve(t *testing.T, w *drivertest.World, after time.Duration) {
	w.At(after, func() {
		list := w.Approvals()
		if len(list) != 1 {
			t.Errorf("%d open requests\n%s", len(list), w.Reports.Text(w.ID))
			return
		}
		w.Update(wire.DecideUpdate, wire.Decision{Actor: drivertest.Operator, Approval: list[0].ID,
			Request: domain.DecideRequest{Approve: true, Digest: list[0].Digest}})
	})
}

// The sub-steps of an agent are in the record before the agent continues, and a call of the model is not repeated after
// the approval of a tool call. A row that the worker sends twice counts once.
func TestSubstepsAreRecorded(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, withAgent(func(*engine.Call) error { return nil }))
	w.SendTwice = true
	approve(t, w, time.Hour)
	run := w.Run(`{"nodes": {"a": {"type": "clerk"}}}`, "")
	want(t, w, run, domain.RunCompleted, `["pay","paid"]`)
	kinds := ""
	for _, e := range w.Reports.Journal(run.ID) {
		kinds += string(e.Kind) + " "
	}
	if kinds != "intent substep wait resolve intent intent substep result " || run.Usage.OutputTokens != 20 {
		t.Errorf("rows %s, usage %+v\n%s", kinds, run.Usage, w.Reports.Text(run.ID))
	}
}

// A worker that is lost during the payment of an agent leaves the call in doubt, with its arguments.
func TestACallInDoubt(t *testing.T) {
	t.Parallel()
	calls := 0
	w := drivertest.New(t, withAgent(func(*engine.Call) error {
		calls++
		return errors.New("the connection was lost")
	}))
	approve(t, w, time.Hour)
	var waiting domain.Run
	w.At(2*time.Hour, func() {
		waiting = w.Current()
		w.Update(wire.ResolveUpdate, wire.Resolution{Actor: drivertest.Operator, Node: "a",
			Request: domain.ResolveRequest{Visit: 1, Item: -1, Action: runstate.ActionFail}})
	})
	run := w.Run(`{"nodes": {"a": {"type": "clerk", "retry": {"max_attempts": 3}}}}`, "")
	if run.Status != domain.RunFailed || waiting.WaitReason != domain.WaitInDoubt || calls != 1 ||
		!strings.Contains(waiting.Headline, "bank") {
		t.Errorf("%s after %s (%s), %d calls\n%s", run.Status, waiting.WaitReason, waiting.Headline, calls, w.Reports.Text(run.ID))
	}
}

// The limit of tokens of a run prevents a model call that does not fit.
func TestTheLimitOfTokensHoldsInsideAStep(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, withAgent(func(*engine.Call) error { return nil }))
	w.Limits = domain.Limits{MaxTokens: 5}
	var waiting domain.Run
	w.At(time.Hour, func() {
		waiting = w.Current()
		w.Update(wire.ActUpdate, wire.Action{Actor: drivertest.Operator, Request: domain.ActionRequest{Action: domain.ActionCancel}})
	})
	run := w.Run(`{"nodes": {"a": {"type": "clerk"}}}`, "")
	if run.Status != domain.RunCancelled || waiting.WaitReason != domain.WaitBudget || !strings.Contains(waiting.Headline, "max_tokens 5") {
		t.Errorf("%s after %s: %s\n%s", run.Status, waiting.WaitReason, waiting.Headline, w.Reports.Text(run.ID))
	}
}

// vault has one secret, which one tool may use.
type vault struct{}

func (vault) Secret(name, tool string, _ any) (string, bool) {
	return "s3cret", name == "KEY" && tool == "send"
}

func (vault) Mask(text []byte) []byte {
	return []byte(strings.ReplaceAll(string(text), "s3cret", "•••"))
}

// A secret is resolved in the activity only: the history and the record contain its reference, and a mask.
func TestSecretsAreResolvedInTheActivity(t *testing.T) {
	t.Parallel()
	got, sent := "", ""
	r := registry()
	r.Tool("send", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		m, _ := c.Input.(map[string]any)
		got, _ = m["key"].(string)
		return engine.Result{Output: c.Input}, nil
	})
	w := drivertest.New(t, r)
	w.Secrets = vault{}
	w.OnAttempt(func(a wire.Attempt) error { sent = string(a.Input); return nil })
	run := w.Run(`{"nodes": {"a": {"type": "tool", "tool": "send", "input": {"key": "Bearer ${secret.KEY}", "text": "${input.text}"}}}}`,
		`{"text": "<secret 00 KEY> and ${secret.KEY}"}`)
	want(t, w, run, domain.RunCompleted, `{"key":"Bearer •••","text":"<secret 00 KEY> and ${secret.KEY}"}`)
	if got != "Bearer s3cret" || strings.Contains(sent, "s3cret") || strings.Contains(w.Reports.Text(run.ID), "s3cret") {
		t.Errorf("the tool got %q, the history has %s", got, sent)
	}
	w = drivertest.New(t, r)
	w.Secrets = vault{}
	run = w.Run(`{"nodes": {"a": {"type": "send", "input": {"key": "${secret.OTHER}"}}}}`, "")
	if run.Status != domain.RunFailed || !strings.Contains(run.Error.Message, "${secret.OTHER} cannot be resolved") {
		t.Errorf("with an unknown secret: %s %v", run.Status, run.Error)
	}
}

// Attempts go to the queue that their step names, or to that of the run.
func TestAStepNamesItsQueue(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	var queues []string
	w.Env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == wire.AttemptActivity {
			queues = append(queues, info.TaskQueue)
		}
	})
	run := w.Run(`{"nodes": {"a": {"type": "pay"}, "b": {"type": "pay", "queue": "gpu"}}, "edges": [{"from": "a", "to": "b"}],
		"start": "a"}`, "")
	if len(queues) != 2 || queues[1] != wire.QueueOf(queues[0], "gpu") || run.Status != domain.RunCompleted {
		t.Errorf("%s, attempts on the queues %q", run.Status, queues)
	}
}

// A dry run calls no step that changes something.
func TestADryRun(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	w.Dry = true
	run := w.Run(`{"nodes": {"a": {"type": "pay"}, "b": {"type": "wait", "input": {"for": "48h"}}},
		"edges": [{"from": "a", "to": "b"}], "start": "a"}`, "")
	if run.Status != domain.RunCompleted || len(w.Registry.Calls()) != 0 || run.EndedAt.Sub(run.CreatedAt) > time.Hour {
		t.Errorf("%s after %s, %d calls", run.Status, run.EndedAt.Sub(run.CreatedAt), len(w.Registry.Calls()))
	}
}

// A long run continues in another workflow run with its state: retries, waits, and the time that it has used.
func TestALongRunContinuesAsNew(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	w.OnAttempt(func(wire.Attempt) error {
		if w.Continued < 3 {
			w.Env.SetContinueAsNewSuggested(true)
		}
		return nil
	})
	w.Limits = domain.Limits{MaxSteps: 100}
	run := w.Run(`{"nodes": {"a": {"type": "echo", "input": {"n": 1}},
		"b": {"type": "unstable", "retry": {"max_attempts": 3, "backoff": ["1h"]}},
		"c": {"type": "wait", "input": {"for": "48h"}}, "d": {"type": "set", "input": ["${output.a.n}", "${output.b}"]}},
		"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}, {"from": "c", "to": "d"}], "start": "a"}`, "")
	want(t, w, run, domain.RunCompleted, "[1,3]")
	if w.Continued != 3 || run.Steps != 4 || run.EndedAt.Sub(run.StartedAt) < 50*time.Hour || run.Crashes != 0 {
		t.Errorf("%d continuations, %d steps, %s, %d crashes\n%s", w.Continued, run.Steps, run.EndedAt.Sub(run.StartedAt), run.Crashes,
			w.Reports.Text(run.ID))
	}
}
