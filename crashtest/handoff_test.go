package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner"
)

// office speaks the chat protocol for several agents, which it distinguishes by their system
// messages, and counts the requests of each. An answer takes 10 and 5 tokens.
type office struct {
	mu    sync.Mutex
	asked map[string]int // by agent and turn
}

// scripted maps agent and turn to the scripted answer: a text, or a call of a tool.
var scripted = map[string]string{
	"front 1": `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"handoff",` +
		`"arguments":"{\"targetAgentId\":\"sums\",\"reason\":\"capability_match\",\"explanation\":\"compute ` +
		`6*7\",\"returnControl\":true}"}}]}`,
	"front 2": `{"content":"sums says it is 42"}`,
	"sums 1": `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"calculator",` +
		`"arguments":"{\"expression\":\"6*7\"}"}}]}`,
	"sums 2": `{"content":"it is 42"}`,
	"planner 1": `{"content":"{\"summary\":\"Describe it in words\",\"requiresMultiStep\":true,\"reasoning\":\"nobody can ` +
		`draw\",\"steps\":[{\"agentId\":\"sums\",\"task\":\"write it down\"}]}"}`,
	"writer 1": `{"content":"written down"}`,
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	turn, who := 1, ""
	examples := 0
	for _, m := range q.Messages {
		if m.Role == "assistant" {
			turn++
		}
		if m.Role != "system" {
			continue
		}
		for _, id := range []string{"front", "sums"} {
			if strings.Contains(m.Content, "You are "+id) {
				who = id
			}
		}
		if strings.Contains(m.Content, "turn a request into a plan") || strings.Contains(m.Content, "requiresMultiStep") {
			who, examples = "planner", -1
		}
	}
	last := q.Messages[len(q.Messages)-1].Content
	if examples < 0 {
		turn = 1 // its examples are also turns
	}
	if who == "sums" && strings.Contains(last, "write it down") {
		who = "writer"
	}
	key := fmt.Sprintf("%s %d", who, turn)
	o.mu.Lock()
	o.asked[key]++
	o.mu.Unlock()
	finish := "stop"
	if strings.Contains(scripted[key], "tool_calls") {
		finish = "tool_calls"
	}
	if scripted[key] == "" {
		http.Error(w, `{"error":{"message":"nobody expects `+key+`"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`+"\n\n", scripted[key], finish)
	fmt.Fprint(w, `data: {"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n")
}

// twoLives runs a plan in a daemon that kills itself at a point, and then in another daemon to its
// end.
func twoLives(t *testing.T, plan, spec string) (domain.Run, map[string]int, domain.Conversation) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	o := &office{asked: map[string]int{}}
	server := httptest.NewServer(o)
	defer server.Close()
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairosd.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
providers: {fake: {type: openai, base_url: %q, model: m, prices: {m: {input: 100000, output: 200000}}}}
agents:
  - {id: front, system_prompt: You are front., tools: [handoff]}
  - {id: sums, system_prompt: You are sums., tools: [calculator], capabilities: [arithmetic]}
planner: {mode: model}
`, server.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	d := start(t, bin, data, config, failpoint.Env+"=kill="+spec)
	_, v, _, problems, err := d.api.SavePlan(ctx, []byte(plan), planner.FormatYAML, "api", "")
	if err != nil {
		t.Fatal(err, problems)
	}
	once := domain.StartRequest{Plan: v.PlanID, Hash: v.Hash, Input: domain.RawJSON(`"how much?"`), Key: "once"}
	run, answered := d.api.Start(ctx, once) // the daemon may end before its response
	if err := d.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the daemon did not die at %s: %v", spec, err)
	}
	if err := d.api.Close(); err != nil {
		t.Error(err)
	}
	d = start(t, bin, data, config)
	if answered != nil {
		if run, err = d.api.Start(ctx, once); err != nil {
			t.Fatal(err)
		}
	}
	if run, err = d.api.Wait(ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	conversation, err := d.api.Conversation(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	d.kill(t)
	return run, o.asked, conversation
}

// A daemon that is killed between a handoff and the first call of the next agent,
// or before any other call, repeats nothing: every question reaches the model
// once, every cost is counted once, the handoff is made once.
func TestKillAroundAHandoff(t *testing.T) {
	t.Parallel()
	// The points are before front's question, sums' first (after the handoff), its
	// calculation, its second, and front's second.
	points := []string{"substep.before:2", "substep.before:1", "substep.before:3", "substep.before:4", "substep.before:5"}
	if testing.Short() {
		points = points[:1]
	}
	for _, spec := range points {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			run, asked, conversation := twoLives(t, "id: pass\nnodes: {ask: {type: agent, agent: front}}\n", spec)
			if run.Status != domain.RunCompleted || string(run.Output) != `"sums says it is 42"` {
				t.Fatalf("%s %s %+v", run.Status, run.Output, run.Error)
			}
			for _, turn := range []string{"front 1", "sums 1", "sums 2", "front 2"} {
				if asked[turn] != 1 {
					t.Errorf("%s was asked %d times", turn, asked[turn])
				}
			}
			if u := run.Usage; u.InputTokens != 40 || u.OutputTokens != 20 || u.Cost < 7.99 || u.Cost > 8.01 {
				t.Errorf("usage %+v", u)
			}
			passed := 0
			for _, m := range conversation.Messages {
				if m.From == "front" && m.To == "sums" && m.Type == domain.MessageRequest {
					passed++
				}
			}
			if passed != 1 {
				t.Errorf("%d handoffs are recorded", passed)
			}
		})
	}
}

// If the daemon is killed while the planner replans, it requests the plan again only if the answer
// was not durable.
func TestKillDuringAReplan(t *testing.T) {
	t.Parallel()
	const plan = `
id: draw
nodes:
  have: {type: set, input: 42}
  draw: {type: json, needs: [have], input: {value: 1, path: "("}, on_error: replan}
`
	points := map[string]int{"replan.asked:1": 1, "replan.answered:1": 2, "replan.planned:1": 1, "replan.before:1": 1}
	for spec, times := range points {
		if testing.Short() && spec != "replan.planned:1" {
			continue
		}
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			run, asked, _ := twoLives(t, plan, spec)
			if run.Status != domain.RunCompleted || string(run.Output) != `"written down"` || run.Version != 2 {
				t.Fatalf("%s version %d %s %+v", run.Status, run.Version, run.Output, run.Error)
			}
			if asked["planner 1"] != times || asked["writer 1"] != 1 {
				t.Errorf("asked %v, want the planner %d times", asked, times)
			}
			// The usage of the lost answer is unknown. All other usage counts once.
			if u := run.Usage; u.InputTokens != 20 || u.OutputTokens != 10 || u.Cost < 3.99 || u.Cost > 4.01 {
				t.Errorf("usage %+v", u)
			}
		})
	}
}
