package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// models are two providers of models, which count what their calls use: 10 tokens of input, and answers that are as long as
// permitted, at most 90. A call of a closed provider waits until it is opened.
type models struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int // by provider
	used  map[string]float64
	gates map[string]chan struct{}
	begun map[string]chan struct{}
}

func openModels(t *testing.T) *models {
	m := &models{calls: map[string]int{}, used: map[string]float64{}, gates: map[string]chan struct{}{},
		begun: map[string]chan struct{}{}}
	for _, name := range []string{"dear", "free"} {
		m.gates[name], m.begun[name] = make(chan struct{}), make(chan struct{}, 1000)
	}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Split(r.URL.Path, "/")[1]
	var q struct {
		MaxTokens  int `json:"max_tokens"`
		MaxAnswers int `json:"max_completion_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := min(max(q.MaxTokens, q.MaxAnswers), 90)
	m.mu.Lock()
	m.calls[name]++
	m.used[name] += float64(10 + answer)
	m.mu.Unlock()
	m.begun[name] <- struct{}{}
	select {
	case <-m.gates[name]:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}`+"\n\n"+
		`data: {"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":%d}}`+"\n\ndata: [DONE]\n\n", answer)
}

// total returns the number of calls of a provider, and what they have used.
func (m *models) total(name string) (int, float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[name], m.used[name]
}

func (m *models) config() string {
	return fmt.Sprintf("providers: {dear: {type: openai, base_url: \"%s/dear/v1\", model: m}, free: {type: openai, base_url: "+
		"\"%s/free/v1\", model: m}}\nagents: [{id: dear, provider: dear, max_tokens: 100}, {id: free, provider: free, max_tokens: 100}]\n",
		m.URL, m.URL)
}

// asking returns a plan whose steps call the model of an agent for each item.
func asking(agent string, parallel int) string {
	return fmt.Sprintf("id: %s\nnodes: {ask: {type: agent, agent: %s, foreach: \"${input.list}\", max_parallel: %d, "+
		"input: \"Is it ${item}?\"}}\n", agent, agent, parallel)
}

func (k *kairosd) beginWith(v domain.Version, input string) domain.Run {
	k.s.t.Helper()
	run, err := k.Start(k.s.t.Context(), domain.StartRequest{Plan: v.PlanKey, Input: domain.RawJSON(input)})
	if err != nil {
		k.s.t.Fatal(err)
	}
	return run
}

// Two runs share a budget, on two workers, while kairosd is killed and started. Their calls together never use more than the
// budget, and each counts once. While kairosd is down, calls under the budget wait, and a run without a budget continues. The runs
// wait for the budget, are shown with it, and continue after a raise.
func TestRunsShareABudget(t *testing.T) {
	s, m := startServer(t), openModels(t)
	s.more = m.config()
	k := s.kairosd()
	s.worker(s.config())
	s.worker(s.config())
	const hard = 1500
	if _, err := k.CreateBudget(t.Context(), apitypes.BudgetCreate{Key: "shared", Scope: "provider:dear", Unit: domain.UnitTokens,
		Hard: hard, Period: "month"}); err != nil {
		t.Fatal(err)
	}
	v := k.save(asking("dear", 6))
	const list = `{"list": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}`
	runs := []domain.Run{k.beginWith(v, list), k.beginWith(v, list)}
	free := k.beginWith(k.save(asking("free", 1)), `{"list": [1,2,3,4,5]}`)
	for range 6 { // calls of at most 120 tokens
		<-m.begun["dear"]
	}
	<-m.begun["free"]
	k.kill()
	close(m.gates["dear"])
	close(m.gates["free"])
	for range 4 { // the run without a budget continues
		<-m.begun["free"]
	}
	before, _ := m.total("dear")
	if before > 12 { // those that had asked before kairosd ended
		t.Errorf("%d calls under the budget while kairosd was down", before)
	}
	k.up()
	k.until(free.ID, domain.RunCompleted, "")
	for _, run := range runs {
		parked := k.until(run.ID, domain.RunWaiting, domain.WaitBudget)
		if !strings.Contains(parked.Headline, "budget shared") {
			t.Errorf("headline %q", parked.Headline)
		}
	}
	if calls, used := m.total("dear"); used > hard || used < hard-200 || calls <= before {
		t.Errorf("%d calls used %v of %v, %d of them before the start", calls, used, hard, before)
	}
	k.kill()
	k.up()
	b := k.browser()
	if page := b.page("/runs/" + runs[0].ID); !strings.Contains(page, "budget shared") {
		t.Error("the page of the run does not show its budget")
	}
	shared, err := k.Budget(t.Context(), "shared")
	if _, used := m.total("dear"); err != nil || shared.Waiting != 2 || len(shared.Runs) != 2 || shared.Window.Used != used ||
		shared.Window.Estimated != 0 || shared.Reserved != 0 {
		t.Errorf("%+v, used %v, %v", shared, used, err)
	}
	if _, err := k.RaiseBudget(t.Context(), "shared", apitypes.BudgetRaise{Amount: 1e6}); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		k.until(run.ID, domain.RunCompleted, "")
	}
	calls, used := m.total("dear")
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if shared, err = k.Budget(t.Context(), "shared"); err != nil {
			t.Fatal(err)
		}
		if shared.Window.Used == used && shared.Reserved == 0 && shared.Waiting == 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%+v, and %d calls used %v", shared, calls, used)
		}
	}
	if calls != 40 || shared.Window.Calls != 40 || shared.Window.Estimated != 0 {
		t.Errorf("%d calls, and %+v", calls, shared.Window)
	}
}

// Thirty calls of a run with a limit start at the same time. Most of them wait, and a person can still pause the run. It stays within
// its limit, and makes each call once after a raise. Temporal permits 10 updates of a run at the same time.
func TestManyCallsOfARunWaitAtTheSameTime(t *testing.T) {
	s, m := startServer(t), openModels(t)
	s.more = m.config()
	k := s.kairosd()
	s.worker(s.config())
	v := k.save("limits: {max_tokens: 300}\n" + asking("free", 30))
	items := make([]string, 30)
	for i := range items {
		items[i] = fmt.Sprint(i)
	}
	run := k.beginWith(v, `{"list": [`+strings.Join(items, ",")+`]}`)
	for range 2 {
		<-m.begun["free"]
	}
	k.act(run.ID, domain.ActionPause)
	k.act(run.ID, domain.ActionUnpause)
	if calls, _ := m.total("free"); calls != 2 {
		t.Errorf("%d calls began with tokens for two", calls)
	}
	close(m.gates["free"])
	k.until(run.ID, domain.RunWaiting, domain.WaitBudget)
	if _, used := m.total("free"); used > 300 {
		t.Errorf("the calls used %v tokens", used)
	}
	k.act(run.ID, domain.ActionLimits, func(r *domain.ActionRequest) { r.Raise.MaxTokens = 100_000 })
	end := k.until(run.ID, domain.RunCompleted, "")
	if calls, used := m.total("free"); calls != 30 || float64(end.Usage.InputTokens+end.Usage.OutputTokens) != used {
		t.Errorf("%d calls used %v, and not %+v", calls, used, end.Usage)
	}
}
