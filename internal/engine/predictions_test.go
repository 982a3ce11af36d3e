package engine_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// If a person requests changes, the call of the agent is not made, also after a restart. The agent
// receives the comment as the result of the tool, and continues.
func TestChangesAreRequestedFromAnAgent(t *testing.T) {
	t.Parallel()
	k := &conversation{}
	reg := enginetest.NewRegistry()
	reg.Add("talk", walk.EffectUnsafe, k)
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Run(`{nodes: {a: {type: talk}}}`, "").ID
	first := open(t, e, run)
	if !first.MayAsk || first.Agent == "" {
		t.Errorf("who asks: %+v", first)
	}
	ahead, err := e.Prediction(t.Context(), first.ID)
	if err != nil || len(ahead) != 3 || ahead[0].Effects[0].Type != "mail" || ahead[2].Answer != "request_changes" {
		t.Errorf("%+v %v", ahead, err)
	}
	for _, bad := range []domain.DecideRequest{{RequestChanges: true}, {RequestChanges: true, Approve: true, Comment: "why?"}} {
		bad.Approval = first.ID
		if _, err := e.Decide(t.Context(), enginetest.Operator, bad); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	p, err := e.Decide(
		t.Context(),
		enginetest.Operator,
		domain.DecideRequest{Approval: first.ID, RequestChanges: true, Comment: "who is that?", Digest: first.Digest},
	)
	if err != nil || p.Status != "changes_requested" {
		t.Fatal(p.Status, err)
	}
	second := open(t, e, run)
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	decide(t, e, second, true, "")
	r := e.Settle(run)
	if !strings.Contains(string(r.Output), "marta requests changes: who is that?; sent") || k.calls.Load() != 1 {
		t.Errorf("%s %s, %d calls\n%s", r.Status, r.Output, k.calls.Load(), e.Journal(run))
	}
}

// The steps after an answer match the prediction. The prediction names the first step that differs,
// after steps that both answers lead to.
func TestAPredictionComesTrue(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"approve", "reject"} {
		e := enginetest.OpenOn(t, storetest.Open(t), enginetest.NewRegistry(), engine.Options{})
		run := e.Run(
			`{nodes: {ask: {type: approval, on_reject: continue, input: {message: "sure?"}}, both: {type: set, input: "${last}"}, decide: {type: decision},
  yes: {type: set, input: 1}, no: {type: set, input: 2}},
edges: [{from: ask, to: both}, {from: both, to: decide}, {from: decide, to: yes, condition: "output.ask.approved==true"}, {from: decide, to: no}]}`,
			"",
		).ID
		p := open(t, e, run)
		ahead, err := e.Prediction(t.Context(), p.ID)
		if err != nil || len(ahead) != 2 {
			t.Fatal(ahead, err)
		}
		next := map[string]string{}
		for _, f := range ahead {
			if len(f.Next) != 1 || f.Ends != "" {
				t.Fatalf("%+v", f)
			}
			next[f.Answer] = f.Next[0].Node
		}
		decide(t, e, p, answer == "approve", "because")
		if r := e.Settle(run); string(r.Output) != map[string]string{"yes": "1", "no": "2"}[next[answer]] {
			t.Errorf("%s: forecast %s, came to %s", answer, next[answer], r.Output)
		}
		if list, err := e.Prediction(t.Context(), p.ID); err != nil || list != nil {
			t.Errorf("of a decided one: %+v %v", list, err)
		}
	}
}

// A rejection that no step handles ends the run, whatever else waits.
func TestAPredictionOfARejection(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Run(
		`{nodes: {ask: {type: approval, input: {message: "sure?"}}, other: {type: approval, input: {message: "and this?"}}, yes: {type: set, needs: [ask], input: 1},
  end: {type: noop, needs: [yes, other]}}}`,
		"",
	).ID
	e.Settle(run)
	p := requests(t, e.Store, run)[1]
	ahead, err := e.Prediction(t.Context(), p.ID)
	if err != nil || len(ahead) != 2 || p.Node != "ask" {
		t.Fatal(p.Node, ahead, err)
	}
	if f := ahead[0]; len(f.Next) != 1 || f.Next[0].Node != "yes" || f.Ends != "" {
		t.Errorf("approve: %+v", f)
	}
	if f := ahead[1]; len(f.Next) != 0 || f.Ends != domain.RunFailed {
		t.Errorf("reject: %+v", f)
	}
	decide(t, e, p, false, "no")
	e.Until(run, domain.RunFailed, "")
	for _, p := range requests(t, e.Store, run) {
		if p.Status == "pending" {
			t.Errorf("still open: %+v", p)
		}
	}
}
