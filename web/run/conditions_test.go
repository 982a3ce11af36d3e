package run_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The head of a waiting run shows the next action and the conditions for the run to continue.
func TestAWaitingRunShowsItsConditions(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/runs/" + seed.Waiting.ID)
	if !strings.Contains(p.Body, `class="btn pri" href="#decide"`) || !strings.Contains(p.Body, `id="decide"`) {
		t.Error("the head of a run that asks a person has no Decide")
	}
	if p := b.Get("/runs/" + seed.InDoubt.ID + "?view=log"); !strings.Contains(webtest.Text(p.Body), "Decide") ||
		!strings.Contains(p.Body, "#inspector") {
		t.Error("from the log of a run in doubt nothing leads to the decision")
	}
	// A run paused by a user, with the reason.
	path := "/runs/" + seed.Waiting.ID + "/pause"
	form := b.Get(path).Hidden()
	form.Set("do", "act")
	form.Set("reason", "the ERP is being mended")
	webtest.HasTexts(t, b.Post(path, form), http.StatusSeeOther)
	text := webtest.Text(b.Get("/runs/" + seed.Waiting.ID).Body)
	for _, want := range []string{"The run continues when: not met A person resumes the run", "paused by marta at",
		"the ERP is being mended", "A person answers the request of "} {
		if !strings.Contains(text, want) {
			t.Errorf("a paused run does not say %q\n%s", want, text)
		}
	}
	// A scheduled run shows its start time, and that a slot is free.
	later, err := site.Engine.Start(
		t.Context(),
		site.Admin,
		domain.StartRequest{
			Plan:        "report",
			StartAt:     time.Now().Add(time.Hour),
			Concurrency: &domain.Concurrency{Key: "one", Limit: 1, OnConflict: "queue"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	text = webtest.Text(b.Get("/runs/" + later.ID).Body)
	for _, want := range []string{"It starts at", "not met It is ",
		"met A slot for the key one is free: 0 of 1 runs are active", "met A slot is free: 3 of 64 are taken", "12 runs are queued"} {
		if !strings.Contains(text, want) {
			t.Errorf("a scheduled run does not say %q\n%s", want, text)
		}
	}
}

// A run that waits for its concurrency key links to the run that has it.
func TestAQueuedRunLinksToTheRunThatItWaitsFor(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: till\nconcurrency: {key: till}\nnodes:\n  a: {type: approval, input: {message: go on?}}\n")
	first := webtest.StartUntil(t, site, "till", domain.WaitApproval)
	second, err := site.Engine.Start(t.Context(), site.Admin, domain.StartRequest{Plan: "till"})
	if err != nil {
		t.Fatal(err)
	}
	page := site.Browser(t).Login().Get("/runs/" + second.ID).Body
	if text := webtest.Text(page); !strings.Contains(text, "not met A slot for the key till is free: 1 of 1 runs are active") {
		t.Errorf("the condition is missing in\n%s", text)
	}
	if !strings.Contains(page, `href="/runs/`+first.ID+`"`) {
		t.Errorf("no link to run %s in\n%s", first.ID, page)
	}
}

// A run that exceeds its limits shows each limit with the used amount.
func TestARunOverItsLimitsShowsThem(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: short\nlimits: {max_steps: 1}\nnodes:\n  one: {type: set, input: 1}\n  two: {type: set, needs: [one], input: 2}\n")
	run := webtest.StartUntil(t, site, "short", domain.WaitBudget)
	b := site.Browser(t).Login()
	text := webtest.Text(b.Get("/runs/" + run.ID).Body)
	for _, want := range []string{"max_steps 1 is used up", "not met Steps: 1 of 1 used", "Raise limits…", "2 steps", "Trigger"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	csrf := b.Get("/me").Hidden()["csrf"]
	webtest.HasTexts(t, b.Post("/display", url.Values{"csrf": csrf, "back": {"/me"}, "lang": {"es"}}), http.StatusSeeOther)
	if text := webtest.Text(b.Get("/runs/" + run.ID).Body); !strings.Contains(text, "max_steps 1 está agotado") ||
		!strings.Contains(text, "no cumplida") {
		t.Errorf("in Spanish:\n%s", text)
	}
	if text := webtest.Text(b.Get("/runs/" + run.ID + "/unpause").Body); !strings.Contains(text, "La ejecución no está en pausa") {
		t.Errorf("a refusal in Spanish:\n%s", text)
	}
	if text := webtest.Text(b.Get("/runs?q=plam:x").Body); !strings.Contains(text, "No hay ningún filtro «plam»") ||
		!strings.Contains(text, "¿quería decir plan:x?") {
		t.Errorf("a mistyped filter in Spanish:\n%s", text)
	}
}

// A run with a cost limit and a model without a price offers to resume, because a limit is not what it waits for.
func TestARunWithoutAPriceOffersAResume(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: dear\nlimits: {max_cost: 1}\nnodes:\n  ask: {type: llm, metadata: {model: other}, input: \"What is 6 times 7?\"}\n")
	run := webtest.StartUntil(t, site, "dear", domain.WaitBudget)
	b := site.Browser(t).Login()
	page := b.Get("/runs/" + run.ID)
	webtest.HasTexts(t, page, http.StatusOK, "no price is known",
		"The price is configured, and a person resumes the run", "/runs/"+run.ID+"/resume")
	if strings.Contains(page.Body, "Raise limits…") {
		t.Error("a limit is not what it waits for")
	}
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"/resume"), http.StatusOK, "Resume")
}

// The page of an active run selects the active step, not a handled failure. The page of a completed
// run selects its last step, not a skipped one.
func TestTheRunPageOpensOnWhatIsNow(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: detour
nodes:
  broken: {type: calculator, on_error: continue, input: {expression: "1/"}}
  hold: {type: approval, needs: [broken], when: always, on_reject: continue, input: {message: "go on?"}}
  yes: {type: set, input: 1}
  no: {type: set, input: 2}
edges:
  - {from: hold, to: yes, condition: "last.approved==true"}
  - {from: hold, to: no, condition: default}
`)
	run := site.Run(t, "detour", `null`)
	b := site.Browser(t).Login()
	if p := b.Get("/runs/" + run.ID); !strings.Contains(p.Body, `data-step="`) || !strings.Contains(inspected(p.Body), "hold") {
		t.Errorf("a run that waits opens on %q", inspected(p.Body))
	}
}

// inspected returns the name of the step in the inspector.
func inspected(body string) string {
	_, after, _ := strings.Cut(body, `id="ih"`)
	before, _, _ := strings.Cut(after, "</h2>")
	return webtest.Text("<p" + before)
}

// The preview of a retry shows the number of the attempt, the maximum, and the remaining wait.
func TestRetryNowShowsTheAttempt(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	busy := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }),
	)
	defer busy.Close()
	site.Plan(
		t,
		"id: again\nnodes:\n  pull: {type: http, effect: read, retry: {max_attempts: 4, backoff: [1h]}, input: {url: \""+busy.URL+"\"}}\n",
	)
	run := webtest.StartUntil(t, site, "again", domain.WaitRetry)
	b := site.Browser(t).Login()
	if text := webtest.Text(b.Get("/runs/" + run.ID + "/retry-now").Body); !strings.Contains(
		text,
		"Attempt 2 of 4 of pull would begin automatically at",
	) ||
		!strings.Contains(text, "in 5") {
		t.Error(text)
	}
	if text := webtest.Text(b.Get("/runs/" + run.ID).Body); !strings.Contains(text, "The next attempt of pull is due") ||
		!strings.Contains(text, "1 step") {
		t.Error(text)
	}
}

// A rerun copies the labels unless others are entered. An invalid label is reported next to the
// field.
func TestARerunTakesLabels(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	path := "/runs/" + seed.Completed.ID + "/rerun"
	rerun := func(idem string, labels ...string) domain.Run {
		t.Helper()
		page := b.Get(path)
		form := page.Hidden()
		form.Set("do", "act")
		form.Set("idem", idem)
		form.Set("labels", form.Get("was_labels"))
		if len(labels) > 0 {
			form.Set("labels", labels[0])
		}
		p := b.Post(path, form)
		webtest.HasTexts(t, p, http.StatusSeeOther)
		run, err := site.Store.FindRun(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	if run := rerun("same"); run.Labels["env"] != "test" {
		t.Errorf("labels were lost: %v", run.Labels)
	}
	if run := rerun("other", `env=prod "note=two words"`); run.Labels["env"] != "prod" || run.Labels["note"] != "two words" {
		t.Errorf("labels: %v", run.Labels)
	}
	if run := rerun("none", ""); len(run.Labels) != 0 {
		t.Errorf("labels: %v", run.Labels)
	}
	form := b.Get(path).Hidden()
	form.Set("do", "act")
	form.Set("labels", "prod")
	webtest.HasTexts(
		t,
		b.Post(path, form),
		http.StatusUnprocessableEntity,
		"Label &#34;prod&#34; is not key=value",
		`name="labels" value="prod"`,
	)
}

// Without slots, because Temporal's workers execute the runs, a queued run waits for a worker.
func TestAQueuedRunWithoutSlots(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.System.SetHealthMetrics(domain.HealthMetrics{At: time.Now()})
	site.Plan(t, "id: till\nnodes: {a: {type: set, input: 1}}\n")
	site.Engine.Maintain(true)
	run, err := site.Engine.Start(t.Context(), site.Admin, domain.StartRequest{Plan: "till"})
	if err != nil {
		t.Fatal(err)
	}
	b := site.Browser(t).Login()
	if text := webtest.Text(b.Get("/runs/" + run.ID).Body); !strings.Contains(text, "it starts when a worker takes it") ||
		strings.Contains(text, "slot is free") {
		t.Errorf("the page of the run: %s", text)
	}
	if text := webtest.Text(b.Get("/").Body); strings.Contains(text, "slots") {
		t.Errorf("the home page shows slots: %s", text)
	}
}
