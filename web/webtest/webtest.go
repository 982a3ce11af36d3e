// Package webtest starts a whole server for tests of pages: a real store, engine, and auth service
// behind the dashboard, with plans and runs in every state that pages show.
package webtest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/ui"
)

// Password is the password of all test users.
const Password = "correct horse battery"

// Site is a running server.
type Site struct {
	URL    string
	Store  *store.Store
	Engine *engine.Engine
	App    *app.App
	Auth   apptest.Accounts
	Bulk   apptest.Bulk
	Config app.Config // configuration of App
	Drafts apptest.Drafts
	// Setup is the one-time secret of a server without users.
	Setup string
	Admin domain.Actor

	// Tools are the tools of the server, including those of the MCP server crm.
	Tools *tool.Box

	crm *crmServer
	// Web is the configuration of the dashboard, for tests that build another one.
	Web web.Config

	site   *web.Server
	api    *api.API
	System *System
	// Demo is the demonstration. Tests set its state.
	Demo *Demo
}

// New starts a server. It stops with the test.
func New(tb testing.TB) *Site {
	tb.Helper()
	return NewOn(tb, storetest.Open(tb))
}

// NewTolerant starts a server whose circuits never open automatically, however often a service
// fails. It stops with the test.
func NewTolerant(tb testing.TB) *Site {
	tb.Helper()
	return build(tb, storetest.Open(tb), auth.Config{}, map[string]circuit.Settings{"*": {Failures: -1}}, false)
}

// NewTwoPeople starts a server on which users cannot approve runs that they started. It stops with
// the test.
func NewTwoPeople(tb testing.TB) *Site {
	tb.Helper()
	return build(tb, storetest.Open(tb), auth.Config{}, nil, true)
}

// NewOn starts a server on a store. It stops with the test.
func NewOn(tb testing.TB, on *store.Store) *Site {
	tb.Helper()
	return NewWith(tb, on, auth.Config{})
}

// NewWith starts a server with the given authentication settings. It stops with the test.
func NewWith(tb testing.TB, on *store.Store, access auth.Config) *Site {
	tb.Helper()
	return build(tb, on, access, nil, false)
}

func build(tb testing.TB, on *store.Store, access auth.Config, breakers map[string]circuit.Settings, twoPeople bool) *Site {
	tb.Helper()
	s := &Site{Store: on, Admin: domain.Actor{Name: "marta", Role: domain.RoleAdmin, Source: "ui"}}
	s.crm = newCRM(tb)
	var err error
	if s.Tools, err = tool.NewBox(context.Background(),
		tool.BoxOptions{Tools: tool.Config{HTTP: tool.HTTPConfig{AllowPrivate: []string{"127.0.0.1"}}, Breakers: breakers}, Pins: on,
			Servers: map[string]mcp.Server{"crm": {URL: s.crm.url, TrustAnnotations: true},
				"files": {Command: []string{"/usr/local/bin/mcp-files"}}}}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Tools.Close)
	registry := newCatalog(tb, s.Tools)
	registry.SetSkills(
		map[string]planner.SkillInfo{"collect": {Tool: "set"}, "notify": {Tool: "http"}, "brew": {Tool: "set"}, "garnish": {Tool: "http"}},
	)
	people := func(ctx context.Context, name string) ([]string, error) { return auth.People(ctx, on, name) }
	if s.Engine, err = engine.New(engine.Config{Store: s.Store, Registry: registry,
		Options: engine.Options{StopGrace: time.Second, SeparateApprovals: twoPeople, People: people}}); err != nil {
		tb.Fatal(err)
	}
	s.Store.OnCommit(s.Engine.HandleCommit)
	if err := s.Engine.Open(context.Background()); err != nil {
		tb.Fatal(err)
	}
	access.Store, access.Audit = s.Store, s.Store
	if s.Auth.Service, err = auth.New(access); err != nil {
		tb.Fatal(err)
	}
	if s.Setup, err = s.Auth.BeginSetup(context.Background()); err != nil {
		tb.Fatal(err)
	}
	s.System, s.Demo = &System{}, &Demo{}
	s.Bulk.Service = bulk.New(bulk.Config{Store: s.Store, Engine: s.Engine, Tools: s.Tools.Tools, Host: s.Tools.Host})
	planners := newPlanner(s.Engine)
	s.Drafts.Service = draft.New(draft.Config{Store: s.Store, Planner: planners, Engine: s.Engine})
	config := apptest.Config(tb, s.Store, s.Engine)
	config.Drafts, config.Planner = s.Drafts.Service, planners
	set := newSettings(tb, s.Store)
	config.Bulk, config.Tools = s.Bulk.Service, func() *tool.Box { return s.Tools }
	config.Server, config.Settings, config.Auth = server{s.System, set}, set, s.Auth.Service
	config.Demo = s.Demo
	s.App, s.Config = app.New(config), config
	s.Bulk.Of, s.Bulk.Reader = s.App.Bulk, s.Store
	s.Drafts.Of = s.App.Drafts
	s.Auth.Of, s.Auth.Keys, s.Auth.Reader = s.App.Accounts, s.App.Tokens, s.Store
	if err := s.Bulk.Open(context.Background()); err != nil {
		tb.Fatal(err)
	}
	if err := s.Drafts.Open(context.Background()); err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	public, err := api.New(
		api.Config{App: s.App, Reader: s.Store, Engine: s.Engine, Principals: s.Auth, Audit: s.Store, SessionCookies: web.SessionCookies()},
	)
	if err != nil {
		tb.Fatal(err)
	}
	s.Web = web.Config{App: s.App, TwoPeople: func() bool { return twoPeople }, People: people, Planner: planners,
		Reader: s.Store, Engine: s.Engine, Auth: s.Auth, System: s.System, Audit: s.Store, Settings: set, API: public,
		Links: web.Links{API: public.Reads}, Hosts: []string{server.Listener.Addr().String()},
		Version: "test", Idle: cmp.Or(access.IdleTimeout, auth.DefaultIdleTimeout)}
	site, err := web.New(s.Web)
	if err != nil {
		tb.Fatal(err)
	}
	server.Config.Handler = site
	s.site, s.api = site, public
	server.Start()
	s.URL = server.URL
	tb.Cleanup(func() {
		site.Close()
		public.Close()
		s.Bulk.Close()
		s.Drafts.Close()
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Engine.Stop(ctx); err != nil {
			tb.Errorf("stop engine: %v", err)
		}
	})
	return s
}

// Drafted waits until planning of a draft has ended. at is the address of the draft's page.
func (s *Site) Drafted(tb testing.TB, at string) domain.Draft {
	tb.Helper()
	id := strings.TrimPrefix(at, "/plans/drafts/")
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	events, err := s.Engine.Subscribe(ctx, 0, "")
	if err != nil {
		tb.Fatal(err)
	}
	for {
		d, err := s.Drafts.Draft(ctx, id)
		if err != nil {
			tb.Fatalf("draft %s: %v", at, err)
		}
		if d.State != domain.DraftPlanning {
			return d
		}
		if _, ok := <-events; !ok {
			tb.Fatalf("draft %s is still being planned: %+v", id, d.Progress)
		}
	}
}

// InvalidPlanWord is a word in requests that makes the model return a plan with an unknown agent.
const InvalidPlanWord = "juggle"

// scriptedModel is a planning model. It returns a valid plan, or an invalid one for [Hurdle].
type scriptedModel struct{}

func (scriptedModel) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	who := "desk"
	if strings.Contains(r.Messages[len(r.Messages)-1].Text+r.Messages[max(len(r.Messages)-3, 0)].Text, InvalidPlanWord) {
		who = "juggler"
	}
	return llm.Response{
		Usage: llm.Usage{InputTokens: 100, OutputTokens: 20},
		Text: `{"summary": "Answer the customer", "requiresMultiStep": true, "reasoning": "one has to read, one to write",
		"assumptions": ["the customer reads English"], "steps": [{"agentId": "` + who +
			`", "task": "Read what the customer wrote", "reasoning": "the desk has them"},
		{"agentId": "desk", "task": "Write the answer"}]}`,
	}, nil
}

// newPlanner returns a rule-based planner for plans that collect figures and send messages. Sending
// is not idempotent. Two providers also plan by model on request.
func newPlanner(e *engine.Engine) *planning.Service {
	planners := []planning.Agent{{ID: "desk", Name: "Desk", Description: "Answers customers.", Selectable: true}}
	by := func(name string) *planning.Generator {
		return &planning.Generator{Provider: scriptedModel{}, Name: name, Model: "m1", Agents: planners}
	}
	return planning.NewService(
		planning.New(
			planning.Config{
				Mode:         planning.ByRules,
				DefaultAgent: "general",
				Agents:       planners,
				Generators:   map[string]*planning.Generator{"script": by("script"), "spare": by("spare")},
				Skills: []planning.Skill{
					{
						ID:              "collect",
						Keywords:        map[string][]string{"en": {"collect"}},
						Produces:        []string{"figures"},
						EstimatedMs:     1500,
						EstimatedTokens: 30,
						Tool:            "set",
						Defaults:        map[string]any{"sum": 42},
					},
					{
						ID:          "notify",
						Keywords:    map[string][]string{"en": {"notify"}},
						DependsOn:   []string{"collect"},
						EstimatedMs: 500,
						Tool:        "http",
						Defaults:    map[string]any{"method": "POST", "url": "http://127.0.0.1:9/x"},
					},
					{
						ID:              "brew",
						Keywords:        map[string][]string{"en": {"brew"}},
						Implies:         []string{"garnish"},
						EstimatedMs:     100,
						EstimatedTokens: 10,
						Tool:            "set",
						Defaults:        map[string]any{"tea": "hot"},
					},
					{
						ID:              "garnish",
						DependsOn:       []string{"brew"},
						EstimatedMs:     100,
						EstimatedTokens: 20,
						Tool:            "http",
						Defaults:        map[string]any{"method": "POST", "url": "http://127.0.0.1:9/lemon"},
					},
				},
			},
		),
		e,
		nil,
	)
}

// Instance stores plans and runs them. It is an engine in this process, or a client of a real
// daemon.
type Instance interface {
	SavePlan(
		ctx context.Context,
		actor domain.Actor,
		src []byte,
		f planner.Format,
		origin, reason string,
	) (domain.Plan, domain.Version, bool, planner.Problems, error)
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	Wait(ctx context.Context, run string) (domain.Run, error)
}

// waitTimeout limits how long a run may take. It is long because other tests run at the same time.
const waitTimeout = time.Minute

// Plan stores a plan.
func Plan(tb testing.TB, on Instance, admin domain.Actor, src string) domain.Version {
	tb.Helper()
	_, v, _, problems, err := on.SavePlan(context.Background(), admin, []byte(src), planner.FormatYAML, "upload", "")
	if err != nil {
		tb.Fatalf("store plan: %v %v", err, problems)
	}
	return v
}

// Run starts a plan and waits until its run is no longer active.
func Run(tb testing.TB, on Instance, admin domain.Actor, plan, input string) domain.Run {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	r, err := on.Start(ctx, admin, domain.StartRequest{Plan: plan, Input: domain.RawJSON(input), Labels: map[string]string{"env": "test"}})
	if err != nil {
		tb.Fatalf("start %s: %v", plan, err)
	}
	if r, err = on.Wait(ctx, r.ID); err != nil {
		tb.Fatalf("wait for %s: %v", plan, err)
	}
	return r
}

// Plan stores a plan.
func (s *Site) Plan(tb testing.TB, src string) domain.Version {
	tb.Helper()
	return Plan(tb, s.Engine, s.Admin, src)
}

// Run starts a plan and waits until its run is no longer active.
func (s *Site) Run(tb testing.TB, plan, input string) domain.Run {
	tb.Helper()
	return Run(tb, s.Engine, s.Admin, plan, input)
}

// Seeded holds the runs that Seed creates, and what Furnish adds.
type Seeded struct {
	Completed, Failed, Waiting, InDoubt, Hostile domain.Run
	// Approval, Draft, Bulk, and Waiter are IDs of what Furnish adds. Waiter is a bulk operation
	// that waits for a circuit.
	Approval, Draft, Bulk, Waiter string
	// Furnish adds Damaged, whose journal is damaged, Halved, which has lost its input, and
	// TakenBack, the ID of a withdrawn approval request.
	Damaged, Halved domain.Run
	TakenBack       string
	// Delivery is the ID of a delivery to a hook, Signal that of a signal, and Waits a run that waits
	// for a signal. Furnish adds them.
	Delivery, Signal string
	Waits            domain.Run
	// Handoff is a handoff from the desk to the accountant. Furnish adds it.
	Handoff domain.HandoffSummary
}

// Hostile is text that pages must not interpret as markup.
const Hostile = `<script>alert(1)</script><img src=x onerror=alert(2)> "&' </textarea> ` + "\u202e"

// Seed creates plans and runs in the states that pages show.
func (s *Site) Seed(tb testing.TB) Seeded {
	tb.Helper()
	return Seed(tb, s.Engine, s.Admin)
}

// Seed creates plans and runs in the states that pages show.
func Seed(tb testing.TB, on Instance, admin domain.Actor) Seeded {
	tb.Helper()
	plan := func(src string) { tb.Helper(); Plan(tb, on, admin, src) }
	run := func(plan, input string) domain.Run { tb.Helper(); return Run(tb, on, admin, plan, input) }
	plan(`
id: report
name: Report
nodes:
  list: {type: set, input: {items: [1, 2, 3]}}
  square: {type: calculator, needs: [list], foreach: "${output.list.items}", input: {expression: "x*x", values: {x: "${item}"}}}
  end: {type: set, needs: [square], input: {squares: "${output.square}"}}
`)
	plan(`
id: ledger
name: Ledger
input: {type: object, properties: {amount: {type: number}, currency: {type: string, enum: [EUR, USD]}}}
nodes:
  check: {type: decision}
  post: {type: http, effect: read, retry: {max_attempts: 2, backoff: [10ms]}, input: {url: "http://127.0.0.1:9/x"}}
  done: {type: log, input: "done"}
edges:
  - {from: check, to: post, condition: "expr: input.amount > 10"}
  - {from: check, to: done, condition: default}
  - {from: post, to: done}
`)
	plan(`
id: refund
nodes:
  ask: {type: approval, input: {message: "Refund 240?", form: {type: object, properties: {note: {type: string}}}}}
  pay: {type: log, input: "paid"}
edges: [{from: ask, to: pay}]
`)
	plan(
		"id: echo\nnodes:\n  say: {type: set, input: \"${input}\"}\n" +
			"  fail: {type: json, input: {value: 1, path: \"${input}\"}}\nedges: [{from: say, to: fail}]\n",
	)
	// The response of a payment is lost, so only a person can find out whether it happened.
	bank := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	tb.Cleanup(bank.Close)
	plan(fmt.Sprintf(`
id: payment
nodes:
  pay: {type: http, effect: unsafe, input: {method: POST, url: "%s/payments", body: {amount: 240}}}
  book: {type: set, input: {booked: "${last}"}}
edges: [{from: pay, to: book}]
`, bank.URL))
	hostile, err := jsonvalue.Encode(Hostile)
	if err != nil {
		tb.Fatal(err)
	}
	return Seeded{
		Completed: run("report", `null`),
		Failed:    run("ledger", `{"amount": 50, "currency": "EUR"}`),
		Waiting:   run("refund", `null`),
		InDoubt:   run("payment", `null`),
		Hostile:   run("echo", string(hostile)),
	}
}

// Browser is a client that keeps cookies and sends the headers of a browser.
type Browser struct {
	tb   testing.TB
	site *Site
	http http.Client
}

// Fragments returns the fragments of all pages.
func (s *Site) Fragments() []ui.Fragment { return s.site.Fragments() }

// Permissions returns the API's routes with their required permissions.
func (s *Site) Permissions() []api.Permission { return s.api.Permissions() }

// Audited returns the actions in the audit log.
func (s *Site) Audited(tb testing.TB) map[string]bool {
	tb.Helper()
	events, err := s.Store.EventsAfter(context.Background(), 0, "", 1000)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]bool{}
	for _, e := range events {
		out[e.Action] = true
	}
	return out
}

// Expired returns an API token of an admin that has just expired.
func (s *Site) Expired(tb testing.TB) string {
	tb.Helper()
	past, err := auth.New(auth.Config{Store: s.Store, Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if err != nil {
		tb.Fatal(err)
	}
	_, tokens := app.AccountsOf(s.Store, past, func() time.Time { return time.Now().Add(-time.Hour) })
	text, _, err := tokens.Create(
		context.Background(),
		app.NewToken{Meta: app.Meta{By: s.Admin}, Name: "expired", Role: domain.RoleAdmin, Lifetime: time.Minute},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// NewLinked returns a second auth service for the same users, with the identity provider
// https://login.example.
func NewLinked(tb testing.TB, s *Site) apptest.Accounts {
	tb.Helper()
	linked, err := auth.New(auth.Config{Store: s.Store, Audit: s.Store, Issuer: "https://login.example"})
	if err != nil {
		tb.Fatal(err)
	}
	users, tokens := app.AccountsOf(s.Store, linked, time.Now)
	return apptest.Accounts{Service: linked, Of: users, Keys: tokens, Reader: s.Store}
}
