package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/examples"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
)

// runKairos runs a command in process with its own database.
func runKairos(t *testing.T, dir string, args ...string) (string, string, int) {
	t.Helper()
	var out, errOut bytes.Buffer
	env := map[string]string{"KAIROS_DB": filepath.Join(dir, "kairos.db"), "HOME": dir}
	code := kairos.Run(
		context.Background(),
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errOut, Env: func(k string) string { return env[k] }},
		args,
	)
	return out.String(), errOut.String(), code
}

// Every example is valid with the tools of a default server, and has no warnings.
func TestEveryExampleIsValid(t *testing.T) {
	t.Parallel()
	files, err := examples.Plans()
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, f := range files {
		if _, stderr, code := runKairos(t, t.TempDir(), "validate", f.Name); code != 0 || strings.Contains(stderr, "error") {
			t.Errorf("%s: exit %d\n%s", f.Name, code, stderr)
		}
	}
}

func TestExamplesDoWhatTheirDescriptionsSay(t *testing.T) {
	t.Parallel()
	var requested atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requested.Add(1) < 2 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ok")
	}))
	defer server.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(config, []byte("tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, input string
		code        int
		texts       string
	}{
		{"reminders.yaml", `{}`, 0, `[{"from":"test@kairos.example","text":"Invoice 71: 240 EUR are open.","to":"ana@kairos.example"}]`},
		{"hello.yaml", `"ana"`, 0, "hello ana"}, {"sales-report.yaml", `{}`, 0, "EMEA"}, {"world-clocks.yaml", `{}`, 0, "Tokyo"},
		{"order-triage.yaml", `{"amount": 10}`, 0, "accepted"}, {"order-triage.yaml", `{"amount": 5000}`, 3, ""},
		{"batch.yaml", `{"items": [3, 4]}`, 0, "16"}, {"poll.yaml", `{"url": "` + server.URL + `"}`, 0, "it answers"},
		{"first-answer.yaml", `{"url": "` + server.URL + `"}`, 0, `{"ask":"completed","deadline":"cancelled"}`},
		{"parcels.yaml", `{}`, 0, `["order 7, 900 g",{"code":"too_heavy","error":`},
		{"server-checks.yaml", `{"site": "` + server.URL + `", "shop": "` + server.URL + `"}`, 0, `{"shop":"completed","site":"completed"}`},
	} {
		out, stderr, code := runKairos(t, dir, "run", "--plan", c.file, "--input", c.input, "--config", config, "--json")
		var r struct{ Outputs map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Errorf("%s: %v\n%s%s", c.file, err, out, stderr)
			continue
		}
		if code != c.code || !strings.Contains(out, c.texts) {
			t.Errorf("%s %s: exit %d, want %d\n%s%s", c.file, c.input, code, c.code, out, stderr)
		}
	}
}

// Profiles are variants of one plan.
func TestAnExampleWithProfiles(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]string{"": "test@kairos.example", "test": "test@kairos.example", "live": "Invoice 72: 15 EUR"} {
		out, stderr, code := runKairos(t, t.TempDir(), "run", "reminders.yaml", "--input", "{}", "--profile", profile, "--json")
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("profile %q: exit %d\n%s%s", profile, code, out, stderr)
		}
	}
}

// The examples that call models run with scripted answers.
func TestExamplesWithModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, stderr, code := runKairos(t, dir, "plans", "add", "invoice.yaml"); code != 0 {
		t.Fatalf("store the plan invoice: %s", stderr)
	}
	config := scriptedCopy(t, dir)
	for _, c := range []struct {
		file, input string
		code        int
		texts       []string
	}{
		{"router-clock.yaml", `"what time is it in Tokyo and London?"`, 0,
			[]string{`"datetime_0"`, "Asia/Tokyo", `"datetime_1"`, "Europe/London"}},
		{"router-clock.yaml", `"hello"`, 0, []string{"Here is what I know: hello"}},
		{"support-triage.yaml", `{}`, 3, []string{`"refund"`}},
		{"support-triage.yaml", `{"message": "Do you ship to Chile?"}`, 0, []string{`"question"`, "Thank you for asking."}},
		{"invoice.yaml", `{}`, 0, []string{`"total":238`}},
		{"invoices.yaml", `{"texts": ["Invoice 17", "Invoice 18", "Invoice 17 again"]}`, 0, []string{`"total":238`, `"total":12.71`}},
		{"research.yaml", `{"topic": "tea"}`, 0, []string{"A brief from the notes", "Nobody reads the journal."}},
		{"blog-post.yaml", `{"topic": "durability"}`, 0, []string{`"publish":true`, `"summary":"No second start."`, `"score":82`}},
		{"blog-post.yaml", `{"topic": "a forbidden topic"}`, 0, []string{`"publish":false`, `"summary":""`}},
		{"research-tools.yaml", `{}`, 0, []string{`"calculator":224.25`, `"datetime"`, `"total":299.5`, `"read_file":"Error: `}},
		{"weekly-report.yaml", `{}`, 0, []string{`"total":200.5`, "EMEA leads the week", "report-week-47.md"}},
	} {
		out, stderr, code := runKairos(t, dir, "run", "--plan", c.file, "--input", c.input, "--config", config, "--json")
		if code != c.code {
			t.Errorf("%s %s: exit %d, want %d\n%s%s", c.file, c.input, code, c.code, out, stderr)
		}
		var r struct{ Outputs map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Errorf("%s: %v\n%s", c.file, err, out)
		}
		all := strings.ReplaceAll(out, `\"`, `"`)
		for _, want := range c.texts {
			if !strings.Contains(all, want) {
				t.Errorf("%s %s: no %s in\n%s", c.file, c.input, want, out)
			}
		}
	}
}

// scriptedCopy returns the configuration with scripted answers in a directory where plans may write
// files.
func scriptedCopy(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(dir, "scripted")
	if err := os.CopyFS(to, os.DirFS("scripted")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "kairos.yaml")
}

// Invoices are read from files. A person sees the output before it is written.
func TestInvoicesFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := scriptedCopy(t, dir)
	if _, stderr, code := runKairos(t, dir, "plans", "add", "invoice.yaml"); code != 0 {
		t.Fatalf("store the plan invoice: %s", stderr)
	}
	out, stderr, code := runKairos(t, dir, "run", "--plan", "invoice-files.yaml", "--input", "{}", "--config", config, "--json")
	var r struct {
		RunID string
		Waits []struct{ Approval, Message string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 3 || len(r.Waits) != 1 {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, stderr)
	}
	inbox, stderr, code := runKairos(t, dir, "approvals", "--config", config)
	if code != 0 || !strings.Contains(inbox, r.Waits[0].Approval) || !strings.Contains(inbox, "write_file") ||
		!strings.Contains(inbox, `"total":238`) {
		t.Errorf("exit %d\n%s%s", code, inbox, stderr)
	}
	written := filepath.Join(dir, "scripted", "inbox", "totals.json")
	if _, err := os.Stat(written); err == nil {
		t.Error("written before anybody has seen it")
	}
	if out, stderr, code := runKairos(t, dir, "approve", r.Waits[0].Approval, "--config", config, "--json"); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, stderr)
	}
	if b, err := os.ReadFile(written); err != nil || !strings.Contains(string(b), `12.71`) {
		t.Errorf("%s %v", b, err)
	}
}

// README.md lists every example.
func TestReadmeListsEveryExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := examples.Plans()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(string(page), "("+f.Name+")") {
			t.Errorf("README.md does not know %s", f.Name)
		}
	}
}

// `kairos ask` plans a request, shows the plan, runs it, and prints the answer.
func TestAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	type requested struct {
		Classification struct{ Complexity string }
		Agent          string
		Plan           *struct {
			By    string
			Steps []string
		}
		Run    *struct{ Status string }
		Answer json.RawMessage
	}
	ask := func(code int, args ...string) (requested, string) {
		t.Helper()
		out, stderr, got := runKairos(t, dir, append([]string{"ask", "--config", "scripted/kairos.yaml", "--json"}, args...)...)
		if got != code {
			t.Fatalf("%q: exit %d, want %d\n%s%s", args, got, code, out, stderr)
		}
		var a requested
		if code == 0 {
			if err := json.Unmarshal([]byte(out), &a); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		return a, stderr
	}
	a, _ := ask(0, "Create SEO-optimized post about TypeScript with summary")
	if a.Plan.By != "rules" || len(a.Plan.Steps) != 4 || a.Run.Status != "completed" ||
		!strings.Contains(string(a.Answer), "Sharing behaviour, in one sentence.") {
		t.Errorf("%+v %s", a, a.Answer)
	}
	a, _ = ask(0, "what is a text?")
	if a.Classification.Complexity != "simple" || a.Agent != "writer" || !strings.Contains(string(a.Answer), "Here is what I know") {
		t.Errorf("%+v %s", a, a.Answer)
	}
	a, _ = ask(0, "/seo judge this")
	if a.Agent != "seo" || a.Plan.By != "direct" || !strings.Contains(string(a.Answer), "82") {
		t.Errorf("%+v %s", a, a.Answer)
	}
	a, _ = ask(0, "--plan-only", "Escribe sobre el té")
	if a.Run != nil || len(a.Plan.Steps) != 4 {
		t.Errorf("%+v", a)
	}
	if _, stderr := ask(2, " "); !strings.Contains(stderr, "valid intent") {
		t.Error(stderr)
	}
	if _, stderr := ask(2, "--agent", "nobody", "hello"); !strings.Contains(stderr, `agent "nobody" is not configured`) {
		t.Error(stderr)
	}
	out, stderr, code := runKairos(t, dir, "ask", "--config", "scripted/kairos.yaml", "write a post about tea and then give a summary")
	if code != 0 || !strings.Contains(stderr, "step-1: writer") || !strings.Contains(stderr, "estimated: 12000 ms") ||
		!strings.Contains(out, "---") {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
}
