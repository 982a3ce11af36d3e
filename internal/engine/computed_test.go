package engine_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

const dispatch = `
id: dispatch
nodes:
  kind: {type: set, input: {kinds: "${input.kinds}"}}
  handle:
    type: plan
    needs: [kind]
    foreach: output.kind.kinds
    plan: "handle-${item}"
    plans: [handle-mail, handle-call]
    input: "${item}"
    on_error: continue
`

// P61: a step computes the name of the plan that it runs. The versions of all listed plans are those of the
// time when the run started.
func TestAComputedPlan(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	registry := func() *enginetest.Registry {
		return enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo)
	}
	e := enginetest.OpenOn(t, s, registry(), engine.Options{})
	e.Save(`{id: handle-mail, nodes: {a: {type: call, input: "mail ${input}"}}}`)
	e.Save(`{id: handle-call, nodes: {w: {type: wait, input: {event: go}}, a: {type: call, needs: [w], input: "call ${input}"}}}`)
	e.Save(`{id: handle-spam, nodes: {a: {type: call, input: spam}}}`)
	run := e.Begin(e.Save(dispatch), `{"kinds": ["mail", "call", "spam"]}`)
	e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
	e.Save(`{id: handle-call, nodes: {a: {type: call, input: "newer"}}}`)
	e.Close()
	e = enginetest.OpenOn(t, s, registry(), engine.Options{})
	sendSignal(t, e, domain.Signal{Name: "go"})
	run = e.Settle(run.ID)
	want := `["mail mail","call call",{"code":"plan_not_listed",` +
		`"error":"plan \"handle-spam\" is not in the list of the step: handle-mail, handle-call"}]`
	if run.Status != domain.RunCompleted || string(run.Output) != want {
		t.Errorf("%s %s\n%s", run.Status, run.Output, e.Journal(run.ID))
	}
}

// A run does not start if a listed plan does not exist. Validation warns of it.
func TestAComputedPlanThatDoesNotExist(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo))
	e.Save(`{id: handle-mail, nodes: {a: {type: call}}}`)
	_, problems := e.CheckPlan([]byte(dispatch), planner.FormatYAML)
	if len(problems) != 1 || problems[0].Code != "subplan.unknown" || problems[0].Line != 10 {
		t.Errorf("problems: %v", problems)
	}
	v := e.Save(dispatch)
	_, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Input: []byte(`{"kinds": []}`)})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), `runs plan "handle-call"`) {
		t.Errorf("start: %v", err)
	}
}
