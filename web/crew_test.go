package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/webtest"
)

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// words is a page's text with single spaces.
func words(body string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(body, " ")), " ")
}

// The run page says what agents did: calls of models and tools, tokens and cost
// per step and for the run, and what they said to each other; data
// stays text.
func TestTheRunPageShowsAgents(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	site.Plan(t, "id: quiet\nnodes:\n  only: {type: set, input: 1}\n")
	b := site.Browser(t).Login()
	run := site.Run(t, "talk", `"how much?"`)
	if run.Status != kairos.RunCompleted {
		t.Fatalf("%s: %+v", run.Status, run.Error)
	}
	p := b.Get("/runs/" + run.ID + "?view=handoffs")
	text := words(p.Body)
	for _, want := range []string{
		"answer desk 4 1 330 33 0.3960", // two answers of each agent, one calculation
		"All steps 4 1 330 33 0.3960",
		"handoff:accountant succeeded", "tool:calculator succeeded", "The answer: &lt;i&gt;42&lt;/i&gt;",
		"request desk accountant answer acknowledged", "ack accountant desk", "response accountant desk",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	crawl(t, "agents", p.Body)
	if p := b.Get("/runs/" + site.Run(t, "quiet", "1").ID + "?view=handoffs"); !strings.Contains(p.Body, "No agent or model has worked in this run.") {
		t.Errorf("a run without agents: %d %s", p.Code, words(p.Body))
	}
}

// Agents, providers and tools have pages; a provider's page says how its calls
// went and what the last error was.
func TestCrewPages(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	b := site.Browser(t).Login()
	if p := b.Get("/agents/providers"); !strings.Contains(words(p.Body), "script scripted the default not called yet") {
		t.Errorf("before any call: %s", words(p.Body))
	}
	site.Run(t, "talk", `"how much?"`)
	if run := site.Run(t, "talk", `"please break"`); run.Status != kairos.RunFailed {
		t.Fatalf("%s", run.Status)
	}
	for path, wants := range map[string][]string{
		"/agents":           {"desk", "Front desk", "the default", "Answers &lt;everybody&gt;", "Accountant", "arithmetic", "handoff", "Supervisor", "part of kairosd"},
		"/agents/providers": {"script", "failing", "scripted 5 1 330 33", "the model is &lt;b&gt;overloaded&lt;/b&gt;"},
		"/agents/tools":     {"calculator", "built-in", "pure", "allow"},
	} {
		p := b.Get(path)
		text := words(p.Body)
		for _, want := range wants {
			if p.Code != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s: %d does not say %q:\n%s", path, p.Code, want, text)
			}
		}
		crawl(t, path, p.Body)
	}
	if p := b.Get("/agents/nothing"); p.Code != http.StatusNotFound {
		t.Errorf("a part that is none: %d", p.Code)
	}
}

// A provider that has failed again and again is not called for a while, and its page
// says until when (L07).
func TestAProviderThatRestsSaysSo(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	b := site.Browser(t).Login()
	for range 5 {
		site.Run(t, "talk", `"please vanish"`)
	}
	run := site.Run(t, "talk", `"how much?"`)
	if run.Status != kairos.RunFailed || run.Error.Code != "provider_circuit_open" || !strings.Contains(run.Error.Message, "nobody is there") {
		t.Errorf("%s %+v", run.Status, run.Error)
	}
	text := words(b.Get("/agents/providers").Body)
	for _, want := range []string{"failing Not called, since calls failed again and again, until", "nobody is there"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// A run that was planned anew says from which version to which, and leads to the
// difference; a version that waits for a person is called so (SPEC 7.5).
func TestARunThatWasPlannedAnewSaysSo(t *testing.T) {
	t.Parallel()
	s := tell(t, "01jr8k2mf0s0000000007qxr", "id: draw\nnodes:\n  have: {type: set, input: 1}\n  draw: {type: log, input: x, on_error: replan}\nedges: [{from: have, to: draw}]\n")
	s.done("have", "draw", 0, time.Second, "1")
	s.try(kairos.Entry{Node: "draw", Failure: &kairos.Failure{Code: "tool_failed", Message: "no pencil"}}, time.Second, 2*time.Second, kairos.NodeFailed, false)
	s.row(2*time.Second, kairos.Entry{Kind: kairos.EntryReplan, Item: -1, Actor: "supervisor", Reason: "draw failed (no pencil); write instead", Decision: kairos.RawJSON(`{"before":1,"version":2,"node":"draw","visit":1}`)})
	s.run.Version = 2
	s.row(3*time.Second, kairos.Entry{Kind: kairos.EntryWait, Node: "draw", Visit: 1, Item: -1, Status: kairos.NodeWaiting, Reason: string(kairos.WaitApproval), Decision: kairos.RawJSON(`{"kind":"replan","tail":{"hash":"h","version":3}}`)})
	o := &told{runs: []*story{s}}
	body := o.look(t, "/runs/"+s.run.ID)
	for _, want := range []string{`href="/plans/draw/diff/1/2"`, "v1 → v2, after draw failed", `href="/plans/draw/diff/2/3"`, "v2 → v3, after draw failed, if it is accepted"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q:\n%s", want, words(body))
		}
	}
}
