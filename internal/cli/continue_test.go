package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

const continuedSteps = `
id: figures
continueOnFailure: true
steps:
  - {id: one, agentId: clerk, task: Draw a chart, retry: {maxAttempts: 1}}
  - {id: two, agentId: clerk, task: Collect the figures, dependencies: [one]}
  - {id: three, agentId: clerk, task: Draw a chart, retry: {maxAttempts: 1}, on_error: skip, dependencies: [two]}
`

// A step that fails under continueOnFailure is failed, with its error, on the CLI, in the API, and
// on the page of the run. The run completes.
func TestAContinuedFailureIsShownEverywhere(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	config := s.file("kairos.yaml", replanConfig)
	s.file("answers.yaml", replanAnswers)
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	d := serve(t, data, "--config", config)
	get := loggedIn(t, d)
	plan := s.file("plan.yaml", continuedSteps)
	stdout, stderr := s.expect(0, "run", plan, "--prompt", "How did it go?")
	if stdout != "41 and 42\n" || !strings.Contains(stderr, "completed, 1 step failed\n  one: there is no pencil (no_pencil)\n") {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	stdout, _ = s.expect(0, "run", plan, "--prompt", "How did it go?", "--json")
	var got struct {
		RunID, Status string
		FailedSteps   []domain.RunError
		Result        domain.PlanResult
	}
	check := func(from, body string) {
		t.Helper()
		got.FailedSteps, got.Result = nil, domain.PlanResult{}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		want := []domain.RunError{{Code: "no_pencil", Message: "there is no pencil", Node: "one"}}
		if !reflect.DeepEqual(got.FailedSteps, want) || got.Status != "completed" {
			t.Errorf("%s: %s, failed steps %+v", from, got.Status, got.FailedSteps)
		}
		var steps []string
		for _, st := range got.Result.Plan.Steps {
			steps = append(steps, st.StepID+" "+st.Status+" "+st.Error)
		}
		r, all := got.Result, "one failed there is no pencil, two completed , three skipped there is no pencil"
		if !r.Success || r.AggregatedResult != "41 and 42" || strings.Join(steps, ", ") != all {
			t.Errorf("%s: %v %+v", from, steps, r)
		}
	}
	check("kairos run --json", stdout)
	check("GET /runs/{id}", get("/api/v1/runs/"+got.RunID))
	stdout, _ = s.expect(0, "show", got.RunID)
	for _, want := range []string{"1 step failed", "answer: 41 and 42"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("kairos show lacks %q:\n%s", want, stdout)
		}
	}
	text := plainText(get("/runs/" + got.RunID))
	for _, want := range []string{"Completed, 1 step failed", "one: there is no pencil", "Answer 41 and 42", "one failed one clerk",
		"two completed two clerk", "three skipped three clerk · there is no pencil"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// loggedIn returns a function that reads pages and the API as a new operator.
func loggedIn(t *testing.T, d *serving) func(path string) string {
	t.Helper()
	if _, err := d.CreateUser(t.Context(), ada, "marta", "four unrelated words", domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	read := func(req *http.Request, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v\n%s", req.URL, res.StatusCode, err, plainText(string(body)))
		}
		return string(body)
	}
	form := url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {"four unrelated words"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/login", strings.NewReader(form.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", d.url)
	}
	read(req, err)
	return func(path string) string {
		t.Helper()
		return read(http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil))
	}
}

// plainText is a page without its tags.
func plainText(page string) string {
	if _, after, ok := strings.Cut(page, "<main"); ok {
		page = after
	}
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
}

// After on_error: replan, the page shows the failed step as failed, and no step of a finished run
// as waiting.
func TestThePageOfAReplannedRun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	config := s.file("kairos.yaml", replanConfig)
	s.file("answers.yaml", replanAnswers)
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	d := serve(t, data, "--config", config)
	get := loggedIn(t, d)
	stdout, _ := s.expect(0, "run", s.file("plan.yaml", replanPlan), "--prompt", "How did it go?", "--json")
	var got struct{ RunID string }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	text := plainText(get("/runs/" + got.RunID))
	for _, want := range []string{"3 completed 1 failed", "2 two failed two", "Replanned v1 → v2, after two failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "1 waiting") {
		t.Errorf("a step of a finished run waits:\n%s", text)
	}
}
