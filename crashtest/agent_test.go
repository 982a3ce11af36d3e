package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// model speaks the chat protocol and counts how often each turn of a
// conversation was asked for. It asks for a calculation in every turn but the
// last, and hangs in one until its gate opens.
type model struct {
	mu    sync.Mutex
	calls map[int]int
	hang  int
	turns int
	gate  chan struct{}
	hung  chan struct{}
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	turn := 1
	for _, msg := range q.Messages {
		if msg.Role == "assistant" {
			turn++
		}
	}
	m.mu.Lock()
	m.calls[turn]++
	m.mu.Unlock()
	if turn == m.hang {
		select {
		case m.hung <- struct{}{}:
		default:
		}
		select {
		case <-m.gate:
		case <-r.Context().Done():
			return
		}
	}
	delta, finish := fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"calculator","arguments":"{\"expression\":\"%d*%d\"}"}}]}`, turn, turn, turn), "tool_calls"
	if turn == m.turns {
		delta, finish = fmt.Sprintf(`{"content":"the last square is %s"}`, q.Messages[len(q.Messages)-1].Content), "stop"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`+"\n\n", delta, finish)
	fmt.Fprint(w, `data: {"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n")
}

// A crash in turn 7 of an agent repeats neither turns 1 to 6 nor their cost
// (SPEC 6.1, ruling 21).
func TestKillInTheMiddleOfAConversation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	m := &model{calls: map[int]int{}, hang: 7, turns: 9, gate: make(chan struct{}), hung: make(chan struct{}, 1)}
	server := httptest.NewServer(m)
	defer server.Close()
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairosd.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
providers: {fake: {type: openai, base_url: %q, model: m, prices: {m: {input: 100000, output: 200000}}}}
agents: [{id: counter, provider: fake, tools: [calculator]}]
`, server.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	d := start(t, bin, data, config)
	_, v, _, problems, err := d.api.SavePlan(ctx, actor, []byte("id: count\nnodes: {ask: {type: agent, agent: counter, input: count}}\n"), planner.FormatYAML, "api", "")
	if err != nil {
		t.Fatal(err, problems)
	}
	run, err := d.api.Start(ctx, actor, kairos.StartRequest{Plan: v.PlanID, Hash: v.Hash})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.hung:
	case <-ctx.Done():
		t.Fatal("the conversation does not reach turn 7")
	}
	d.kill(t)
	close(m.gate)
	d = start(t, bin, data, config)
	r, err := d.api.Wait(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != kairos.RunCompleted || string(r.Output) != `"the last square is 64"` {
		t.Errorf("%s %s %+v", r.Status, r.Output, r.Error)
	}
	// Nine answers of 10 and 5 tokens, each counted once.
	if u := r.Usage; u.InputTokens != 90 || u.OutputTokens != 45 || u.Cost < 17.99 || u.Cost > 18.01 {
		t.Errorf("usage %+v", u)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for turn := 1; turn <= m.turns; turn++ {
		want := 1
		if turn == m.hang {
			want = 2 // it was in flight
		}
		if m.calls[turn] != want {
			t.Errorf("turn %d was asked for %d times, want %d", turn, m.calls[turn], want)
		}
	}
	d.kill(t)
}
