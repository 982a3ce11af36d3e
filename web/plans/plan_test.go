package plans_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/webtest"
)

// The page of a plan shows the results of its runs as key figures, a graph, and a table. For a
// selected step, it shows recent failures and the slowest attempts. Other tabs show the rest.
func TestAPlanShowsHowItsRunsWent(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/plans/ledger")
	webtest.Has(
		t,
		p,
		"the plan",
		"Success rate",
		"1 failed in 7 days",
		"Median duration",
		"no paid model calls",
		`aria-label="Duration of the last 1 runs, oldest first; 1 failed"`,
		"1 run of this version, of the last 7d.",
		`class="e t w5"`,
		"1 run · 100% fail",
		"no run",
		"Share of time",
		">1.0</td>",
		"1 run",
		"/plans/ledger/v/1/graph.svg",
		"owner%3Amarta",
	)
	if strings.Contains(p.Body, `id="step"`) {
		t.Error("a step is open although the address selects none")
	}
	webtest.Has(t, b.Get("/plans/ledger?tab=input"), "the input", "Fields of the input", "EUR, USD")
	webtest.Has(t, b.Get("/plans/ledger?tab=permissions"), "the permissions", "Tools that the plan calls", "It is allowed.")
	webtest.Has(t, b.Get("/plans/ledger?tab=source"), "the source", `<span class="k">nodes</span>`, "Download")
	p = b.Get("/plans/ledger?node=post&paint=failed&zoom=fit")
	webtest.Has(
		t,
		p,
		"the chosen step",
		`id="step"`,
		"Recent failures",
		"Slowest attempts",
		"/runs/"+seed.Failed.ID+"?step=",
		"/steps?q=plan%3Aledger+node%3Apost",
		"Shade:",
		`class="node plain heat-5`,
		` fit" tabindex`,
	)
	webtest.Has(t, b.Get("/plans/ledger?since=1h&node=gone"), "another window", "of the last 1h.")
	webtest.Has(t, b.Get("/plans/ledger?since=none"), "a window that is none", "of the last 7d.")
	webtest.Has(t, b.Get("/plans/payment"), "an unsafe plan", "unsafe")
	if p := b.Get("/plans/ledger/v/1/graph.svg"); p.Code != http.StatusOK ||
		!strings.HasPrefix(p.Body, "<svg") && !strings.Contains(p.Body, "<svg") {
		t.Errorf("the graph file: got status %d, want %d", p.Code, http.StatusOK)
	}
	if p := b.Get("/plans/ledger/v/1/source"); p.Code != http.StatusOK || !strings.HasPrefix(strings.TrimSpace(p.Body), "id: ledger") {
		t.Errorf("the source file: got status %d, want %d: %s", p.Code, http.StatusOK, p.Body)
	}
}

// The step search finds failed and slow steps across runs, page by page.
func TestStepsAreSearchedAcrossRuns(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	webtest.Has(t, b.Get("/steps?q=status:failed"), "what failed", "post", "blocked", "/runs/"+seed.Failed.ID+"?step=")
	p := b.Get("/steps?q=plan:report&sort=took")
	webtest.Has(t, p, "what took long", "square [2]", "longest first")
	if strings.Contains(p.Body, ">refund<") {
		t.Error("steps of another plan are listed")
	}
	if p = b.Get("/steps?n=2"); !strings.Contains(p.Body, "after=") || strings.Count(p.Body, `class="go"`) != 2 {
		t.Errorf("no second page: %s", webtest.Text(p.Body))
	}
	if p = b.Get("/steps?q=nod:x"); p.Code != http.StatusBadRequest || !strings.Contains(p.Body, "Did you mean node:x?") {
		t.Errorf("a wrong key: got status %d, want %d", p.Code, http.StatusBadRequest)
	}
	webtest.Has(t, b.Get("/steps?q=node:nothing"), "nothing found", "No step matches the filter.")
	if p = b.Get("/steps?after=x"); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("a broken cursor: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
}

// The plan list filters plans by tool, agent, owner, and label. Plans that were only tried are in
// no list.
func TestPlansAreFiltered(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	site.Plan(t, "id: tagged\nmetadata: {env: prod, owner: ada}\nnodes:\n  a: {type: agent, agent: supervisor, input: x}\n")
	b := site.Browser(t).Login()
	for q, want := range map[string]string{"tool:http": "ledger", "tool:calculator": "report", "owner:ada": "tagged",
		"label.env%3Dprod": "tagged", "led": "ledger", "agent:supervisor": "tagged"} {
		p := b.Get("/plans?q=" + q)
		if !strings.Contains(p.Body, `href="/plans/`+want+`"`) || strings.Contains(p.Body, `href="/plans/refund"`) {
			t.Errorf("%s does not find %s: %s", q, want, webtest.Text(p.Body))
		}
	}
	if p := b.Get("/plans?q=tol:http"); p.Code != http.StatusBadRequest || !strings.Contains(p.Body, "Did you mean tool:http?") {
		t.Errorf("a wrong key: got status %d, want %d", p.Code, http.StatusBadRequest)
	}
	form := b.Get("/agents/tools/calculator/try").Hidden()
	form.Set("f.expression", "1+1")
	p := b.Post("/agents/tools/calculator/try", form)
	form = p.Hidden()
	form.Set("f.expression", "1+1")
	form.Set("do", "run")
	if p = b.Post("/agents/tools/calculator/try", form); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	for _, list := range []string{"/plans", "/plans?q=tool:calculator", "/runs/new", "/plans?state=draft"} {
		if strings.Contains(b.Get(list).Body, "try-calculator") {
			t.Errorf("%s lists a tried plan", list)
		}
	}
}

// An author restores an earlier version with a reason. The form is rejected if the current version
// has changed since.
func TestAVersionIsRestoredByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	first := site.Plan(t, "id: p\nnodes: {a: {type: set, input: 1}}\n")
	site.Plan(t, "id: p\nnodes: {a: {type: set, input: 2}}\n")
	site.Run(t, "p", "null")
	b := site.Browser(t).Login()
	p := b.Get("/plans/p?tab=versions")
	webtest.Has(t, p, "the plan", "/plans/p/v/1/restore", "current", "Runs, 7 days")
	webtest.Has(t, b.Get("/plans/p/v/1"), "the first version", "A newer version is current:")
	open := b.Get("/plans/p/v/1/restore")
	webtest.Has(t, open, "the preview", "Restore v1 of p", "/plans/p/diff/2/1", "Current version")
	form := open.Hidden()
	if p = b.Post("/plans/p/v/1/restore", form); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	site.Plan(t, "id: p\nnodes: {a: {type: set, input: 3}}\n")
	form.Set("reason", "two was wrong")
	if p = b.Post("/plans/p/v/1/restore", form); p.Code != http.StatusConflict || !strings.Contains(p.Body, "v3") {
		t.Errorf("with a newer version: got status %d, want %d: %s", p.Code, http.StatusConflict, webtest.Text(p.Body))
	}
	form = p.Hidden()
	form.Set("reason", "two was wrong")
	if p = b.Post("/plans/p/v/1/restore", form); p.Location != "/plans/p" {
		t.Fatalf("status %d %s", p.Code, webtest.Text(p.Body))
	}
	pl, err := site.Store.Plan(t.Context(), "p")
	if err != nil || pl.LatestHash != first.Hash {
		t.Errorf("%+v %v", pl, err)
	}
	webtest.Has(t, b.Get("/plans/p/v/1/restore"), "restoring again", fmt.Sprintf("v%d is the current version already.", 1))
}

// Two versions are compared as a graph and as texts, with added, removed, and changed steps.
func TestVersionsAreComparedAsAPicture(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(
		t,
		"id: p\nnodes:\n  a: {type: set, input: 1}\n  b: {type: set, input: 2}\n  old: {type: log, input: x}\n"+
			"edges: [{from: a, to: b}, {from: b, to: old}]\n",
	)
	site.Plan(
		t,
		"id: p\nnodes:\n  a: {type: set, input: 1}\n  b: {type: set, input: 3}\n  new: {type: log, input: x}\n"+
			"edges: [{from: a, to: b}, {from: b, to: new}]\n",
	)
	p := site.Browser(t).Login().Get("/plans/p/diff/1/2")
	webtest.Has(
		t,
		p,
		"the difference",
		"1 step added, 1 step removed, 1 step changed",
		`class="node plus`,
		`class="node minus`,
		`class="node differs`,
		"+ added",
		"− removed",
		"~ changed",
		`class="e plus t"`,
		`class="e minus n"`,
		"- ",
		"lines added",
	)
	webtest.Has(t, p, "its boxes", `href="/plans/p/v/2?node=b#step"`, `href="/plans/p/v/1?node=old#step"`)
	if strings.Count(p.Body, `class="node plain`) != 1 {
		t.Error("unchanged text is marked")
	}
}

// The editor shows problems next to the text, and the graph. It shows steps to copy, tries the text
// without saving it, and keeps both versions when another user saves first.
func TestPlansAreEditedByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	open := b.Get("/plans/ledger/edit")
	webtest.Has(
		t,
		open,
		"the editor",
		`hx-post="/plans/check"`,
		"Add a step",
		"Dry run",
		`<option value="tool:calculator">`,
		`id="preview"`,
		"No problems",
		`id="marked"`,
	)
	form := open.Hidden()
	check := func(source string) webtest.Page {
		t.Helper()
		f := form
		f.Set("source", source)
		req := webtest.Request(
			t,
			http.MethodPost,
			site.URL+"/plans/check",
			f.Encode(),
			"Content-Type",
			"application/x-www-form-urlencoded",
			"Origin",
			site.URL,
			"Sec-Fetch-Site",
			"same-origin",
			"HX-Request",
			"true",
			"HX-Target",
			"problems",
		)
		return b.Do(req)
	}
	p := check(
		"id: x\nnodes:\n  a: {type: set, input: 1}\n" +
			"  pay: {type: http, input: {method: POST, url: \"http://127.0.0.1:9/x\"}}\nedges: [{from: a, to: pay}]\n",
	)
	webtest.Has(
		t,
		p,
		"the check",
		`id="problems"`,
		`id="preview" hx-swap-oob="true"`,
		"<svg",
		"<code>pay</code>",
		`<a href="#L4" id="g1" data-to=""`,
		` data-line="4">`,
	)
	if strings.Contains(p.Body, "<html") {
		t.Error("the check is a whole page")
	}
	// A problem whose suggestion solves it has a button that works without scripts.
	form.Set("source", "id: x\nnodes:\n  a: {type: calculatr, input: {expression: \"1 + 1\"}}\n")
	p = b.Post("/plans/ledger/edit", form)
	webtest.Has(t, p, "the fix", "1 problem", "calculatr → calculator", "Apply fix")
	form.Set("fix", regexp.MustCompile(`name="fix" value="([^"]+)"`).FindStringSubmatch(p.Body)[1])
	p = b.Post("/plans/ledger/edit", form)
	webtest.Has(t, p, "the fixed text", "No problems", "a: {type: calculator, input")
	form.Del("fix")
	p = check("id: x\nnodes:\n  a: {type: calculatr}\n")
	webtest.Has(t, p, "what is wrong", `data-line="3"`, "calculator", "The graph is shown when the plan has no errors.")

	form.Set("source", "id: x\nnodes:\n  a: {type: set, input: 1}\n")
	form.Set("do", "add")
	form.Set("add", "tool:calculator")
	p = b.Post("/plans/ledger/edit", form)
	webtest.Has(
		t,
		p,
		"a step to copy",
		"  calculator:\n    type: tool\n    tool: calculator\n    input:\n      expression: &#34;&#34;",
		"id: x\nnodes:\n  a: {type: set, input: 1}\n</textarea>",
	)
	form.Set("add", "tool:none")
	if p = b.Post("/plans/ledger/edit", form); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown step type: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}

	form.Set("source", "id: ledger\nname: Ledger\nnodes:\n  a: {type: set, input: \"${input}\"}\n")
	form.Set("do", "try")
	form.Set("try_input", `{"n": 7}`)
	if p = b.Post("/plans/ledger/edit", form); p.Code != http.StatusSeeOther {
		t.Fatalf("trying: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || !run.Dry() || run.PlanKey != "draft-ledger" || string(run.Output) != `{"n":7}` {
		t.Errorf("%+v %v", run, err)
	}
	if strings.Contains(b.Get("/runs").Body, run.ID) || !strings.Contains(b.Get("/runs?q=trigger:dry").Body, run.ID) {
		t.Error("a dry run is in the list of runs, or cannot be found")
	}
	webtest.Has(t, b.Get(p.Location), "the dry run", "their outputs are samples")
	if p := b.Get("/plans"); strings.Contains(p.Body, "draft-ledger") {
		t.Error("the tried plan is listed")
	}

	site.Plan(t, "id: ledger\nname: Ledger\nnodes:\n  b: {type: set, input: 2}\n")
	form.Set("do", "save")
	p = b.Post("/plans/ledger/edit", form)
	if p.Code != http.StatusConflict {
		t.Fatalf("saving over another user's version: got status %d, want %d", p.Code, http.StatusConflict)
	}
	webtest.Has(t, p, "both sides", "Theirs: from v1 to v2", "Yours: since v1", `id="theirs"`, `id="yours"`, "/plans/ledger/diff/1/2")
	form = p.Hidden()
	form.Set("source", "id: ledger\nname: Ledger\nnodes:\n  c: {type: set, input: 3}\n")
	form.Set("do", "save")
	if p = b.Post("/plans/ledger/edit", form); p.Location != "/plans/ledger/v/3" {
		t.Errorf("saving on top of the newer version: status %d %s", p.Code, p.Location)
	}
	webtest.Has(t, b.Get("/plans/new?from=report"), "a copy", "id: report-copy", "Copy of report")
	webtest.Has(t, b.Get("/plans/report"), "the plan", "/plans/new?from=report&amp;v=1")
}

// The editor shows a step for a tool or an agent in the format of the plan, with the required
// arguments of the tool. It does not change the text. A plan with the copied step is valid.
func TestAStepIsShownToCopy(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	open := b.Get("/plans/new").Hidden()
	for name, c := range map[string]struct{ source, add, want, plan string }{
		"a graph in JSON": {`{"nodes": {}}`, "tool:calculator",
			`"calculator": {` + "\n  \"type\": \"tool\",\n  \"tool\": \"calculator\",\n  \"input\": {\n" +
				"    \"expression\": \"\"\n  }\n}\n", `{"nodes": {%s}}`},
		"an agent in JSON": {`{"nodes": {}}`, "agent:desk",
			`"desk": {` + "\n  \"type\": \"agent\",\n  \"agent\": \"desk\",\n  \"input\": \"${last}\"\n}\n", `{"nodes": {%s}}`},
		"steps in JSON": {`{"steps": []}`, "tool:calculator",
			"{\n  \"id\": \"calculator\",\n  \"tool\": \"calculator\",\n  \"params\": {\n    \"expression\": \"\"\n  }\n}\n",
			`{"steps": [%s]}`},
		"an agent's step in JSON": {`{"steps": []}`, "agent:desk",
			"{\n  \"id\": \"desk\",\n  \"agentId\": \"desk\",\n  \"task\": \"\"\n}\n", `{"steps": [%s]}`},
		"a graph": {"id: x\n", "agent:desk", "  desk:\n    type: agent\n    agent: desk\n    input: \"${last}\"\n", "nodes:\n%s"},
		"steps":   {"steps:\n", "agent:desk", "- id: desk\n  agentId: desk\n  task: \"\"  # what it is to do\n", "steps:\n%s"},
		"a tool's step": {"steps:\n", "tool:calculator",
			"- id: calculator\n  tool: calculator\n  params:\n    expression: \"\"", "steps:\n%s"},
	} {
		form := url.Values{"do": {"add"}, "add": {c.add}, "source": {c.source}, "csrf": {open.Get("csrf")}, "idem": {open.Get("idem")}}
		p := b.Post("/plans/new", form)
		_, got, _ := strings.Cut(p.Body, `id="snippet"`)
		_, got, _ = strings.Cut(got, ">")
		got, _, _ = strings.Cut(got, "</pre>")
		if got = html.UnescapeString(got); p.Code != http.StatusOK || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got status %d, want %d\n%s\nwant\n%s", name, p.Code, http.StatusOK, got, c.want)
		}
		if _, text, _ := strings.Cut(p.Body, `id="source"`); !strings.Contains(html.UnescapeString(text), c.source) {
			t.Errorf("%s: the text of the plan has changed", name)
		}
		_, problems := site.Engine.CheckPlan(fmt.Appendf(nil, c.plan, got), planner.FormatAuto)
		for _, q := range problems {
			if strings.HasPrefix(q.Code, "json.") || strings.HasPrefix(q.Code, "yaml.") {
				t.Errorf("%s cannot be copied into a plan: %s", name, q)
			}
		}
	}
	form := url.Values{"do": {"add"}, "add": {"tool:none"}, "source": {"{"}, "csrf": {open.Get("csrf")}, "idem": {open.Get("idem")}}
	if p := b.Post("/plans/new", form); p.Code != http.StatusUnprocessableEntity || strings.Contains(p.Body, `id="snippet"`) {
		t.Errorf("an unknown step type: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
}

// A copy has its own id in YAML and in JSON, so it never becomes a version of the original.
func TestACopyHasItsOwnID(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	for _, src := range []string{
		"{\n  \"name\": \"J\", \"id\": \"j\",\n  \"nodes\": {\"id\": {\"type\": \"set\", \"input\": 1}}\n}",
		"id: y\nnodes: {a: {type: set, input: 1}}\n",
		`{"nodes": {"a": {"type": "set", "input": 2}}}`,
	} {
		pl, _, _, problems, err := site.Engine.SavePlan(t.Context(), site.Admin, []byte(src), planner.FormatAuto, "upload", "")
		if err != nil {
			t.Fatal(err, problems)
		}
		page := b.Get("/plans/new?from=" + pl.Key)
		form := page.Hidden()
		_, text, _ := strings.Cut(page.Body, `id="source"`)
		_, text, _ = strings.Cut(text, ">")
		text, _, _ = strings.Cut(text, "</textarea>")
		form.Set("source", html.UnescapeString(text))
		form.Set("do", "save")
		if p := b.Post("/plans/new", form); p.Location != "/plans/"+pl.Key+"-copy/v/1" {
			t.Errorf("%s: status %d %s", src, p.Code, p.Location)
		}
	}
}

// New plans can start from an example, and an example can be saved unchanged. The plan list and the
// page of a plan show the next scheduled run.
func TestPlansBeginWithAnExample(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	webtest.Has(t, b.Get("/plans"), "the empty list", "start from an example", "/plans/new?example=order-triage", "kairos plans add")
	p := b.Get("/plans/new?example=order-triage")
	webtest.Has(
		t,
		p,
		"the editor",
		"id: order-triage",
		"No problems",
		"Start from an example",
		`href="/plans/new?example=hello"`,
	)
	for node, line := range map[string]string{"order": "12", "ask": "14", "refused": "20"} { // names that also occur earlier
		if !strings.Contains(p.Body, `aria-label="`+node+` `) || !strings.Contains(p.Body, `href="#L`+line+`"`) {
			t.Errorf("the box of %s does not link to line %s", node, line)
		}
	}
	if p := b.Get("/plans/new?example=none"); p.Code != http.StatusNotFound {
		t.Errorf("an unknown example: got status %d, want %d", p.Code, http.StatusNotFound)
	}
	site.Plan(t, "id: later\nnodes: {a: {type: set, input: 1}}\n")
	if strings.Contains(b.Get("/plans").Body, "Next run") {
		t.Error("a plan without a schedule shows a next run")
	}
	var first domain.Run
	for _, in := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		run, err := site.Engine.Start(t.Context(), site.Admin, domain.StartRequest{Plan: "later", StartAt: time.Now().Add(in)})
		if err != nil {
			t.Fatal(err)
		}
		if in == time.Hour {
			first = run
		}
	}
	for _, path := range []string{"/plans", "/plans/later"} {
		webtest.Has(t, b.Get(path), path, "Next run", `href="/runs/`+first.ID+`">Next run</a>`)
	}
}

// A dry run is started from the form, which also shows the equivalent commands.
func TestARunIsStartedDry(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/runs/new?plan=payment")
	form := p.Hidden()
	form.Set("dry", "1")
	if p = b.Post("/plans/payment/start", form); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || !run.Dry() || run.Status != "completed" {
		t.Errorf("%+v %v", run, err)
	}
	p = b.Get("/runs/new?like=" + run.ID)
	webtest.Has(t, p, "the form", `name="dry" value="1" checked`, "--dry-run", `&#34;dryRun&#34;: true`)
	webtest.Has(
		t,
		b.Get("/runs/new?plan=ledger"),
		"the commands",
		`--input &#39;{&#34;amount&#34;:0,&#34;currency&#34;:&#34;EUR&#34;}&#39;`,
	)
}

// The page of a plan shows the protocols that offer it as a tool, and the list finds it.
func TestAnExposedPlan(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: refund\nexpose: [mcp]\nnodes: {a: {type: noop}}\n")
	site.Plan(t, "id: quiet\nnodes: {a: {type: noop}}\n")
	b := site.Browser(t).Login()
	webtest.Has(t, b.Get("/plans/refund"), `href="/plans?q=expose%3Amcp"`, "expose:mcp")
	if list := b.Get("/plans?q=expose:mcp").Body; !strings.Contains(list, "/plans/refund") || strings.Contains(list, "/plans/quiet") {
		t.Error("the list does not find the exposed plan")
	}
}
