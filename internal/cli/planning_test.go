package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/model/modeltest"
)

const compareAnswer = `{"summary": "Compare the customers and recommend one", "requiresMultiStep": true, "reasoning": "The comparison comes first.", "steps": [
 {"agentId": "clerk", "task": "Collect the figures of the customers", "expectedOutput": "data"}, {"agentId": "clerk", "task": "Compare the figures"},
 {"agentId": "writer", "task": "Recommend one of them"}]}`

// planningModel returns a plan, and the answers of agents by task.
func planningModel(plan string, answers map[string]string) func(modeltest.ChatRequest) string {
	return func(r modeltest.ChatRequest) string {
		if strings.HasPrefix(r.System(), "You turn a request") {
			return plan
		}
		for part, text := range answers {
			if strings.Contains(r.Last(), part) {
				return text
			}
		}
		return "done"
	}
}

// Usage example 2 of [001] runs with any answer of the moderator. An approval opens the gate, a
// refusal closes it, and any other answer closes it and is shown.
func TestUsageExampleRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict    string
		summarized bool
		calls      int // of the moderator
		shown      string
	}{
		"approved": {`{"approved": true}`, true, 1, ""},
		"refused":  {`{"approved": false}`, false, 1, "its condition is false"},
		"prose": {"The text looks fine to me.", false, 2,
			`gate_unknown: step-3 has no field "approved"; it returned: The text looks fine to me.`},
		"another type": {`{"approved": "yes"}`, false, 2,
			`gate_unknown: the field "approved" of step-3 is a string, not a boolean; it returned: {"approved":"yes"}`},
		"prose everywhere": {"Fine.", false, 2, "gate_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			chat := modeltest.NewChat(t, func(r modeltest.ChatRequest) string {
				switch {
				case r.System() == "You moderate.":
					return c.verdict
				case strings.Contains(r.Last(), "Summarize the text"):
					return "A summary."
				case r.System() == "You rank.":
					return "Well found."
				case name == "prose everywhere":
					return "TypeScript has types."
				}
				return `{"content": "TypeScript has types."}`
			})
			config := s.blogConfig(chat.URL)
			const intent = "Create SEO-optimized post about TypeScript with summary"
			stdout, stderr := s.expect(0, "ask", "--config", config, "--max-steps", "5", "--priority", "high", intent)
			if strings.Contains(stdout, "A summary.") != c.summarized || !strings.Contains(stdout, "TypeScript has types.") ||
				strings.Contains(stdout, `{"content"`) {
				t.Errorf("the answer: %s", stdout)
			}
			if c.shown != "" && (!strings.Contains(stderr, "step-4") || !strings.Contains(stderr, c.shown)) {
				t.Errorf("%q is missing:\n%s", c.shown, stderr)
			}
			moderated := 0
			for _, r := range chat.Requests() {
				if r.System() != "You moderate." {
					continue
				}
				if moderated++; r.Format == nil || !strings.Contains(fmt.Sprint(r.Format), "approved") {
					t.Errorf("no structured output is asked for: %v", r.Format)
				}
				if !strings.Contains(r.User(), "TypeScript has types.") {
					t.Errorf("the moderator does not get the text: %s", r.User())
				}
				if moderated == 2 && !strings.Contains(r.Last(), `"approved":{"type":"boolean"}`) {
					t.Errorf("sent back without the schema: %s", r.Last())
				}
			}
			if moderated != c.calls {
				t.Errorf("the moderator was asked %d times, want %d", moderated, c.calls)
			}
			stdout, _ = s.expect(0, "ask", "--config", config, "--max-steps", "5", "--priority", "high", "--json", intent)
			var got struct {
				Run struct {
					Status string
					Result struct {
						Plan struct {
							Steps []struct{ StepID, Status, Error string }
						}
					}
				}
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Run.Status != "completed" ||
				len(got.Run.Result.Plan.Steps) != 4 {
				t.Fatalf("%v\n%s", err, stdout)
			}
			last := got.Run.Result.Plan.Steps[3]
			if want := map[bool]string{true: "completed", false: "skipped"}[c.summarized]; last.Status != want ||
				c.calls == 2 && !strings.HasPrefix(last.Error, "gate_unknown: ") {
				t.Errorf("%+v", last)
			}
		})
	}
}

// An alternative is accepted instead of the proposed plan, of a draft and of a plan from a
// program's request. The run has only its steps.
func TestAnAlternativeIsAccepted(t *testing.T) {
	t.Parallel()
	const tea = "skills:\n  - {id: brew, keywords: {en: [brew]}, implies: [lemon], tool: set, estimated_tokens: 10, " +
		"defaults: {tea: hot}}\n" +
		"  - {id: lemon, tool: set, depends_on: [brew], estimated_tokens: 20}\n"
	everywhere(t, tea, func(t *testing.T, s *shell) {
		if _, stderr := s.expect(0, "ask", "--plan-only", "brew some tea"); !strings.Contains(stderr, "cheaper (--alternative cheaper)") {
			t.Error(stderr)
		}
		var list struct {
			Items []struct {
				ID   string
				Plan domain.PlanRef
			}
		}
		s.json(&list, "drafts", "--json")
		d := list.Items[0]
		if _, stderr := s.expect(0, "drafts", "show", d.ID); !strings.Contains(stderr, "cheaper (--alternative cheaper)") {
			t.Error(stderr)
		}
		if _, stderr := s.expect(2, "drafts", "accept", d.ID, "--alternative", "dearer"); !strings.Contains(stderr, "cheaper") {
			t.Error(stderr)
		}
		var got struct {
			Status, Alternative string
			Plan                domain.PlanRef
			Steps               []string
		}
		s.json(&got, "drafts", "accept", d.ID, "--alternative", "cheaper", "--reason", "no lemon", "--json")
		if got.Status != "accepted" || got.Alternative != "cheaper" || got.Plan.Version != 2 || len(got.Steps) != 1 {
			t.Errorf("%+v", got)
		}
		if out, _ := s.expect(0, "audit", "--json"); !strings.Contains(out, "no lemon") ||
			!strings.Contains(out, `"alternative":"cheaper"`) && !strings.Contains(out, `"alternative": "cheaper"`) {
			t.Error(out)
		}
		s.expect(0, "drafts", "run", d.ID)
		out, _ := s.expect(0, "plans", "show", d.Plan.Key)
		if strings.Contains(out, "lemon") {
			t.Error(out)
		}
		if s.transport != "network" {
			return
		}
		// A program requests a plan and accepts its alternative.
		var plan struct{ PlanID, Hash string }
		s.call(
			t,
			http.MethodPost,
			"/planner/plan",
			`{"userIntent": "brew it hot", "systemContext": {"availableSkills": ["brew", "lemon"]}}`,
			&plan,
		)
		s.call(t, http.MethodPost, "/plans/"+plan.PlanID+"/accept", `{"alternative": "cheaper", "reason": "for two"}`, &plan)
		if out, _ := s.expect(0, "plans", "show", plan.PlanID); strings.Contains(out, "lemon") || !strings.Contains(out, "brew") {
			t.Error(out)
		}
	})
}

// The user's preferences reach the skills and every agent. A refusal is JSON with its code and
// figures. An agent that answers directly has the reason of this request.
func TestAskPrefersAndRefuses(t *testing.T) {
	t.Parallel()
	const list = "skills:\n  - {id: brew, keywords: {en: [brew]}, tool: set, params: {tone: {}}, estimated_tokens: 10}\n" +
		"  - {id: pour, keywords: {en: [pour]}, tool: set, depends_on: [brew], estimated_tokens: 20}\nplanner: {mode: rules}\n"
	everywhere(t, list, func(t *testing.T, s *shell) {
		if out, _ := s.expect(0, "ask", "--plan-only", "--json", "--preference", "tone=formal", "--preference", "cups=2",
			"brew and then pour"); !strings.Contains(
			out,
			`"tone":"formal"`,
		) ||
			!strings.Contains(out, `"preferences":{"cups":2,"tone":"formal"}`) {
			t.Error(out)
		}
		if _, stderr := s.expect(2, "ask", "--preference", "formal", "brew"); !strings.Contains(stderr, "NAME=VALUE") {
			t.Error(stderr)
		}
		for _, c := range []struct{ flag, value, code, message, advice string }{
			{"--budget", "5", "INSUFFICIENT_RESOURCES", "30 tokens are needed, 5 are allowed", "at least 30 tokens"},
			{"--max-steps", "1", "NO_VALID_PLAN", "2 steps are needed, 1 are allowed", "at least 2 steps"},
			{"--timeout", "0s", "NO_VALID_PLAN", "timeout is 0 ms", "Set a timeout above 0"},
		} {
			out, _ := s.expect(2, "ask", "--json", c.flag, c.value, "brew and then pour")
			var got struct {
				Error struct {
					Code, Message, Suggestion string
					Violations                []string
				}
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil || got.Error.Code != c.code ||
				!strings.Contains(got.Error.Message, c.message) ||
				!strings.Contains(got.Error.Suggestion, c.advice) ||
				len(got.Error.Violations) == 0 {
				t.Errorf("%s: %v %s", c.flag, err, out)
			}
		}
		s.expect(0, "ask", "--plan-only", "/assistant hello")
		var second struct {
			Plan struct{ Reason string }
		}
		s.json(&second, "ask", "--plan-only", "--json", "hello")
		if second.Plan.Reason == "" || second.Plan.Reason == "the caller named the agent" {
			t.Errorf("%+v", second)
		}
	})
}

// With --server, plans are checked against the tools and agents of the server.
func TestValidateUsesTheServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("plan.yaml", "id: one\nnodes:\n  a: {type: agent, agent: clerk, input: hello}\n")
	s.expect(2, "validate", plan)
	data := filepath.Join(s.dir, "served")
	d := serve(t, data, "--config", s.file("kairos.yaml", "agents: [{id: clerk, name: Clerk, system_prompt: You are the clerk.}]\n"))
	token, _, code := runKairosd("token", "create", "--data", data, "--role", "viewer", "--name", "shell")
	if code != 0 {
		t.Fatal("no token")
	}
	s.env["KAIROS_TOKEN"] = strings.TrimSpace(token)
	if out, _ := s.expect(0, "validate", "--server", d.url, plan); !strings.Contains(out, "valid, plan one") {
		t.Error(out)
	}
	if out, _ := s.expect(0, "schema", "--server", d.url); !strings.Contains(out, `"clerk"`) || !json.Valid([]byte(out)) {
		t.Errorf("schema of the server: %s", out)
	}
	if out, _ := s.expect(0, "schema"); strings.Contains(out, `"clerk"`) || !strings.Contains(out, `"max_attempts"`) {
		t.Errorf("schema of the configuration: %s", out)
	}
	bad := s.file("bad.yaml", "id: one\nnodes:\n  a: {type: agent, agent: nobody, input: hello}\n")
	if _, stderr := s.expect(2, "validate", "--server", d.url, bad); !strings.Contains(stderr, "bad.yaml:3:") ||
		!strings.Contains(stderr, "nobody") {
		t.Error(stderr)
	}
}
