package agents_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// failureAt returns the code of the last failure in a run's journal.
func failureAt(t *testing.T, site *webtest.Site, run string) (code string) {
	t.Helper()
	entries, err := site.Store.Journal(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Failure != nil {
			code = e.Failure.Code
		}
	}
	return code
}

// A host that fails repeatedly is not called for a while. The pages of tools show since when and
// why, and when the next call is tried. An operator closes its circuit, and the refused runs can be
// resumed.
func TestAHostRestsAndAnOperatorEnablesIt(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	var up atomic.Bool
	var calls atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(service.Close)
	host := strings.TrimPrefix(service.URL, "http://")
	site.Plan(t, fmt.Sprintf("id: push\nnodes:\n  send: {type: http, input: {url: %q}}\n", service.URL))
	site.Plan(
		t,
		"id: ask\nnodes:\n  who: {type: approval, input: {message: go on?}}\n"+
			"  send: {type: http, input: {url: \"http://127.0.0.1:9/\"}}\nedges: [{from: who, to: send}]\n",
	)
	b := site.Browser(t).Login()
	for range 5 {
		if run := site.Run(t, "push", "null"); run.Status != domain.RunFailed {
			t.Fatalf("%s", run.Status)
		}
	}
	refused := site.Run(t, "push", "null")
	// The run belongs to the failure group of the outage. Its step shows that the circuit was open.
	if refused.Status != domain.RunFailed || refused.Error.Code != "http_503" || failureAt(t, site, refused.ID) != "tool_circuit_open" ||
		calls.Load() != 5 {
		t.Fatalf("%s %+v after %d calls", refused.Status, refused.Error, calls.Load())
	}
	for path, wants := range map[string][]string{
		"/agents/tools": {host + " circuit open half open in ", "Enable…"},
		"/agents/tools/http": {"Circuits It opens after 5 server failures in a row, at first for 30 s. Each " +
			"host has its own.", host + " circuit open half open in ",
			"5 calls in a row have failed", "503 Service Unavailable", "Enable…", "Disable…"},
	} {
		body := b.Get(path).Body
		webtest.Safe(t, path, body)
		for _, want := range wants {
			if !strings.Contains(webtest.Text(body), want) {
				t.Errorf("%s does not contain %q:\n%s", path, want, webtest.Text(body))
			}
		}
		if !strings.Contains(body, `data-live="circuits"`) || !strings.Contains(body, "data-until=") {
			t.Errorf("%s is not live", path)
		}
	}
	// Home shows the outage while an unfinished run may call the tool. The page of the failed run
	// shows it, and its resume form can wait until the circuit closes.
	page, resume := webtest.Text(b.Get("/runs/"+refused.ID).Body), b.Get("/runs/"+refused.ID+"/resume")
	if want := "Calls of " + host + " (http) are refused since"; !strings.Contains(page, want) ||
		!strings.Contains(webtest.Text(resume.Body), want) {
		t.Errorf("a run that failed because of an open circuit does not show it:\n%s\n%s", page, webtest.Text(resume.Body))
	}
	_, wait, _ := strings.Cut(resume.Body, `href="/bulk/new?`)
	wait, _, _ = strings.Cut(wait, `"`)
	if text := webtest.Text(b.Get("/bulk/new?" + html.UnescapeString(wait)).Body); !strings.Contains(text, "Resume 1 run") ||
		!strings.Contains(text, "When this circuit lets calls through again") {
		t.Errorf("resuming when the circuit closes (%s):\n%s", wait, text)
	}
	if strings.Contains(webtest.Text(b.Get("/").Body), "(http) open for ") {
		t.Errorf("the home page shows a circuit that no run needs: %s", webtest.Text(b.Get("/").Body))
	}
	if run := site.Run(t, "ask", "null"); run.Status != domain.RunWaiting {
		t.Fatal(run.Status)
	}
	if text := webtest.Text(b.Get("/").Body); !strings.Contains(text, "circuit of "+host+" (http) open for ") {
		t.Errorf("the home page shows: %s", text)
	}

	at := "/agents/tools/http/enable?" + url.Values{"host": {host}}.Encode()
	p := b.Get(at)
	if text := webtest.Text(p.Body); !strings.Contains(text, "Enable calls of "+host+" (http)") ||
		!strings.Contains(text, "Circuit "+host+": circuit open, half open in ") ||
		!strings.Contains(text, "Plans that call it 2") {
		t.Errorf("the preview shows: %s", text)
	}
	webtest.Safe(t, at, p.Body)
	f := webtest.Form(t, p.Body, `name="host"`)
	up.Store(true)
	if p := b.Post("/agents/tools/http/enable", f); p.Code != http.StatusSeeOther {
		t.Fatalf("enable: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	f.Set("idem", "another")
	if p := b.Post("/agents/tools/http/enable", f); p.Code != http.StatusSeeOther {
		t.Errorf("closing a closed circuit: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if text := webtest.Text(b.Get("/agents/tools/http").Body); !strings.Contains(text, "Closed: calls go through.") {
		t.Errorf("after closing, the page shows: %s", text)
	}
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Action: domain.ActionResume, Run: refused.ID}); err != nil {
		t.Fatal(err)
	}
	if run, err := site.Engine.Wait(t.Context(), refused.ID); err != nil || run.Status != domain.RunCompleted {
		t.Errorf("the resumed run: %s %v", run.Status, err)
	}
	if text := webtest.Text(b.Get("/audit?q=action:tool.enable").Body); !strings.Contains(text, "marta") ||
		!strings.Contains(text, "tool:http") {
		t.Errorf("the audit log shows: %s", text)
	}
}

// While the circuit of a host is open, calls are refused, and pages show until when. A bulk
// operation can wait for it.
func TestTheCircuitOfAHostIsOpen(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: push\nnodes:\n  send: {type: http, input: {url: \"https://api.example/x\"}}\n")
	site.OpenCircuit("api.example")
	run := site.Run(t, "push", "null")
	if run.Status != domain.RunFailed || failureAt(t, site, run.ID) != "tool_circuit_open" {
		t.Errorf("%s %+v", run.Status, run.Error)
	}
	// The failed runs are resumed by one bulk operation, which can wait for the host.
	p := b.Get("/bulk/new?do=resume&q=status:failed")
	webtest.HasTexts(
		t,
		p,
		http.StatusOK,
		"Calls by these runs are refused now",
		"api.example (http)",
		`<option value="http api.example" selected>`,
	)
	webtest.Safe(t, "bulk", p.Body)
	f := webtest.Form(t, p.Body, `name="digest"`)
	f.Set("tool", "http api.example")
	if p = b.Post("/bulk", f); p.Code != http.StatusSeeOther {
		t.Fatalf("a bulk operation that waits: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	p = b.Get(p.Location)
	webtest.HasTexts(t, p, http.StatusOK, "Waiting", "It continues when calls go through", "When it takes calls", "api.example (http)")
	webtest.Safe(t, "the act", p.Body)
	if text := webtest.Text(b.Get("/system").Body); !strings.Contains(
		text,
		"high: Circuits of tools and hosts 1 is open: api.example (http)",
	) {
		t.Errorf("the system page shows: %s", text)
	}
	p = b.Get("/agents/tools/http")
	if text := webtest.Text(p.Body); !strings.Contains(text, "api.example circuit open half open in 60") &&
		!strings.Contains(text, "api.example circuit open half open in 1 h") &&
		!strings.Contains(text, "half open in 59 min") ||
		!strings.Contains(text, "1 call in a row has failed") {
		t.Errorf("the page shows: %s", text)
	}
	webtest.Safe(t, "circuit", p.Body)
	f = webtest.Form(t, b.Get("/agents/tools/http/enable").Body, `name="reason"`)
	f.Set("host", "other.example")
	if p := b.Post("/agents/tools/http/enable", f); p.Code != http.StatusSeeOther {
		t.Errorf("a host whose circuit is closed: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	g := webtest.Form(t, b.Get("/agents/tools/calculator/enable").Body, `name="reason"`)
	g.Set("host", "api.example")
	if p := b.Post("/agents/tools/calculator/enable", g); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("the circuit of a tool without one: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	if text := webtest.Text(b.Get("/agents/tools/calculator").Body); strings.Contains(text, "Circuit") {
		t.Error("a tool without network access shows circuits")
	}
	viewer := webtest.AllRoles(t, site)[domain.RoleViewer]
	if text := webtest.Text(viewer.Get("/agents/tools/http").Body); !strings.Contains(text, "api.example circuit open") ||
		strings.Contains(text, "Enable…") ||
		strings.Contains(text, "Disable…") {
		t.Errorf("a viewer sees: %s", text)
	}
}
