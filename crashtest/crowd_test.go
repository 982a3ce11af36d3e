package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// The plans of a crowd: an agent that calls tools, a child run, an approval, and non-idempotent
// calls; a short run, so that actions meet its last step; and a failing one, for bulk reruns.
const (
	crowdPlan = `
id: crowd
nodes:
  talk: {type: agent, agent: clerk, input: "pay for ${run.id}"}
  child: {type: plan, plan: part, input: {of: "${run.id}"}}
  ask: {type: approval, input: {message: "go on?"}}
  pay: {type: http, effect: unsafe, input: {method: POST, url: "URL/unsafe/pay?run=${run.id}", body: {n: 1}}}
  look: {type: http, effect: read, needs: [pay], input: {url: "URL/read/look"}}
edges:
  - {from: talk, to: child}
  - {from: child, to: ask}
  - {from: ask, to: pay}
`
	partPlan = `
id: part
nodes:
  put: {type: http, effect: idempotent, input: {method: POST, url: "URL/idempotent/put", body: {n: 1}}}
  pay: {type: http, effect: unsafe, input: {method: POST, url: "URL/unsafe/part?run=${run.id}", body: {n: 1}}}
edges: [{from: put, to: pay}]
`
	shortPlan  = "id: short\nnodes: {look: {type: http, effect: read, input: {url: \"URL/read/short\"}}}\n"
	brokenPlan = "id: broken\nnodes: {look: {type: http, effect: read, input: {url: \"URL/broken\"}}}\n"
)

// crowdWorld contains the systems outside kairosd: the services that steps call, and a model.
type crowdWorld struct {
	url   string
	mu    sync.Mutex
	calls map[string]int // by path and query
	total int
	up    bool // failing services work again
	due   int  // the number of calls after which a kill is due; 0 means none
	kill  chan struct{}
}

func (c *crowdWorld) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/chat/completions" {
		c.model(w, r)
		return
	}
	c.mu.Lock()
	c.calls[r.URL.RequestURI()]++
	c.total++
	if c.due > 0 && c.total >= c.due {
		c.due = 0
		c.kill <- struct{}{}
	}
	up := c.up
	c.mu.Unlock()
	if r.URL.Path == "/broken" && !up {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"ok": true}`)
}

var runInText = regexp.MustCompile(`pay for ([0-9a-z]{26})`)

// model requests a calculation, then a payment, and then ends.
func (c *crowdWorld) model(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	turn, run := 1, ""
	for _, msg := range q.Messages {
		if msg.Role == "assistant" {
			turn++
		}
		if m := runInText.FindStringSubmatch(msg.Content); m != nil {
			run = m[1]
		}
	}
	call := func(name string, args any) string {
		raw, err := json.Marshal(args)
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(
			map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprint("c", turn), "type": "function",
				"function": map[string]any{"name": name, "arguments": string(raw)}}}},
		)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	delta, finish := `{"content":"paid"}`, "stop"
	switch turn {
	case 1:
		delta, finish = call("calculator", map[string]any{"expression": "6*7"}), "tool_calls"
	case 2:
		args := map[string]any{"method": "POST", "url": c.url + "/unsafe/agent?run=" + run, "body": map[string]any{"n": 42}}
		delta, finish = call("http", args), "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`+"\n\n", delta, finish)
	fmt.Fprint(w, `data: {"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n")
}

func (c *crowdWorld) called(path, run string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[path+"?run="+run] > 0
}

// killAfter schedules a kill after n more calls.
func (c *crowdWorld) killAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = c.total + n
}

// crowd is a server that many clients use at once.
type crowd struct {
	t     *testing.T
	world *crowdWorld
	mu    sync.Mutex
	runs  []string // acknowledged
	// outlived contains runs that were final, and not cancelled, when their cancel was answered.
	outlived []string
}

func (c *crowd) known(r *rand.Rand) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.runs) == 0 {
		return ""
	}
	return c.runs[r.IntN(len(c.runs))]
}

// tolerated reports whether an error may result from a race. Without an answer, the daemon has
// ended.
func tolerated(err error) bool {
	switch domain.CodeOf(err) {
	case "", domain.CodeConflict, domain.CodeStale, domain.CodeNotFound, domain.CodeUnavailable, domain.CodeNotResumable:
		return true
	}
	return false
}

// client starts runs and acts on all runs until the daemon has ended.
func (c *crowd) client(ctx context.Context, api *client.Client, seed uint64, name string) {
	r := rand.New(rand.NewPCG(seed, 5))
	actions := []domain.Action{
		domain.ActionPause,
		domain.ActionUnpause,
		domain.ActionUnpause,
		domain.ActionLimits,
		domain.ActionResume,
		domain.ActionCancel,
	}
	for n := 0; ctx.Err() == nil; n++ {
		plan := []string{"crowd", "short"}[r.IntN(2)]
		run, err := api.Start(ctx, domain.StartRequest{Plan: plan, Key: fmt.Sprint(name, "-", n)})
		if domain.CodeOf(err) == domain.CodeUnavailable || ctx.Err() != nil {
			return
		} else if err != nil {
			c.t.Errorf("start: %v", err)
			return
		}
		c.mu.Lock()
		c.runs = append(c.runs, run.ID)
		c.mu.Unlock()
		id := run.ID // the first action meets the last step of a short run
		for range 3 {
			req := domain.ActionRequest{Run: id, Action: actions[r.IntN(len(actions))], Reason: "crowd"}
			if req.Action == domain.ActionLimits {
				req.Limits = domain.Limits{MaxSteps: 1000}
			}
			got, err := api.Act(ctx, req)
			if err != nil && !tolerated(err) && ctx.Err() == nil {
				c.t.Errorf("%s %s: %v", req.Action, id, err)
			}
			if err == nil && req.Action == domain.ActionCancel && got.Status.Final() && got.Status != domain.RunCancelled {
				c.mu.Lock()
				c.outlived = append(c.outlived, id)
				c.mu.Unlock()
			}
			id = c.known(r)
		}
		list, err := api.Approvals(ctx, domain.ApprovalFilter{Page: domain.Page{Limit: 5}})
		if err != nil {
			continue
		}
		for _, p := range list.Items {
			if _, err := api.Decide(ctx, domain.DecideRequest{Approval: p.ID, Approve: true}); !tolerated(err) && ctx.Err() == nil {
				c.t.Errorf("decide: %v", err)
			}
		}
	}
}

// settle acts as people would until every run has ended. The error lists the remaining runs and
// their waits.
func (c *crowd) settle(ctx context.Context, api *client.Client) error {
	left := "none"
	for ctx.Err() == nil {
		open, err := api.Runs(
			ctx,
			domain.RunFilter{
				Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting},
				Page:     domain.Page{Limit: 200},
			},
		)
		if err != nil {
			return fmt.Errorf("%w; left: %s", err, left)
		}
		if len(open.Items) == 0 {
			return nil
		}
		var of []string
		for _, r := range open.Items {
			var err error
			if r.Status == domain.RunWaiting {
				if err = c.help(ctx, api, r.ID); !tolerated(err) {
					return fmt.Errorf("run %s: %w; left: %s", r.ID, err, left)
				}
			}
			of = append(of, fmt.Sprintf("%s of %s: %s %s, %v", r.ID, r.PlanKey, r.Status, r.WaitReason, err))
		}
		left = strings.Join(of, "\n")
	}
	return fmt.Errorf("%w; left: %s", context.Cause(ctx), left)
}

// help gives a run the answer that it waits for.
func (c *crowd) help(ctx context.Context, api *client.Client, run string) error {
	d, err := api.Detail(ctx, run)
	if err != nil {
		return err
	}
	for _, w := range d.Waits {
		switch w.Reason {
		case domain.WaitApproval:
			_, err = api.Decide(ctx, domain.DecideRequest{Approval: w.Approval, Approve: true})
		case domain.WaitInDoubt:
			path := map[string]string{"talk": "/unsafe/agent", "pay": "/unsafe/pay"}[w.Node]
			if d.Run.PlanKey == "part" {
				path = "/unsafe/part"
			}
			q := domain.ResolveRequest{
				Run:     run,
				Node:    w.Node,
				Visit:   w.Visit,
				Item:    w.Item,
				Attempt: lastAttempt(d.Journal, w),
				Action:  "retry",
				Reason:  "it is not in the ledger",
			}
			if c.world.called(path, run) {
				q.Action, q.Reason, q.Output = "happened", "it is in the ledger", domain.RawJSON(`{"ok": true}`)
			}
			_, err = api.Resolve(ctx, q)
		case domain.WaitPaused:
			_, err = api.Act(ctx, domain.ActionRequest{Run: run, Action: domain.ActionUnpause, Reason: "the end"})
		case domain.WaitHeld, domain.WaitQuarantined:
			_, err = api.Act(ctx, domain.ActionRequest{Run: run, Action: domain.ActionRelease, Reason: "the end"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// judge compares the acknowledged and recorded data with the effects outside kairosd.
func (c *crowd) judge(ctx context.Context, api *client.Client, failed []string) {
	c.world.mu.Lock()
	for call, n := range c.world.calls {
		if strings.HasPrefix(call, "/unsafe/") && n > 1 {
			c.t.Errorf("%s was sent %d times", call, n)
		}
	}
	c.world.mu.Unlock()
	open, err := api.Approvals(ctx, domain.ApprovalFilter{Page: domain.Page{Limit: 10}})
	if err != nil || len(open.Items) > 0 {
		c.t.Errorf("all runs are over, and approvals are open: %+v, %v", open.Items, err)
	}
	filter := domain.RunFilter{Page: domain.Page{Limit: 200}}
	seen := map[string]bool{}
	for {
		list, err := api.Runs(ctx, filter)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, r := range list.Items {
			if seen[r.ID] = true; !r.Status.Final() || r.Paused {
				c.t.Errorf("run %s is %s, paused %v", r.ID, r.Status, r.Paused)
			}
		}
		if list.Next == "" {
			break
		}
		filter.Page.After = list.Next
	}
	for _, id := range c.runs {
		if !seen[id] {
			c.t.Errorf("run %s was acknowledged, and is not there", id)
		}
	}
	for _, id := range c.outlived { // another client may have resumed it before the answer
		d, err := api.Detail(ctx, id)
		cancelled, resumed := false, false
		for _, e := range d.Journal {
			cancelled = cancelled || e.Kind == domain.EntryAction && strings.Contains(string(e.Decision), `"cancel"`)
			resumed = resumed || cancelled && e.Kind == domain.EntryReset
		}
		if !resumed || err != nil {
			c.t.Errorf("the cancel of %s was acknowledged, and the run is %s, %v:\n%+v", id, d.Run.Status, err, d.Journal)
		}
	}
	for _, id := range failed {
		reruns, err := api.Runs(ctx, domain.RunFilter{RelatedTo: id, Page: domain.Page{Limit: 10}})
		if err != nil || len(reruns.Items) != 1 {
			c.t.Errorf("the bulk operation reran run %s %d times, %v", id, len(reruns.Items), err)
		}
	}
}

// The daemon is killed repeatedly while many clients start runs, act on each other's runs, and
// answer approvals, and while a bulk operation is in progress. In the end every run is over,
// nothing is open or paused, and the bulk operation has acted once per run. No non-idempotent call
// was repeated, including those of an agent's tools.
func TestKillACrowd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	w := &crowdWorld{calls: map[string]int{}, kill: make(chan struct{}, 1)}
	server := httptest.NewServer(w)
	defer server.Close()
	w.url = server.URL
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, `
tools: {http: {allow_private: ["127.0.0.0/8"]}, breakers: {http: {failures: -1}}}
providers: {fake: {type: openai, base_url: %q, model: m}}
agents: [{id: clerk, provider: fake, tools: [calculator, http]}]
engine: {max_running: 32, max_nodes: 32}
`, server.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	begin := func() *daemon {
		if err := os.Remove(filepath.Join(data, "kairosd.starts")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err) // the daemon would start in safe mode
		}
		d := start(t, bin, data, config)
		d.api.Retry = nil
		return d
	}
	d := begin()
	for _, src := range []string{partPlan, crowdPlan, shortPlan, brokenPlan} {
		if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(strings.ReplaceAll(src, "URL", server.URL)), planner.FormatYAML,
			"upload", ""); err != nil {
			t.Fatal(err, problems)
		}
	}
	var failed []string
	for range 12 {
		r, err := d.api.Start(ctx, domain.StartRequest{Plan: "broken"})
		if err == nil {
			r, err = d.api.Wait(ctx, r.ID)
		}
		if err != nil || r.Status != domain.RunFailed {
			t.Fatalf("run %s is %s, %v", r.ID, r.Status, err)
		}
		failed = append(failed, r.ID)
	}
	w.mu.Lock()
	w.up = true
	w.mu.Unlock()
	if _, err := d.api.StartBulk(ctx, domain.BulkRequest{Action: domain.ActionRerun, Runs: failed, Rate: 120}); err != nil {
		t.Fatal(err)
	}
	seed := proof.Seed(t)
	r := rand.New(rand.NewPCG(seed, 7))
	c := &crowd{t: t, world: w}
	kills := proof.Size(4, 60)
	for kill := range kills {
		round, stop := context.WithCancel(ctx)
		w.killAfter(10 + r.IntN(60))
		var clients sync.WaitGroup
		for n := range 6 {
			clients.Go(func() { c.client(round, d.api, seed+uint64(kill*10+n), fmt.Sprint("client-", kill, "-", n)) })
		}
		select {
		case <-w.kill:
		case <-ctx.Done():
			t.Fatal("the daemon does nothing")
		}
		if err := d.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = d.cmd.Wait() // "signal: killed"
		stop()
		clients.Wait()
		_ = d.api.Close()
		d = begin()
	}
	if err := c.settle(ctx, d.api); err != nil {
		t.Fatal(err)
	}
	bulks, err := d.api.Bulks(ctx, 10)
	for err == nil && slices.ContainsFunc(bulks, func(b apitypes.BulkOperation) bool { return !b.State.Final() }) {
		bulks, err = d.api.Bulks(ctx, 10)
	}
	if err != nil || len(bulks) != 1 || bulks[0].State != domain.BulkDone && bulks[0].State != domain.BulkStopped {
		t.Errorf("the bulk operation ended as %+v, %v", bulks, err)
	}
	if err := c.settle(ctx, d.api); err != nil {
		t.Fatal(err)
	}
	c.judge(ctx, d.api, failed)
	t.Logf("%d kills, %d runs acknowledged, %d calls", kills, len(c.runs), w.total)
	d.kill(t)
}
