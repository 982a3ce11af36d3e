package crashtest

import (
	"cmp"
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

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// model speaks the chat protocol and counts the requests of each turn of a conversation. It
// requests a calculation in every turn except the last, and blocks in one until its gate opens.
type model struct {
	mu    sync.Mutex
	calls map[int]int
	hang  int
	turns int
	input int // reported tokens of a call; 0 means 10
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
	delta, finish := fmt.Sprintf(
		`{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"calculator",`+
			`"arguments":"{\"expression\":\"%d*%d\"}"}}]}`,
		turn,
		turn,
		turn,
	), "tool_calls"
	if turn == m.turns {
		delta, finish = fmt.Sprintf(`{"content":"the last square is %s"}`, q.Messages[len(q.Messages)-1].Content), "stop"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`+"\n\n", delta, finish)
	fmt.Fprintf(
		w,
		`data: {"model":"m","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n",
		cmp.Or(m.input, 10),
	)
}

// A run at its limit stays there across a kill. After the limit is raised, its conversation
// continues, and a kill during that repeats no paid call.
func TestKillAtALimit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	m := &model{calls: map[int]int{}, hang: 4, turns: 5, input: 1995, gate: make(chan struct{}), hung: make(chan struct{}, 1)}
	server := httptest.NewServer(m)
	defer server.Close()
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairosd.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "providers: {fake: {type: openai, base_url: %q, model: m}}\n"+
		"agents: [{id: counter, provider: fake, tools: [calculator]}]\n", server.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	d := start(t, bin, data, config)
	_, v, _, problems, err := d.api.SavePlan(
		ctx,
		[]byte("limits: {max_tokens: 1500}\nnodes: {ask: {type: agent, agent: counter, input: count}}\n"),
		planner.FormatYAML,
		"api",
		"",
	)
	if err != nil {
		t.Fatal(err, problems)
	}
	run, err := d.api.Start(ctx, domain.StartRequest{Plan: v.PlanID, Hash: v.Hash})
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{true, false} { // a third kill would lead to safe mode
		r, err := d.api.Wait(ctx, run.ID)
		if err != nil || r.WaitReason != domain.WaitBudget || r.Usage.InputTokens != 1995 {
			t.Fatalf("%s %s %s, usage %+v, %v", r.Status, r.WaitReason, r.Headline, r.Usage, err)
		}
		if again {
			d.kill(t)
			d = start(t, bin, data, config)
		}
	}
	if _, err := d.api.Act(ctx, domain.ActionRequest{Run: run.ID, Action: domain.ActionLimits,
		Raise: domain.Limits{MaxTokens: 100_000}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.hung:
	case <-ctx.Done():
		t.Fatal("the conversation does not reach turn 4")
	}
	d.kill(t)
	close(m.gate)
	d = start(t, bin, data, config)
	r, err := d.api.Wait(ctx, run.ID)
	if err != nil || r.Status != domain.RunCompleted || r.Limits.MaxTokens != 101_500 || r.Usage.InputTokens != 5*1995 {
		t.Errorf("%s %s, limits %+v, usage %+v, %v", r.Status, r.Headline, r.Limits, r.Usage, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for turn, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 5: 1} {
		if m.calls[turn] != want {
			t.Errorf("turn %d was asked for %d times, want %d", turn, m.calls[turn], want)
		}
	}
	d.kill(t)
}

// A crash in turn 7 of an agent repeats neither turns 1 to 6 nor their cost.
func TestKillDuringAConversation(t *testing.T) {
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
	_, v, _, problems, err := d.api.SavePlan(
		ctx,
		[]byte("id: count\nnodes: {ask: {type: agent, agent: counter, input: count}}\n"),
		planner.FormatYAML,
		"api",
		"",
	)
	if err != nil {
		t.Fatal(err, problems)
	}
	run, err := d.api.Start(ctx, domain.StartRequest{Plan: v.PlanID, Hash: v.Hash})
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
	if r.Status != domain.RunCompleted || string(r.Output) != `"the last square is 64"` {
		t.Errorf("%s %s %+v", r.Status, r.Output, r.Error)
	}
	// There are nine answers of 10 and 5 tokens, each counted once.
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

// An agent's tool call that is interrupted by a kill is in doubt, although the same tool also has
// calls that only read. Only a person can send it again.
func TestKillDuringAnAgentsCall(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"", "effect: idempotent, "} {
		t.Run("class "+class, func(t *testing.T) {
			t.Parallel()
			killAgentsCall(t, class)
		})
	}
}

func killAgentsCall(t *testing.T, class string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l := &ledger{calls: map[string]int{}, gate: make(chan struct{}), seen: make(chan struct{}, 1)}
	web := httptest.NewServer(l)
	defer web.Close()
	pay := fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"http","arguments":%q}}]}`,
		fmt.Sprintf(`{"url":"%s/slow","method":"POST","body":{"amount":240}}`, web.URL))
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []struct{ Role string } }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		delta, finish := pay, "tool_calls"
		if q.Messages[len(q.Messages)-1].Role == "tool" {
			delta, finish = `{"content":"paid"}`, "stop"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`+"\n\n", delta, finish)
		fmt.Fprint(w, `data: {"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer chat.Close()
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairosd.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
providers: {fake: {type: openai, base_url: %q, model: m}}
agents: [{id: payer, provider: fake, tools: [http]}]
tools: {http: {allow_private: [127.0.0.1]}}
`, chat.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	d := start(t, bin, data, config)
	_, v, _, problems, err := d.api.SavePlan(
		ctx,
		[]byte("nodes: {ask: {type: agent, agent: payer, "+class+"retry: {max_attempts: 3, backoff: [1ms]}, input: pay}}\n"),
		planner.FormatYAML,
		"api",
		"",
	)
	if err != nil {
		t.Fatal(err, problems)
	}
	run, err := d.api.Start(ctx, domain.StartRequest{Plan: v.PlanID, Hash: v.Hash})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.seen:
	case <-ctx.Done():
		t.Fatal("the call never arrives")
	}
	d.kill(t)
	close(l.gate)
	d = start(t, bin, data, config)
	r, err := d.api.Wait(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != domain.RunWaiting || r.WaitReason != domain.WaitInDoubt || l.sum() != 1 {
		t.Fatalf("%s %s (%s) after %d calls, want one in doubt", r.Status, r.WaitReason, r.Headline, l.sum())
	}
	res, err := d.api.Result(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Waits) != 1 || len(res.Waits[0].Calls) != 1 || l.count(res.Waits[0].Calls[0].IdempotencyKey) != 1 ||
		res.Waits[0].Calls[0].Tool != "http" {
		t.Errorf("the wait does not name the call: %+v", res.Waits)
	}
	if _, err := d.api.Resolve(ctx, domain.ResolveRequest{Run: run.ID, Node: "ask", Visit: 1, Item: -1, Attempt: 1, Action: "retry",
		Reason: "the ledger was emptied"}); err != nil {
		t.Fatal(err)
	}
	if r, err = d.api.Wait(ctx, run.ID); err != nil || r.Status != domain.RunCompleted || l.sum() != 2 {
		t.Errorf("after the person's word: %s (%s) after %d calls, %v", r.Status, r.Headline, l.sum(), err)
	}
	d.kill(t)
}
