// Package enginetest runs engines on real stores with scripted handlers.
package enginetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Operator has all permissions of an operator and an author.
var Operator = domain.Actor{Name: "marta", Role: domain.RoleAuthor, Source: "test"}

// Registry is a registry of scripted handlers. The type of a node is the name of its handler. It
// records every call.
type Registry struct {
	// Replanner, if set before the engine is opened, creates new versions.
	Replanner engine.Replanner
	// Callback, if set before the engine is opened, returns the callback addresses of runs.
	Callback engine.Callback
	// Before, if set, is called with the engine before it is opened.
	Before func(*engine.Engine)

	mu       sync.Mutex
	handlers map[string]engine.Handler
	effects  map[string]walk.Effect
	tools    map[string]bool
	calls    []Call
	silent   bool
}

// Call is one recorded attempt.
type Call struct {
	Run, Node, Key       string
	Visit, Item, Attempt int
	Input                any
}

// NewRegistry returns a registry without handlers.
func NewRegistry() *Registry {
	return &Registry{handlers: map[string]engine.Handler{}, effects: map[string]walk.Effect{}, tools: map[string]bool{}}
}

// Handle adds the handler of a node type.
func (r *Registry) Handle(typ string, effect walk.Effect, h engine.HandlerFunc) *Registry {
	r.Add(typ, effect, h)
	return r
}

// Tool adds a handler as a tool that steps can name.
func (r *Registry) Tool(name string, effect walk.Effect, h engine.HandlerFunc) *Registry {
	r.Add(name, effect, h)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tools[name] = true
	return r
}

// name returns the name under which a node's handler was added.
func name(n *walk.ProgramNode) string {
	if n.Type == walk.TypeTool {
		return n.Tool
	}
	return n.TypeName
}

// Unrecorded disables the recording of attempts, which uses memory for each attempt.
func (r *Registry) Unrecorded() *Registry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = true
	return r
}

// Add adds any handler.
func (r *Registry) Add(typ string, effect walk.Effect, h engine.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers[typ], r.effects[typ] = h, effect
}

// Calls lists the recorded attempts.
func (r *Registry) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Call(nil), r.calls...)
}

// Count returns how often a node's handler was called.
func (r *Registry) Count(node string) int {
	n := 0
	for _, c := range r.Calls() {
		if c.Node == node {
			n++
		}
	}
	return n
}

// Handler finds the handler of a node.
func (r *Registry) Handler(n *walk.ProgramNode) (engine.Handler, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.handlers[name(n)]
	if !ok {
		return nil, false
	}
	if r.silent {
		return h, true
	}
	record := engine.HandlerFunc(func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		r.mu.Lock()
		r.calls = append(r.calls, Call{c.RunID, c.Node.ID, c.IdempotencyKey, c.Visit, c.Item, c.Attempt, c.Input})
		r.mu.Unlock()
		return h.Handle(ctx, c)
	})
	if s, ok := h.(engine.Stepped); ok && s.Stepped() {
		return stepped{record}, true
	}
	return record, true
}

type stepped struct{ engine.HandlerFunc }

func (stepped) Stepped() bool { return true }

// Effect returns the side-effect class with which the type was added.
func (r *Registry) Effect(n *walk.ProgramNode, _ any) walk.Effect {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.effects[name(n)]
}

// Catalog returns the scripted types.
func (r *Registry) Catalog() *planner.Catalog {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &planner.Catalog{Types: map[string]walk.Effect{}, Tools: map[string]planner.ToolInfo{}}
	for typ, effect := range r.effects {
		if r.tools[typ] {
			c.Tools[typ] = planner.ToolInfo{Effect: effect}
			continue
		}
		c.Types[typ] = effect
	}
	return c
}

// Engine is an open engine on a real store.
type Engine struct {
	*engine.Engine
	Store    *store.Store
	Registry *Registry
	tb       testing.TB
}

// Open opens an engine on a new store. The end of the test stops it.
func Open(tb testing.TB, r *Registry) *Engine {
	tb.Helper()
	return OpenOn(tb, storetest.Open(tb), r, engine.Options{})
}

// OpenOn opens an engine on a store.
func OpenOn(tb testing.TB, s *store.Store, r *Registry, o engine.Options) *Engine {
	tb.Helper()
	return OpenWith(tb, s, s, r, o)
}

// OpenWith opens an engine with a store and a wrapper around it.
func OpenWith(tb testing.TB, s *store.Store, through engine.Store, r *Registry, o engine.Options) *Engine {
	tb.Helper()
	if o.StopGrace == 0 {
		o.StopGrace = 50 * time.Millisecond
	}
	e, err := engine.New(engine.Config{Store: through, Registry: r, Callback: r.Callback, Options: o})
	if err != nil {
		tb.Fatalf("new engine: %v", err)
	}
	if r.Replanner != nil {
		e.SetReplanner(r.Replanner)
	}
	if r.Before != nil {
		r.Before(e)
	}
	s.OnCommit(e.HandleCommit)
	if err := e.Open(context.Background()); err != nil {
		tb.Fatalf("open engine: %v", err)
	}
	t := &Engine{e, s, r, tb}
	tb.Cleanup(t.Close)
	return t
}

// Close stops the engine. Further calls have no effect.
func (e *Engine) Close() {
	e.tb.Helper()
	if err := e.Engine.Stop(context.Background()); err != nil {
		e.tb.Errorf("stop engine: %v", err)
	}
}

// Save stores a plan.
func (e *Engine) Save(src string) domain.Version {
	e.tb.Helper()
	_, v, _, problems, err := e.SavePlan(context.Background(), Operator, []byte(src), planner.FormatAuto, "upload", "")
	if err != nil {
		e.tb.Fatalf("save plan: %v %v", err, problems)
	}
	return v
}

// Run stores a plan and starts a run of it.
func (e *Engine) Run(src, input string) domain.Run {
	e.tb.Helper()
	return e.Begin(e.Save(src), input)
}

// Begin starts a run of a version.
func (e *Engine) Begin(v domain.Version, input string) domain.Run {
	e.tb.Helper()
	r := domain.StartRequest{Hash: v.Hash}
	if input != "" {
		r.Input = domain.RawJSON(input)
	}
	run, err := e.Start(context.Background(), Operator, r)
	if err != nil {
		e.tb.Fatalf("start: %v", err)
	}
	return run
}

// Settle waits until a run is final or waits for a person.
func (e *Engine) Settle(run string) domain.Run {
	e.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := e.Wait(ctx, run)
	if err != nil {
		e.tb.Fatalf("wait for run: %v; it is %s %s\n%s", err, r.Status, r.WaitReason, e.Journal(run))
	}
	return r
}

// Until waits until a run has a status and reason.
func (e *Engine) Until(run string, status domain.RunStatus, reason domain.WaitReason) domain.Run {
	e.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := e.WaitFor(ctx, run, func(r domain.Run) bool { return r.Status == status && (reason == "" || r.WaitReason == reason) })
	if err != nil {
		e.tb.Fatalf("wait for %s %s: %v; the run is %s %s\n%s", status, reason, err, r.Status, r.WaitReason, e.Journal(run))
	}
	return r
}

// Do performs an action.
func (e *Engine) Do(run string, action domain.Action) (domain.Run, error) {
	return e.Act(context.Background(), Operator, domain.ActionRequest{Run: run, Action: action, Reason: "test"})
}

// Journal formats a run's journal, one row per line.
func (e *Engine) Journal(run string) string {
	rows, err := e.Store.Journal(context.Background(), run, 0)
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, r := range rows {
		final := ""
		if r.Final {
			final = " final"
		}
		text += fmt.Sprintf(
			"%d %s%s %s#%d[%d] attempt %d %s %s %s %s\n",
			r.Seq,
			r.Kind,
			final,
			r.Node,
			r.Visit,
			r.Item,
			r.Attempt,
			r.Status,
			r.Reason,
			r.Output,
			r.Decision,
		)
	}
	return text
}
