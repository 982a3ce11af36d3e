package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// oracle replaces a model. Its answer is the model's name and the system message of the agent. It blocks
// calls whose prompt contains "wait" until they are released.
type oracle struct {
	asked chan string // models that wait
	gate  chan struct{}
}

func (o *oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	role := ""
	for _, m := range q.Messages {
		if m.Role == "system" {
			role, _, _ = strings.Cut(m.Content, "\n")
		} else if strings.Contains(m.Content, "wait here") {
			select {
			case o.asked <- q.Model:
			case <-r.Context().Done():
				return
			}
			select {
			case <-o.gate:
			case <-r.Context().Done():
				return
			}
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(
		w,
		`data: {"model":%q,"choices":[{"index":0,"delta":{"content":"I am %s on %s"},"finish_reason":"stop"}]}`+"\n\n",
		q.Model,
		role,
		q.Model,
	)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// hangup sends SIGHUP and returns the audit record of the reload.
func (d *daemon) hangup(t *testing.T, ctx context.Context) domain.AuditEvent {
	t.Helper()
	newest := func() (e domain.AuditEvent) {
		list, err := d.api.AuditEvents(ctx, domain.AuditFilter{Action: "config.reload", Page: domain.Page{Limit: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) > 0 {
			e = list.Items[0]
		}
		return e
	}
	before := newest().Seq
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for {
		if e := newest(); e.Seq > before {
			return e
		}
		select {
		case <-ctx.Done():
			t.Fatal("the signal leaves no record")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// O13: A configuration is applied while runs continue. An active step ends with its configuration,
// and the next step of the same run uses the new one. Plans may name new entries, and limits and
// rules are the new ones. Settings that need a restart are named and wait. A configuration with an
// error changes nothing, and the error has its position.
func TestAConfigurationIsReloadedWhileRunsContinue(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := &oracle{asked: make(chan string), gate: make(chan struct{})}
	side := httptest.NewServer(o)
	t.Cleanup(side.Close)
	dir := t.TempDir()
	data, path := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "URL", side.URL+"/v1")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
providers: {side: {type: openai, base_url: "URL", model: m-old}}
agents: [{id: clerk, system_prompt: the old clerk}]
engine: {max_running: 3}
retention: {completed: 90d}
`)
	d := start(t, build(t), data, path)
	defer d.kill(t)
	save := func(src string) error {
		_, _, _, _, err := d.api.SavePlan(ctx, []byte(src), planner.FormatYAML, "", "")
		return err
	}
	const two = "id: two\nnodes:\n  first: {type: agent, agent: clerk, input: wait here}\n" +
		"  second: {type: agent, agent: clerk, input: go on}\nedges: [{from: first, to: second}]\n"
	const chief = "id: chief\nnodes: {a: {type: agent, agent: chief, input: hello}}\n"
	if err := save(two); err != nil {
		t.Fatal(err)
	}
	if err := save(chief); err == nil {
		t.Fatal("a plan names an agent that is not there yet")
	}
	run, err := d.api.Start(ctx, domain.StartRequest{Plan: "two"})
	if err != nil {
		t.Fatal(err)
	}
	if model := <-o.asked; model != "m-old" {
		t.Fatalf("the first node asks %s", model)
	}
	before, err := d.api.Server(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write(`
providers: {side: {type: openai, base_url: "URL", model: m-new}}
agents: [{id: clerk, system_prompt: the new clerk}, {id: chief, system_prompt: the chief}]
engine: {max_running: 7, max_nodes: 9}
retention: {completed: 30d}
backup: {every: 6h}
server: {hosts: [kairos.example]}
`)
	e := d.hangup(t, ctx)
	var detail struct{ Before, After, Changed, NextStart any }
	if err := json.Unmarshal(e.Detail, &detail); err != nil || e.Result != "ok" || detail.Before != before.ConfigSum ||
		fmt.Sprint(detail.NextStart) != "[server.hosts]" ||
		fmt.Sprint(detail.Changed) != "[agents backup engine providers retention]" {
		t.Errorf("the record: %s %s %v", e.Result, e.Detail, err)
	}
	i, err := d.api.Server(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if i.ConfigSum == before.ConfigSum || i.ConfigSum != detail.After || !slices.Equal(i.ConfigLater, []string{"server.hosts"}) ||
		i.ConfigError != "" ||
		!i.ConfigAt.After(before.ConfigAt) {
		t.Errorf("sum %s, later %v, error %q, since %s", i.ConfigSum, i.ConfigLater, i.ConfigError, i.ConfigAt)
	}
	if fmt.Sprint(i.Retention) != "[all plans: completed runs keep their journal for 30d]" ||
		!slices.ContainsFunc(i.Jobs, func(j domain.Job) bool { return j.Name == "backup" && j.Every.Duration() == 6*time.Hour }) {
		t.Errorf("retention %q, jobs %+v", i.Retention, i.Jobs)
	}
	if v, err := d.api.HealthMetrics(ctx); err != nil || v.Slots != 7 || v.NodeSlots != 9 {
		t.Errorf("slots %d and %d: %v", v.Slots, v.NodeSlots, err)
	}
	if err := save(chief); err != nil {
		t.Errorf("a plan may not name the new agent: %v", err)
	}
	o.gate <- struct{}{}
	if err := follow(ctx, d.api, run.ID, func(r domain.Run) bool { return r.Status.Final() }); err != nil {
		t.Fatal(err)
	}
	outputs := func(id string) map[string]string {
		journal, err := d.api.Journal(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, row := range journal {
			if row.Kind == domain.EntryResult {
				out[row.Node] = string(row.Output)
			}
		}
		return out
	}
	if got := outputs(run.ID); got["first"] != `"I am the old clerk on m-old"` || got["second"] != `"I am the new clerk on m-new"` {
		t.Errorf("the run that began before: %v", got)
	}
	once := func(plan string) string {
		r, err := d.api.Start(ctx, domain.StartRequest{Plan: plan})
		if err == nil {
			err = follow(ctx, d.api, r.ID, func(r domain.Run) bool { return r.Status.Final() })
		}
		if err != nil {
			t.Fatal(err)
		}
		return outputs(r.ID)["a"]
	}
	if got := once("chief"); got != `"I am the chief on m-new"` {
		t.Errorf("a new run: %s", got)
	}

	for _, c := range []struct{ name, text, want string }{
		{"a key that is none", "agents: []\nengine: {max_runing: 3}\n", "max_runing"},
		{"a secret that cannot be read", "agents: []\nsecrets: {K: {file: /nowhere/k, tools: [t]}}\n", "/nowhere/k"},
		{"a certificate that cannot be read",
			"server: {tls_cert: a, tls_key: b}\nproviders: {side: {type: scripted, file: nowhere.yaml}}\n", "nowhere.yaml"},
		{"a directory of files that is none", "tools: {files: {roots: [/nowhere/at/all]}}\n", "/nowhere/at/all"},
	} {
		write(c.text)
		if e := d.hangup(t, ctx); e.Result != "failed" || !strings.Contains(e.Reason, c.want) {
			t.Errorf("%s: the record says %s %q", c.name, e.Result, e.Reason)
		}
		now, err := d.api.Server(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(now.ConfigError, c.want) || now.ConfigSum != i.ConfigSum || !slices.Equal(now.Retention, i.Retention) ||
			!now.ConfigAt.Equal(i.ConfigAt) {
			t.Errorf("%s: %q, sum %s, retention %v", c.name, now.ConfigError, now.ConfigSum, now.Retention)
		}
		if got := once("chief"); got != `"I am the chief on m-new"` {
			t.Errorf("%s: a run after that: %s", c.name, got)
		}
	}
	write("providers: {side: {type: openai, base_url: \"URL\", model: m-new}}\n")
	if e := d.hangup(t, ctx); e.Result != "ok" {
		t.Errorf("it was mended: %s %s", e.Result, e.Reason)
	}
	if i, err = d.api.Server(ctx); err != nil || i.ConfigError != "" || len(i.ConfigLater) > 0 || len(i.Retention) > 0 {
		t.Errorf("after it was mended: %q %v %v %v", i.ConfigError, i.ConfigLater, i.Retention, err)
	}

	// Names that the next node of a run uses can be removed and added again.
	const clerk = "providers: {side: {type: openai, base_url: \"URL\", model: m}}\nagents: [{id: clerk, system_prompt: the clerk}]\n"
	write(clerk)
	if e := d.hangup(t, ctx); e.Result != "ok" {
		t.Fatalf("the clerk comes back: %s", e.Reason)
	}
	if run, err = d.api.Start(ctx, domain.StartRequest{Plan: "two"}); err != nil {
		t.Fatal(err)
	}
	<-o.asked
	write(strings.ReplaceAll(clerk, "clerk", "porter"))
	if e := d.hangup(t, ctx); e.Result != "ok" {
		t.Fatalf("the clerk goes: %s", e.Reason)
	}
	o.gate <- struct{}{}
	if err := follow(ctx, d.api, run.ID, func(r domain.Run) bool { return r.Status.Final() }); err != nil {
		t.Fatal(err)
	}
	if run, err = d.api.FindRun(ctx, run.ID); err != nil || run.Status != domain.RunFailed || run.Error.Node != "second" ||
		run.Error.Code != "unknown_agent" {
		t.Fatalf("the run whose agent has gone: %s %+v %v", run.Status, run.Error, err)
	}
	write(clerk)
	if e := d.hangup(t, ctx); e.Result != "ok" {
		t.Fatalf("the clerk comes back: %s", e.Reason)
	}
	if _, err := d.api.Act(ctx, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume}); err != nil {
		t.Fatal(err)
	}
	if err := follow(ctx, d.api, run.ID, func(r domain.Run) bool { return r.Status == domain.RunCompleted }); err != nil {
		t.Fatal(err)
	}
	if got := outputs(run.ID); got["second"] != `"I am the clerk on m"` {
		t.Errorf("the run that was resumed: %v", got)
	}
}

// O13: However often the configuration changes, no run is lost, fails, or is executed twice.
// Hundreds of signals arrive while runs continue, with agents, limits, and tools that change each
// time, and a tool server that changes every other time.
func TestManyReloadsLoseNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var mu sync.Mutex
	effects := map[string]int{}
	side := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		effects[r.Header.Get("Idempotency-Key")]++
	}))
	t.Cleanup(side.Close)
	crm := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "crm", Version: "1"}, nil)
		sdk.AddTool(
			s,
			&sdk.Tool{Name: "find", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return nil, map[string]any{"name": "somebody"}, nil
			},
		)
		return s
	}, nil))
	t.Cleanup(crm.Close)
	dir := t.TempDir()
	data, path := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	write := func(n int) {
		t.Helper()
		text := fmt.Sprintf(
			"tools: {http: {allow_private: [127.0.0.1], timeout: %ds}}\nengine: {max_running: %d, max_nodes: %d}\n"+
				"agents: [{id: a%d}]\nretention: {keep: %d}\nmcp: {servers: {crm: {url: %q, trust_annotations: true, timeout: %ds}}}\n",
			10+n%5,
			1+n%7,
			1+n%5,
			n,
			1000+n,
			crm.URL,
			20+n/2%2,
		)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil { // the file is replaced atomically
			t.Fatal(err)
		}
	}
	write(0)
	d := start(t, build(t), data, path)
	defer d.kill(t)
	plan := fmt.Sprintf(
		"id: calls\nnodes:\n  a: {type: http, input: {method: POST, url: %q}}\n  b: {type: set, input: \"${output.a}\"}\n"+
			"  c: {type: http, input: {method: POST, url: %q}}\n  d: {type: crm.find, input: {}}\n"+
			"edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}]\n",
		side.URL,
		side.URL,
	)
	if _, _, _, _, err := d.api.SavePlan(ctx, []byte(plan), planner.FormatYAML, "", ""); err != nil {
		t.Fatal(err)
	}
	var ids []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			r, err := d.api.Start(ctx, domain.StartRequest{Plan: "calls"})
			if err != nil {
				t.Errorf("start: %v", err)
				return
			}
			ids = append(ids, r.ID)
		}
	}()
	last := 0
	for going := true; going; {
		last++
		write(last)
		for range 2 { // some signals arrive while another is handled
			if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
		if e := d.hangup(t, ctx); e.Result != "ok" {
			t.Fatalf("the configuration is not taken up: %s", e.Reason)
		}
		select {
		case <-done:
			going = last < 70
		default:
		}
	}
	<-done
	for _, id := range ids {
		if err := follow(ctx, d.api, id, func(r domain.Run) bool { return r.Status.Final() }); err != nil {
			t.Fatal(err)
		}
		if r, err := d.api.FindRun(ctx, id); err != nil || r.Status != domain.RunCompleted {
			t.Fatalf("run %s is %s: %+v %v", id, r.Status, r.Error, err)
		}
	}
	for newest := fmt.Sprintf("a%d", last); ; { // a signal that arrives while another is handled is handled afterwards
		agents, err := d.api.Agents(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(agents, func(a domain.AgentInfo) bool { return a.ID == newest }) {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(effects) != 2*len(ids) || len(ids) != 200 {
		t.Errorf("%d effects of %d runs", len(effects), len(ids))
	}
	for key, n := range effects {
		if n != 1 {
			t.Errorf("%s was done %d times", key, n)
		}
	}
}
