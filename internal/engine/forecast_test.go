package engine_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
)

// Asked back, an agent's call is not made, also over a restart: the agent reads the
// question as the tool's answer and goes on (UI 3.3.10).
func TestAnAgentIsAskedBack(t *testing.T) {
	t.Parallel()
	k := &talk{}
	reg := enginetest.NewRegistry()
	reg.Add("talk", planner.EffectUnsafe, k)
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Run(`{nodes: {a: {type: talk}}}`, "").ID
	first := open(t, e, run)
	if !first.MayAsk || first.Agent == "" {
		t.Errorf("who asks: %+v", first)
	}
	ahead, err := e.Forecast(t.Context(), first.ID)
	if err != nil || len(ahead) != 3 || ahead[0].Effects[0].Type != "mail" || ahead[2].Answer != "ask_back" {
		t.Errorf("%+v %v", ahead, err)
	}
	for _, bad := range []kairos.DecideRequest{{AskBack: true}, {AskBack: true, Approve: true, Comment: "why?"}} {
		bad.Approval = first.ID
		if _, err := e.Decide(t.Context(), enginetest.Operator, bad); kairos.CodeOf(err) != kairos.CodeInvalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	p, err := e.Decide(t.Context(), enginetest.Operator, kairos.DecideRequest{Approval: first.ID, AskBack: true, Comment: "who is that?", Digest: first.Digest})
	if err != nil || p.Status != "asked_back" {
		t.Fatal(p.Status, err)
	}
	second := open(t, e, run)
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	decide(t, e, second, true, "")
	r := e.Settle(run)
	if !strings.Contains(string(r.Output), "marta asks first: who is that?; sent") || k.calls.Load() != 1 {
		t.Errorf("%s %s, %d calls\n%s", r.Status, r.Output, k.calls.Load(), e.Journal(run))
	}
}

// What a forecast says of an answer is what then happens.
func TestAForecastComesTrue(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"approve", "reject"} {
		e := enginetest.OpenOn(t, storetest.Open(t), enginetest.NewRegistry(), engine.Options{})
		run := e.Run(`{nodes: {ask: {type: approval, input: {message: "sure?"}}, yes: {type: set, input: 1}, no: {type: set, input: 2}},
edges: [{from: ask, to: yes, condition: "last.approved==true"}, {from: ask, to: no}]}`, "").ID
		p := open(t, e, run)
		ahead, err := e.Forecast(t.Context(), p.ID)
		if err != nil || len(ahead) != 2 {
			t.Fatal(ahead, err)
		}
		next := map[string]string{}
		for _, f := range ahead {
			if len(f.Next) != 1 {
				t.Fatalf("%+v", f)
			}
			next[f.Answer] = f.Next[0].Node
		}
		decide(t, e, p, answer == "approve", "because")
		if r := e.Settle(run); string(r.Output) != map[string]string{"yes": "1", "no": "2"}[next[answer]] {
			t.Errorf("%s: forecast %s, came to %s", answer, next[answer], r.Output)
		}
		if list, err := e.Forecast(t.Context(), p.ID); err != nil || list != nil {
			t.Errorf("of a decided one: %+v %v", list, err)
		}
	}
}
