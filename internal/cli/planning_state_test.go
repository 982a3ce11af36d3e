package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/model/modeltest"
)

// A planner receives the state of the daemon: its load, the rate limits of providers, and which tools,
// providers, and agents are unavailable, and why.
func TestPlanningUsesTheStateOfTheDaemon(t *testing.T) {
	t.Parallel()
	busy, finish := make(chan struct{}), make(chan struct{})
	chat := modeltest.NewChat(t, func(r modeltest.ChatRequest) string {
		if strings.Contains(r.Last(), "take your time") {
			close(busy)
			<-finish
		}
		return planningModel(compareAnswer, nil)(r)
	})
	defer close(finish)
	for name, v := range map[string]string{"limit-requests": "500", "remaining-requests": "17", "reset-requests": "1h"} {
		chat.Header.Set("x-ratelimit-"+name, v)
	}
	config := fmt.Sprintf(`
engine: {max_nodes: 2}
providers:
  local: {type: openai, base_url: %q, model: test-model}
  cloud: {type: anthropic, model: m, api_key_env: KAIROS_TEST_NO_SUCH_KEY}
default_provider: local
agents:
  - {id: clerk, name: Clerk, description: Collects figures., system_prompt: You are the clerk.}
  - {id: writer, name: Writer, description: Writes texts., system_prompt: You are the writer.}
  - {id: poet, name: Poet, description: Writes verse., provider: cloud, system_prompt: You are the poet.}
default_agent: clerk
skills:
  - {id: rhyme, keywords: {en: [rhyme]}, agent: poet}
  - {id: fetch, keywords: {en: [fetch]}, tool: http, defaults: {url: "http://127.0.0.1:9/"}}
planner: {provider: local}
`, chat.URL+"/v1")
	s := newShell(t)
	data := filepath.Join(s.dir, "served")
	d := serve(t, data, "--config", s.file("kairos.yaml", config))
	token, _, code := runKairosd("token", "create", "--data", data, "--role", "admin", "--name", "shell")
	if code != 0 {
		t.Fatal("no token")
	}
	s.env["KAIROS_SERVER"], s.env["KAIROS_TOKEN"] = d.url, strings.TrimSpace(token)
	const question = "Compare the customers and recommend one"
	first := func() string {
		for _, r := range chat.Requests() {
			if strings.HasPrefix(r.System(), "You turn a request") && strings.Contains(r.Last(), "recommend one") {
				return r.System()
			}
		}
		t.Fatal("nothing was planned")
		return ""
	}
	plan := s.file("slow.yaml", "id: slow\nnodes:\n  a: {type: agent, agent: clerk, input: take your time}\n")
	s.expect(0, "run", plan, "--detach")
	<-busy
	s.expect(0, "ask", "--agent", "writer", "what is the limit?") // a response contains the remaining number
	s.expect(0, "tools", "disable", "http", "--reason", "the link is down")
	s.expect(0, "ask", "--plan-only", question)
	system := first()
	for _, want := range []string{"The server now:\n- Load: 50 %", "Rate limit of local: 17 of 500 requests are left.",
		"Not available: http: disabled by", "the link is down",
		"Not available: cloud: the provider has no API key (environment variable KAIROS_TEST_NO_SUCH_KEY)",
		"Not available: poet: its provider cloud is not available"} {
		if !strings.Contains(system, want) {
			t.Errorf("no %q in\n%s", want, system)
		}
	}
	if strings.Contains(system, "- poet (Poet)") {
		t.Errorf("the model may choose an agent that cannot answer:\n%s", system)
	}
	// The rule planner returns the reason. Once the tool is enabled, the same request gets a plan.
	s.expect(0, "providers", "disable", "local", "--reason", "planned") // no other provider plans it
	_, stderr := s.expect(2, "ask", "--plan-only", "fetch it")
	if !strings.Contains(stderr, "the link is down") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(2, "ask", "--plan-only", "rhyme it"); !strings.Contains(stderr, "KAIROS_TEST_NO_SUCH_KEY") {
		t.Error(stderr)
	}
	s.expect(0, "tools", "enable", "http")
	s.expect(0, "ask", "--plan-only", "fetch it")
	s.expect(0, "tools", "disable", "http", "--reason", "down again")
	if _, stderr := s.expect(2, "ask", "--plan-only", "fetch it"); !strings.Contains(stderr, "down again") {
		t.Errorf("a plan that cannot run now is found: %s", stderr)
	}
}

// The metrics of the planner are those of the database, so a restart does not change them.
func TestPlanningMetricsSurviveARestart(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	data := filepath.Join(s.dir, "served")
	config := s.file(
		"kairos.yaml",
		"skills:\n  - {id: brew, keywords: {en: [brew]}, implies: [lemon], tool: set, estimated_tokens: 10, defaults: {tea: hot}}\n"+
			"  - {id: lemon, tool: set, depends_on: [brew], estimated_tokens: 20}\n"+
			"  - {id: spill, keywords: {en: [spill]}, tool: http, defaults: {url: \"http://127.0.0.1:1/\"}, retry: {max_attempts: 1}}\n",
	)
	d := serve(t, data, "--config", config)
	token, _, code := runKairosd("token", "create", "--data", data, "--role", "admin", "--name", "shell")
	if code != 0 {
		t.Fatal("no token")
	}
	metrics := func() string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.env["KAIROS_SERVER"]+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.env["KAIROS_TOKEN"])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "planner_") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	s.env["KAIROS_SERVER"], s.env["KAIROS_TOKEN"] = d.url, strings.TrimSpace(token)
	s.expect(0, "ask", "brew tea")
	s.expect(1, "ask", "spill it")
	s.expect(0, "ask", "--agent", "assistant", "hello") // a response without a plan
	before := metrics()
	for _, want := range []string{"planner_plans_created_count 2", "planner_plan_success_rate 0.5",
		"planner_average_steps_per_plan 1.5", "planner_planning_duration_ms_count 2", "planner_confidence_score 0."} {
		if !strings.Contains(before, want) {
			t.Errorf("no %s in\n%s", want, before)
		}
	}
	if d.end(t) != 0 {
		t.Fatal(d.log)
	}
	d = serve(t, data, "--config", config)
	s.env["KAIROS_SERVER"] = d.url
	if after := metrics(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	s.expect(0, "ask", "brew more tea")
	if after := metrics(); !strings.Contains(after, "planner_plans_created_count 3") ||
		!strings.Contains(after, "planner_planning_duration_ms_count 3") {
		t.Error(after)
	}
}

// A connection that is dropped once does not end planning.
func TestOneDroppedConnectionDoesNotEndPlanning(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dropped := false
	chat := modeltest.NewChat(t, func(r modeltest.ChatRequest) string {
		if strings.HasPrefix(r.System(), "You turn a request") && !dropped {
			dropped = true
			return ""
		}
		return planningModel(compareAnswer, nil)(r)
	})
	s.expect(0, "ask", "--config", s.planningConfig(chat.URL, ""), "--plan-only", "Compare the customers and recommend one")
	if n := len(chat.Requests()); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// A budget that the rules prove too small ends planning before the model is called.
func TestATooSmallBudgetIsNotPlannedByTheModel(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	chat := modeltest.NewChat(t, planningModel(compareAnswer, nil))
	config := s.file("kairos.yaml", fmt.Sprintf(`
providers: {local: {type: openai, base_url: %q, model: test-model}}
default_provider: local
agents: [{id: clerk, name: Clerk, description: Collects figures.}]
skills:
  - {id: brew, keywords: {en: [brew]}, tool: set, estimated_tokens: 10}
  - {id: pour, keywords: {en: [pour]}, tool: set, depends_on: [brew], estimated_tokens: 20}
planner: {provider: local}
`, chat.URL+"/v1"))
	out, _ := s.expect(2, "ask", "--config", config, "--json", "--budget", "5", "brew and then pour")
	if !strings.Contains(out, "INSUFFICIENT_RESOURCES") || !strings.Contains(out, "30 tokens are needed, 5 are allowed") {
		t.Error(out)
	}
	if n := len(chat.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}
