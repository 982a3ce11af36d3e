package agents_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The run page shows the work of agents: model and tool calls, tokens and cost by step and in
// total, and messages between agents. Data is escaped. Agents, providers, and tools have pages. The
// page of a provider shows its calls and its last error.
func TestCatalogPages(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	b := site.Browser(t).Login()
	if p := b.Get("/agents/providers"); !strings.Contains(
		webtest.Text(p.Body),
		"script scripted the default scripted not called yet no call",
	) {
		t.Errorf("before any call, the page shows: %s", webtest.Text(p.Body))
	}
	site.Run(t, "talk", `"how much?"`)
	if run := site.Run(t, "talk", `"please break"`); run.Status != domain.RunFailed {
		t.Fatalf("%s", run.Status)
	}
	// Home shows for how long the provider has been degraded.
	if home := webtest.Text(b.Get("/").Body); !regexp.MustCompile(`script degraded for \d+ (s|min)`).MatchString(home) {
		t.Errorf("the home page shows: %s", home)
	}
	for path, wants := range map[string][]string{
		"/agents": {"desk", "Front desk", "the default", "Answers &lt;everybody&gt;", "Accountant", "arithmetic",
			"handoff", "Supervisor", "part of kairosd"},
		"/agents/providers": {"script", "failing", "5 calls, 1 failed 1 of 5 (20%)", "330 33 0.3960",
			"the model is &lt;b&gt;overloaded&lt;/b&gt;"},
		"/agents/tools": {"calculator", "built-in", "pure", "allow"},
	} {
		p := b.Get(path)
		text := webtest.Text(p.Body)
		for _, want := range wants {
			if p.Code != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s: status %d, and the page does not contain %q:\n%s", path, p.Code, want, text)
			}
		}
		webtest.Safe(t, path, p.Body)
	}
	if p := b.Get("/agents/nothing"); p.Code != http.StatusNotFound {
		t.Errorf("an unknown part: got status %d, want %d", p.Code, http.StatusNotFound)
	}
}

// A provider that fails repeatedly is not called during its cooldown, and its page shows when the
// cooldown ends (L07).
func TestAProviderInCooldownIsMarked(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	b := site.Browser(t).Login()
	for range 5 {
		site.Run(t, "talk", `"please vanish"`)
	}
	run := site.Run(t, "talk", `"how much?"`)
	if run.Status != domain.RunFailed || run.Error.Code != "provider_unavailable" ||
		!strings.Contains(run.Error.Message, "the provider is down") ||
		failureAt(t, site, run.ID) != "provider_circuit_open" {
		t.Errorf("%s %+v", run.Status, run.Error)
	}
	text := webtest.Text(b.Get("/agents/providers").Body)
	for _, want := range []string{"failing circuit open half open in 30 s Enable…", "the provider is down"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q:\n%s", want, text)
		}
	}
}

// A replanned run shows the old and the new version, and links to the comparison. A version that
// waits for acceptance is labeled so. The page of a provider shows its calls, errors, and their
// runs, and never a key. A disabled provider is not called, and runs that failed because of it can
// be resumed afterwards.
func TestAProviderIsDisabled(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	b := site.Browser(t).Login()
	failed := site.Run(t, "talk", `"please break"`)
	text := webtest.Text(b.Get("/agents/providers/script").Body)
	for _, want := range []string{"1 call, 1 failed", "overloaded", domain.ShortID(failed.ID) + " answer", "Cost today",
		"Front desk", "The last response contained no limits"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q:\n%s", want, text)
		}
	}
	if text := webtest.Text(b.Get("/agents/agents/desk").Body); !strings.Contains(text, "Version of its prompt sha256:") ||
		!strings.Contains(text, "Recent failures") {
		t.Errorf("the page of the agent shows: %s", text)
	}
	f := webtest.Form(t, b.Get("/agents/providers/script/disable").Body, `name="reason"`)
	if p := b.Post("/agents/providers/script/disable", f); p.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Body, "Enter a reason") {
		t.Errorf("without a reason: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	f.Set("reason", "out of <b>quota</b>")
	if p := b.Post("/agents/providers/script/disable", f); p.Code != http.StatusSeeOther {
		t.Fatalf("disable: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	f.Set("idem", "another")
	if p := b.Post("/agents/providers/script/disable", f); p.Code != http.StatusSeeOther {
		t.Errorf("disabling a disabled agent or tool: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	run := site.Run(t, "talk", `"how much?"`)
	if run.Status != domain.RunFailed || run.Error.Code != "provider_disabled" || !strings.Contains(run.Error.Message, "by marta") {
		t.Errorf("run while disabled: %s %+v", run.Status, run.Error)
	}
	p := b.Get("/agents/providers/script")
	if text := webtest.Text(p.Body); !strings.Contains(text, "New calls are refused Disabled since") ||
		!strings.Contains(text, "out of &lt;b&gt;quota&lt;/b&gt;") {
		t.Errorf("the page does not show that it is disabled: %s", text)
	}
	webtest.Safe(t, "provider", p.Body)
	if p := b.Post("/agents/providers/script/enable", webtest.Form(t, b.Get("/agents/providers/script/enable").Body,
		`name="reason"`)); p.Code != http.StatusSeeOther {
		t.Fatalf("enable: status %d", p.Code)
	}
	if run := site.Run(t, "talk", `"how much?"`); run.Status != domain.RunCompleted {
		t.Errorf("run after enabling: %s %+v", run.Status, run.Error)
	}
	if p := b.Get("/agents/providers/none"); p.Code != http.StatusNotFound {
		t.Errorf("an unknown provider: got status %d, want %d", p.Code, http.StatusNotFound)
	}
}

// A disabled tool is not called. The runs that failed because of it can be resumed once it is
// enabled.
func TestAToolIsDisabled(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: sum\nnodes:\n  add: {type: calculator, input: {expression: 6*7}}\n")
	b := site.Browser(t).Login()
	site.Run(t, "sum", "null")
	if text := webtest.Text(b.Get("/agents/tools/calculator").Body); !strings.Contains(text, "Calls in the last 24 hours 1 call") {
		t.Errorf("after a call, the page shows: %s", text)
	}
	f := webtest.Form(t, b.Get("/agents/tools/calculator/disable").Body, `name="reason"`)
	f.Set("reason", "wrong sums")
	if p := b.Post("/agents/tools/calculator/disable", f); p.Code != http.StatusSeeOther {
		t.Fatalf("disable: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	run := site.Run(t, "sum", "null")
	if run.Status != domain.RunFailed || run.Error.Code != "tool_disabled" {
		t.Fatalf("run while disabled: %s %+v", run.Status, run.Error)
	}
	if text := webtest.Text(b.Get("/agents/tools").Body); !strings.Contains(text, "calculator built-in pure allow disabled") {
		t.Errorf("the list shows: %s", text)
	}
	if p := b.Post("/agents/tools/calculator/enable", webtest.Form(t, b.Get("/agents/tools/calculator/enable").Body,
		`name="reason"`)); p.Code != http.StatusSeeOther {
		t.Fatalf("enable: status %d %s", p.Code, webtest.Text(p.Body))
	}
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Action: domain.ActionResume, Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	if run, err := site.Engine.Wait(t.Context(), run.ID); err != nil || run.Status != domain.RunCompleted {
		t.Errorf("the resumed run: %s %v", run.Status, err)
	}
}
