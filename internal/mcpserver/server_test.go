package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/mcpserver"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

var root = domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}

// server is a real store, engine, and API with the MCP server on loopback.
type server struct {
	*apptest.World
	t      *testing.T
	auth   apptest.Accounts
	api    *api.API
	http   *httptest.Server
	begin  chan struct{} // lets steps of type slow end
	events chan string   // messages of progress
}

func serve(t *testing.T, wait time.Duration) *server {
	t.Helper()
	s := &server{t: t, begin: make(chan struct{}), events: make(chan string, 100)}
	reg := enginetest.NewRegistry().Tool("slow", walk.EffectRead, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		select {
		case <-s.begin:
			return engine.Result{Output: "slept"}, nil
		case <-ctx.Done():
			return engine.Result{}, ctx.Err()
		}
	})
	for name, class := range map[string]walk.Effect{"pay": walk.EffectUnsafe, "post": walk.EffectIdempotent} {
		reg.Tool(name, class, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{}, domain.Errorf(domain.CodeInvalid, "the bank is closed")
		})
	}
	s.World = apptest.With(t, storetest.Open(t), reg)
	s.auth = apptest.Accounts{Service: s.Config.Auth, Of: s.Accounts, Keys: s.Tokens, Reader: s.Store}
	var err error
	s.api, err = api.New(api.Config{App: s.App, Reader: s.Store, Engine: s.Engine.Engine, Principals: s.auth,
		MCP: mcpserver.New(mcpserver.Config{App: s.App, Wait: wait})})
	if err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewServer(s.api)
	t.Cleanup(func() { s.api.Close(); s.http.Close() })
	return s
}

// token creates a token of an operator.
func (s *server) token(scopes ...string) string {
	s.t.Helper()
	text, _, err := s.auth.CreateToken(s.t.Context(), root, "agent", domain.RoleOperator, scopes, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens a session of a client with a token.
func (s *server) connect(token string) *mcp.ClientSession {
	s.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { s.events <- r.Params.Message },
	})
	c, err := client.Connect(s.t.Context(), &mcp.StreamableClientTransport{Endpoint: s.http.URL + api.MCPPath,
		HTTPClient: &http.Client{Transport: bearer{token}}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// called is the result of a call.
type called struct {
	text    string
	isError bool
	json    map[string]any
}

func (s *server) call(c *mcp.ClientSession, p *mcp.CallToolParams) called {
	s.t.Helper()
	r, err := c.CallTool(s.t.Context(), p)
	if err != nil {
		s.t.Fatalf("%s: %v", p.Name, err)
	}
	out := called{isError: r.IsError}
	for _, part := range r.Content {
		out.text += part.(*mcp.TextContent).Text + "\n"
	}
	if text, err := json.Marshal(r.StructuredContent); err == nil {
		_ = json.Unmarshal(text, &out.json)
	}
	return out
}

func (c called) has(t *testing.T, isError bool, texts ...string) {
	t.Helper()
	if c.isError != isError {
		t.Errorf("an error: %v, want %v: %s", c.isError, isError, c.text)
	}
	for _, text := range texts {
		if !strings.Contains(c.text, text) {
			t.Errorf("got %q, want %q", c.text, text)
		}
	}
}

func names(t *testing.T, c *mcp.ClientSession) (list []string, tools map[string]*mcp.Tool) {
	t.Helper()
	r, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools = map[string]*mcp.Tool{}
	if r.CacheScope != "private" {
		t.Errorf("the tools of one principal may be cached for others: %q", r.CacheScope)
	}
	for _, tool := range r.Tools {
		list, tools[tool.Name] = append(list, tool.Name), tool
	}
	return list, tools
}

const (
	greet = `id: greet
name: Greeting
description: Greets a person.
expose: [mcp]
input: {type: object, required: [name], properties: {name: {type: string}}}
nodes: {a: {type: set, input: "hello ${input.name}"}}`
	sleep = "id: sleep\nexpose: [mcp]\nnodes: {a: {type: noop}, b: {type: slow, needs: [a]}}"
	pay   = "id: pay\nexpose: [mcp]\nnodes: {a: {type: pay}}"
	post  = "id: post\nexpose: [mcp]\nnodes: {a: {type: post, retry: {max_attempts: 1}}}"
	ask   = "id: ask\nexpose: [mcp]\nnodes: {ok: {type: approval, input: {message: 'Pay 5 euros?'}}}"
	text  = "id: echo\nexpose: [mcp]\ninput: {type: string}\nnodes: {a: {type: set, input: \"${input}!\"}}"
	quiet = "id: quiet\nnodes: {a: {type: noop}}"
)

func TestPlansAreListedWithTheirSchemas(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	for _, source := range []string{greet, pay, text, quiet} {
		s.Engine.Save(source)
	}
	list, tools := names(t, s.connect(s.token()))
	const want = "echo greet kairos_act kairos_await_run kairos_list_runs kairos_preview_action kairos_show_run pay"
	if got := strings.Join(list, " "); got != want {
		t.Errorf("the tools are %s", got)
	}
	tool := tools["greet"]
	schema, _ := json.Marshal(tool.InputSchema)
	if tool.Description != "Greets a person." || tool.Title != "Greeting" || !strings.Contains(string(schema), `"required":["name"]`) {
		t.Errorf("got %+v with %s", tool, schema)
	}
	if a := tool.Annotations; !a.ReadOnlyHint || !a.IdempotentHint || *a.DestructiveHint {
		t.Errorf("hints of a plan without side effects: %+v", a)
	}
	if a := tools["pay"].Annotations; a.ReadOnlyHint || a.IdempotentHint || !*a.DestructiveHint {
		t.Errorf("hints of a plan with a non-idempotent step: %+v", a)
	}
	if list, _ := names(t, s.connect(s.token("mcp:greet"))); strings.Join(list, " ") != "greet kairos_await_run" {
		t.Errorf("a token for one plan has the tools %v", list)
	}
	if list, _ := names(t, s.connect(s.token("runs:read"))); strings.Join(list, " ") !=
		"kairos_list_runs kairos_preview_action kairos_show_run" {
		t.Errorf("a token without the scope mcp has the tools %v", list)
	}
}

func TestACallReturnsTheOutput(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	for _, source := range []string{greet, pay, post, text, quiet} {
		s.Engine.Save(source)
	}
	c := s.connect(s.token("mcp"))
	done := s.call(c, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ada"}})
	done.has(t, false, "completed", "hello Ada")
	if done.json["status"] != "completed" || done.json["output"] != "hello Ada" || done.json["plan"] != "greet" {
		t.Errorf("got %v", done.json)
	}
	run, err := s.Store.FindRun(t.Context(), done.json["run"].(string))
	if err != nil || run.Origin != "mcp" || !strings.HasPrefix(run.Actor, "token agent ") {
		t.Errorf("the run is of %q by %q, %v", run.Actor, run.Origin, err)
	}
	s.call(c, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": 5}}).has(t, true, "input")
	s.call(c, &mcp.CallToolParams{Name: "greet"}).has(t, true, "input")
	s.call(c, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"input": "x"}}).has(t, false, "x!")
	s.call(c, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"in": "x"}}).has(t, true, "the argument input is missing")
	s.call(c, &mcp.CallToolParams{Name: "post"}).has(t, true, "Step a failed", "the bank is closed")
	s.call(c, &mcp.CallToolParams{Name: "pay"}).has(t, false, "It waits: in_doubt at step a", "Only a person can decide this")
	for _, name := range []string{"quiet", "nothing"} {
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		if err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("a call of %s: %v", name, err)
		}
	}
}

func TestAKeyStartsOneRun(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	s.Engine.Save(greet)
	c := s.connect(s.token("mcp"))
	call := func(key any) called {
		return s.call(c, &mcp.CallToolParams{Meta: mcp.Meta{domain.MCPKey: key}, Name: "greet",
			Arguments: map[string]any{"name": "Ada"}})
	}
	if first, second := call("k1"), call("k1"); first.json["run"] != second.json["run"] || first.json["run"] == nil {
		t.Errorf("two runs with one key: %v and %v", first.json, second.json)
	}
	for _, key := range []any{"", 7, "a b", strings.Repeat("k", 129)} {
		call(key).has(t, true, "kairosd/idempotencyKey must be a text of 1 to 128")
	}
}

func TestALongRunIsAwaitedWithProgress(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Millisecond)
	s.Engine.Save(sleep)
	c := s.connect(s.token("mcp"))
	handle := s.call(c, &mcp.CallToolParams{Name: "sleep"})
	handle.has(t, false, "has not ended", "kairos_await_run")
	run, _ := handle.json["run"].(string)
	patient := serveOn(s, time.Minute).connect(s.token("mcp", "runs:read"))
	p := &mcp.CallToolParams{Name: "kairos_await_run", Arguments: map[string]any{"run": run}}
	p.SetProgressToken("p1")
	ended := make(chan called, 1)
	go func() { ended <- s.call(patient, p) }()
	select {
	case <-s.events: // the first step has ended
	case early := <-ended:
		t.Fatalf("the call ended early: %+v", early)
	}
	s.begin <- struct{}{}
	(<-ended).has(t, false, "completed", "slept")
	s.call(c, p).has(t, false, "completed") // a run that has ended is not awaited
}

// serveOn is another MCP server with the same data.
func serveOn(s *server, wait time.Duration) *server {
	s.t.Helper()
	other := *s
	var err error
	other.api, err = api.New(api.Config{App: s.App, Reader: s.Store, Engine: s.Engine.Engine, Principals: s.auth,
		MCP: mcpserver.New(mcpserver.Config{App: s.App, Wait: wait})})
	if err != nil {
		s.t.Fatal(err)
	}
	other.http = httptest.NewServer(other.api)
	s.t.Cleanup(func() { other.api.Close(); other.http.Close() })
	return &other
}

func TestAnApprovalIsOfAPerson(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	s.Engine.Save(ask)
	c := s.connect(s.token())
	waits := s.call(c, &mcp.CallToolParams{Name: "ask"})
	waits.has(t, false, "approval", "Pay 5 euros?", "Only a person can decide this. You cannot.", s.http.URL+"/runs/")
	if waits.json["status"] != "waiting" || waits.json["waitReason"] != "approval" {
		t.Errorf("got %v", waits.json)
	}
}

func TestRunsAreListedExplainedAndPreviewed(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	s.Engine.Save(post)
	c := s.connect(s.token("mcp", "runs:read"))
	run, _ := s.call(c, &mcp.CallToolParams{Name: "post"}).json["run"].(string)
	use := func(tool string, args map[string]any) called {
		return s.call(c, &mcp.CallToolParams{Name: "kairos_" + tool, Arguments: args})
	}
	use("list_runs", map[string]any{"filter": "status:failed"}).has(t, false, run, "post")
	use("list_runs", map[string]any{"filter": "state:failed"}).has(t, true, `unknown filter "state"`)
	use("list_runs", map[string]any{"fliter": "x"}).has(t, true, "fliter")
	use("show_run", map[string]any{"run": run}).has(t, false, "the bank is closed", "Runs that fail this way since")
	use("show_run", map[string]any{"run": "zzzz"}).has(t, true, `run "zzzz" not found`)
	use("preview_action", map[string]any{"run": run, "action": "rerun"}).has(t, false, "Side effect: a (idempotent)", "Digest: ",
		"/runs/"+run+"/rerun")
	use("preview_action", map[string]any{"run": run, "action": "delete"}).has(t, true, `unknown action "delete"`)
}

func TestAConfirmedActionIsCarriedOut(t *testing.T) {
	t.Parallel()
	s := serve(t, time.Minute)
	s.Engine.Save(post)
	c := s.connect(s.token("mcp", "runs:read"))
	run, _ := s.call(c, &mcp.CallToolParams{Name: "post"}).json["run"].(string)
	args := map[string]any{"run": run, "action": "rerun"}
	preview := s.call(c, &mcp.CallToolParams{Name: "kairos_preview_action", Arguments: args})
	digest, _ := preview.json["preview"].(map[string]any)["digest"].(string)
	preview.has(t, false, "kairos mcp confirm "+run+" rerun "+digest, "/runs/"+run+"/confirm?action=rerun&digest="+digest)
	args["digest"] = digest
	s.call(c, &mcp.CallToolParams{Name: "kairos_act", Arguments: args}).has(t, true, "no person has confirmed this action",
		"in the inbox now")
	list, err := s.Runs.Requested(t.Context(), root)
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].By, "token agent") {
		t.Errorf("the requests: %+v, %v", list, err)
	}
	_, err = s.Runs.Confirm(t.Context(), app.ActRequest{Meta: app.Meta{By: root},
		ActionRequest: domain.ActionRequest{Run: run, Action: domain.ActionRerun, Digest: digest}})
	if err != nil {
		t.Fatal(err)
	}
	done := s.call(c, &mcp.CallToolParams{Name: "kairos_act", Arguments: args})
	done.has(t, false, "Done: rerun.")
	if done.json["run"] == run || done.json["plan"] != "post" {
		t.Errorf("got %v", done.json)
	}
}
