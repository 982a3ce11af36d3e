package run_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The conversation of a step is shown completely: every message in order with its role, the offered
// and called tools, and the usage.
func TestTheConversationOfAStepIsShown(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	run := site.Run(t, "talk", `"what is 6*7?"`)
	if run.Status != domain.RunCompleted {
		t.Fatal(run.Status, run.Error)
	}
	b := site.Browser(t).Login()
	page := b.Get("/runs/" + run.ID + "?step=answer&tab=prompt")
	webtest.HasTexts(
		t,
		page,
		http.StatusOK,
		"Tools offered",
		"1 handoff · called 1 time",
		"2 calculator · called 1 time",
		"Finish reason",
		"scripted",
		"330 in, 33 out",
		"Model calls",
	)
	order := []string{
		"1 · System",
		"You are the desk.",
		"2 · User",
		"what is 6*7?",
		"3 · Assistant",
		"→ 1 handoff",
		"finish reason tool_calls",
		"4 · Handoff · → accountant",
		"compute 6*7",
		"5 · System",
		"You are the accountant.",
		"6 · User",
		"7 · Assistant · accountant",
		"→ 2 calculator",
		"8 · Tool result · 2 calculator · completed",
		"42",
		"Arguments: {&#34;expression&#34;:&#34;6*7&#34;}",
		"9 · Assistant",
		"10 · Assistant",
		"&lt;i&gt;",
		"finish reason stop",
	}
	rest := page.Body
	for _, text := range order {
		i := strings.Index(rest, text)
		if i < 0 {
			t.Fatalf("%q does not follow:\n%s", text, webtest.Text(rest))
		}
		rest = rest[i:]
	}
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?step=answer&tab=calls"), http.StatusOK, "Tools offered")
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"/steps/1?tab=prompt"), http.StatusOK, "You are the accountant.")
	file := b.Get("/runs/" + run.ID + "/steps/1/raw/prompt")
	if file.Code != http.StatusOK || !strings.HasPrefix(file.Header.Get("Content-Disposition"), "attachment") ||
		!strings.Contains(file.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d %v", file.Code, file.Header)
	}
	var p struct {
		Agent, Model, Finish string
		Tools                []struct{ Name string }
		Messages             []struct{ Role, Text string }
	}
	if err := json.Unmarshal([]byte(file.Body), &p); err != nil || p.Agent != "desk" || p.Model != "scripted" || p.Finish != "stop" ||
		len(p.Messages) != 10 ||
		len(p.Tools) != 2 {
		t.Errorf("%v %+v", err, p)
	}
	for part, want := range map[string]int{"input": http.StatusOK, "output": http.StatusOK, "log": http.StatusOK,
		"error": http.StatusNotFound, "none": http.StatusNotFound} {
		if p := b.Get("/runs/" + run.ID + "/steps/1/raw/" + part); p.Code != want {
			t.Errorf("%s: %d", part, p.Code)
		}
	}
}

// The prompt of a failed call is shown.
func TestThePromptOfAFailedCallIsShown(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: say\nnodes:\n  say: {type: llm, agent: desk}\n  other: {type: set, input: 1, needs: [say]}\n")
	run := site.Run(t, "say", `"please break"`)
	if run.Status != domain.RunFailed {
		t.Fatal(run.Status)
	}
	b := site.Browser(t).Login()
	webtest.HasTexts(
		t,
		b.Get("/runs/"+run.ID+"?step=say&tab=prompt"),
		http.StatusOK,
		"You are the desk.",
		"please break",
		"3 · Assistant · failed",
		"overloaded: the model is &lt;b&gt;overloaded&lt;/b&gt;",
	)
	if file := b.Get("/runs/" + run.ID + "/steps/1/raw/error"); file.Code != http.StatusOK ||
		!strings.Contains(file.Body, "overloaded: the model is <b>") {
		t.Errorf("%d %q", file.Code, file.Body)
	}
}

// A fork can override the results of single items of a foreach.
func TestAForkLeavesOutItems(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(
		t,
		"id: payroll\nnodes:\n  list: {type: set, input: [ana, bo, cy]}\n"+
			"  pay: {type: set, effect: unsafe, foreach: \"${output.list}\", input: {to: \"${item}\"}}\n"+
			"edges: [{from: list, to: pay}]\n",
	)
	run := site.Run(t, "payroll", `null`)
	if run.Status != domain.RunCompleted {
		t.Fatal(run.Status)
	}
	b := site.Browser(t).Login()
	path := "/runs/" + run.ID + "/fork"
	page := b.Get(path + "?at=1")
	webtest.HasTexts(
		t,
		page,
		http.StatusOK,
		`name="instead.pay#1"`,
		`name="instead.pay#1[0]"`,
		`name="instead.pay#1[2]"`,
		"Choose for each item of pay",
		"3 items",
	)
	form := page.Hidden()
	form.Set("at", "1")
	form.Set("instead.pay#1", "stub")
	form.Set("stub.pay#1", `"left out"`)
	form.Set("instead.pay#1[0]", "")
	form.Set("instead.pay#1[1]", "run")
	form.Set("instead.pay#1[2]", "recorded")
	form.Set("do", "check")
	webtest.HasTexts(
		t,
		b.Post(path, form),
		http.StatusOK,
		"Gets a result without running (2)",
		"pay (1 item) — a person gave a stub",
		"pay (1 item) — a person gave the recorded result",
	)
	form.Set("do", "act")
	forked := b.Post(path, form)
	if forked.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", forked.Code, webtest.Text(forked.Body))
	}
	after, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(forked.Location, "/runs/"))
	if err != nil || string(after.Output) != `["left out",{"to":"bo"},{"to":"cy"}]` {
		t.Errorf("%v %s", err, after.Output)
	}
}
