package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

func TestTheRunPageShowsAgents(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	site.Plan(t, "id: quiet\nnodes:\n  only: {type: set, input: 1}\n")
	b := site.Browser(t).Login()
	run := site.Run(t, "talk", `"how much?"`)
	if run.Status != domain.RunCompleted {
		t.Fatalf("%s: %+v", run.Status, run.Error)
	}
	p := b.Get("/runs/" + run.ID + "?view=handoffs")
	text := webtest.Text(p.Body)
	for _, want := range []string{
		"answer desk 4 1 330 33 0.3960", // two responses of each agent, one tool call
		"All steps 4 1 330 33 0.3960",
		"handoff:accountant completed", "tool:calculator completed", "The answer: &lt;i&gt;42&lt;/i&gt;",
		"request desk accountant answer acknowledged", "ack accountant desk", "response accountant desk",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	webtest.Safe(t, "agents", p.Body)
	if p := b.Get("/runs/" + site.Run(t, "quiet", "1").ID + "?view=handoffs"); !strings.Contains(
		p.Body,
		"No agent or model has worked in this run.",
	) {
		t.Errorf("a run without agents: %d %s", p.Code, webtest.Text(p.Body))
	}
}

func TestAReplannedRunIsMarked(t *testing.T) {
	t.Parallel()
	s := tell(
		t,
		"01jr8k2mf0s0000000007qxr",
		"id: draw\nnodes:\n  have: {type: set, input: 1}\n  draw: {type: log, input: x, on_error: replan}\n"+
			"edges: [{from: have, to: draw}]\n",
	)
	s.done("have", "draw", 0, time.Second, "1")
	s.try(
		domain.Entry{Node: "draw", Failure: &domain.Failure{Code: "tool_failed", Message: "no pencil"}},
		time.Second,
		2*time.Second,
		domain.NodeFailed,
		false,
	)
	s.row(
		2*time.Second,
		domain.Entry{
			Kind:     domain.EntryReplan,
			Item:     -1,
			Actor:    "supervisor",
			Reason:   "draw failed (no pencil); write instead",
			Decision: domain.RawJSON(`{"before":1,"version":2,"node":"draw","visit":1}`),
		},
	)
	s.run.Version = 2
	s.row(
		3*time.Second,
		domain.Entry{
			Kind:     domain.EntryWait,
			Node:     "draw",
			Visit:    1,
			Item:     -1,
			Status:   domain.NodeWaiting,
			Reason:   string(domain.WaitApproval),
			Decision: domain.RawJSON(`{"kind":"replan","tail":{"hash":"h","version":3}}`),
		},
	)
	o := &storyServer{runs: []*story{s}}
	body := o.look(t, "/runs/"+s.run.ID)
	for _, want := range []string{`href="/plans/draw/diff/1/2"`, "v1 → v2, after draw failed", `href="/plans/draw/diff/2/3"`,
		"v2 → v3, after draw failed, if it is accepted"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q:\n%s", want, webtest.Text(body))
		}
	}
}

// A rejected handoff has a row with the reason.
func TestARefusedHandoffHasARow(t *testing.T) {
	t.Parallel()
	s := tell(t, "01jr8k2mf0s0000000007qh1", "id: talk\nnodes:\n  answer: {type: agent, agent: desk, input: x}\n")
	s.row(time.Second, domain.Entry{Kind: domain.EntryIntent, Node: "answer", Item: -1, Status: domain.NodeRunning, StartedAt: storyStart})
	s.row(2*time.Second, domain.Entry{
		Kind: domain.EntrySubstep, Node: "answer", Item: -1, Substep: 1, Status: domain.NodeFailed, Agent: "desk", StartedAt: storyStart,
		Decision: domain.RawJSON(`{"kind":"handoff:desk","agent":"desk"}`),
		Input:    domain.RawJSON(`{"from":"desk","to":"desk","reason":"clarification","explanation":"ask again","request":null}`),
		Failure:  &domain.Failure{Code: "handoff_self", Message: "agent desk cannot hand work to itself"},
	})
	text := webtest.Text((&storyServer{runs: []*story{s}}).look(t, "/runs/"+s.run.ID+"?view=handoffs"))
	for _, want := range []string{"desk → desk", "ask again", "refused agent desk cannot hand work to itself (handoff_self)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}
