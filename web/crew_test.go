package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

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
	if run.Status != domain.RunCompleted {
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
	if p := b.Get("/agents/providers"); !strings.Contains(words(p.Body), "script scripted the default scripted not called yet no call") {
		t.Errorf("before any call: %s", words(p.Body))
	}
	site.Run(t, "talk", `"how much?"`)
	if run := site.Run(t, "talk", `"please break"`); run.Status != domain.RunFailed {
		t.Fatalf("%s", run.Status)
	}
	// Home says since when.
	if home := words(b.Get("/").Body); !regexp.MustCompile(`script degraded for \d+ (s|min)`).MatchString(home) {
		t.Errorf("home: %s", home)
	}
	for path, wants := range map[string][]string{
		"/agents":           {"desk", "Front desk", "the default", "Answers &lt;everybody&gt;", "Accountant", "arithmetic", "handoff", "Supervisor", "part of kairosd"},
		"/agents/providers": {"script", "failing", "5 calls, 1 failed 1 of 5 (20%)", "330 33 0.3960", "the model is &lt;b&gt;overloaded&lt;/b&gt;"},
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
	if run.Status != domain.RunFailed || run.Error.Code != "provider_unavailable" || !strings.Contains(run.Error.Message, "nobody is there") || failureAt(t, site, run.ID) != "provider_circuit_open" {
		t.Errorf("%s %+v", run.Status, run.Error)
	}
	text := words(b.Get("/agents/providers").Body)
	for _, want := range []string{"failing circuit open half open in 30 s Close…", "nobody is there"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// A run that was planned anew says from which version to which, and leads to the
// difference; a version that waits for a person is called so.
func TestARunThatWasPlannedAnewSaysSo(t *testing.T) {
	t.Parallel()
	s := tell(t, "01jr8k2mf0s0000000007qxr", "id: draw\nnodes:\n  have: {type: set, input: 1}\n  draw: {type: log, input: x, on_error: replan}\nedges: [{from: have, to: draw}]\n")
	s.done("have", "draw", 0, time.Second, "1")
	s.try(domain.Entry{Node: "draw", Failure: &domain.Failure{Code: "tool_failed", Message: "no pencil"}}, time.Second, 2*time.Second, domain.NodeFailed, false)
	s.row(2*time.Second, domain.Entry{Kind: domain.EntryReplan, Item: -1, Actor: "supervisor", Reason: "draw failed (no pencil); write instead", Decision: domain.RawJSON(`{"before":1,"version":2,"node":"draw","visit":1}`)})
	s.run.Version = 2
	s.row(3*time.Second, domain.Entry{Kind: domain.EntryWait, Node: "draw", Visit: 1, Item: -1, Status: domain.NodeWaiting, Reason: string(domain.WaitApproval), Decision: domain.RawJSON(`{"kind":"replan","tail":{"hash":"h","version":3}}`)})
	o := &told{runs: []*story{s}}
	body := o.look(t, "/runs/"+s.run.ID)
	for _, want := range []string{`href="/plans/draw/diff/1/2"`, "v1 → v2, after draw failed", `href="/plans/draw/diff/2/3"`, "v2 → v3, after draw failed, if it is accepted"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q:\n%s", want, words(body))
		}
	}
}

// The page of a provider says how its calls went, with what they failed and in which
// run, and never holds a key; one that is drained is not called, whoever asks, and
// runs that failed by that go on afterwards.
func TestAProviderIsDrained(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	b := site.Browser(t).Login()
	failed := site.Run(t, "talk", `"please break"`)
	text := words(b.Get("/agents/providers/script").Body)
	for _, want := range []string{"1 call, 1 failed", "overloaded", domain.ShortID(failed.ID) + " answer", "Cost today", "Front desk", "It has said nothing of limits"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if text := words(b.Get("/agents/agents/desk").Body); !strings.Contains(text, "Version of its prompt sha256:") || !strings.Contains(text, "Last failures") {
		t.Errorf("the agent's page: %s", text)
	}
	f := form(t, b.Get("/agents/providers/script/stop").Body, `name="do"`)
	if p := b.Post("/agents/providers/script/stop", f); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "Say why") {
		t.Errorf("without a reason: %d", p.Code)
	}
	f.Set("reason", "out of <b>quota</b>")
	if p := b.Post("/agents/providers/script/stop", f); p.Code != http.StatusSeeOther {
		t.Fatalf("drain: %d %s", p.Code, words(p.Body))
	}
	f.Set("idem", "another")
	if p := b.Post("/agents/providers/script/stop", f); p.Code != http.StatusConflict || !strings.Contains(p.Body, "Allow calls of script again") {
		t.Errorf("drained twice: %d %s", p.Code, words(p.Body))
	}
	run := site.Run(t, "talk", `"how much?"`)
	if run.Status != domain.RunFailed || run.Error.Code != "provider_stopped" || !strings.Contains(run.Error.Message, "by marta") {
		t.Errorf("while it is drained: %s %+v", run.Status, run.Error)
	}
	p := b.Get("/agents/providers/script")
	if text := words(p.Body); !strings.Contains(text, "No call begins Stopped since") || !strings.Contains(text, "out of &lt;b&gt;quota&lt;/b&gt;") {
		t.Errorf("the page does not say that it is drained: %s", text)
	}
	crawl(t, "provider", p.Body)
	if p := b.Post("/agents/providers/script/stop", form(t, b.Get("/agents/providers/script/stop").Body, `value="start"`)); p.Code != http.StatusSeeOther {
		t.Fatalf("start: %d", p.Code)
	}
	if run := site.Run(t, "talk", `"how much?"`); run.Status != domain.RunCompleted {
		t.Errorf("afterwards: %s %+v", run.Status, run.Error)
	}
	if p := b.Get("/agents/providers/none"); p.Code != http.StatusNotFound {
		t.Errorf("a provider that is none: %d", p.Code)
	}
}

// A tool that is stopped is called by nobody; what it refused can be resumed once it
// may be called again.
func TestAToolIsStopped(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: sum\nnodes:\n  add: {type: calculator, input: {expression: 6*7}}\n")
	b := site.Browser(t).Login()
	site.Run(t, "sum", "null")
	if text := words(b.Get("/agents/tools/calculator").Body); !strings.Contains(text, "Calls in the last 24 hours 1 call") {
		t.Errorf("a call: %s", text)
	}
	f := form(t, b.Get("/agents/tools/calculator/stop").Body, `name="do"`)
	f.Set("reason", "wrong sums")
	if p := b.Post("/agents/tools/calculator/stop", f); p.Code != http.StatusSeeOther {
		t.Fatalf("stop: %d %s", p.Code, words(p.Body))
	}
	run := site.Run(t, "sum", "null")
	if run.Status != domain.RunFailed || run.Error.Code != "tool_stopped" {
		t.Fatalf("while it is stopped: %s %+v", run.Status, run.Error)
	}
	if text := words(b.Get("/agents/tools").Body); !strings.Contains(text, "calculator built-in pure allow stopped") {
		t.Errorf("the list: %s", text)
	}
	b.Post("/agents/tools/calculator/stop", form(t, b.Get("/agents/tools/calculator/stop").Body, `value="start"`))
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.VerbRequest{Action: domain.ActionResume, Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	if run, err := site.Engine.Wait(t.Context(), run.ID); err != nil || run.Status != domain.RunCompleted {
		t.Errorf("resumed: %s %v", run.Status, err)
	}
}
