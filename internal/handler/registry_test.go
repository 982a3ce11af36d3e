package handler_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func registry(tb testing.TB, c tool.Config) *handler.Registry {
	tb.Helper()
	set, err := tool.Builtin(c, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return handler.New(set)
}

// compile parses a plan with the registry's catalog.
func compile(tb testing.TB, r *handler.Registry, src string) *walk.Program {
	tb.Helper()
	doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		tb.Fatal(problems)
	}
	p, err := doc.Program(r.Catalog())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

const plan = `
nodes:
  sum: {type: calculator, input: {expression: "40 + 2"}}
  clock: {type: tool, tool: datetime, input: '{"timezone": "Asia/Tokyo"}', needs: [sum]}
  get: {type: http, input: {url: "http://127.0.0.1/"}, needs: [sum]}
  post: {type: http, input: {url: "http://127.0.0.1/", method: POST}, needs: [sum]}
  later: {type: http, input: {url: "http://127.0.0.1/", method: "${input.m}"}, needs: [sum]}
  ask: {type: agent, needs: [sum]}
  say: {type: llm, needs: [sum]}
  mine: {type: special, needs: [sum]}
`

func special(context.Context, *engine.Call) (engine.Result, error) {
	return engine.Result{Output: "special"}, nil
}

func run(tb testing.TB, r *handler.Registry, n *walk.ProgramNode, input any) (any, error) {
	tb.Helper()
	h, ok := r.Handler(n)
	if !ok {
		tb.Fatalf("nothing runs %s", n.ID)
	}
	res, err := h.Handle(tb.Context(), &engine.Call{Node: n, Input: input, Item: -1,
		Substep: func(_ int, _, _ string, _ walk.Effect, fn func() (any, domain.Usage, error)) (any, error) {
			v, _, err := fn()
			return v, err
		}})
	return res.Output, err
}

func TestNodesReachTheirHandlers(t *testing.T) {
	t.Parallel()
	r := registry(t, tool.Config{})
	if err := r.Register("special", engine.HandlerFunc(special), walk.EffectRead); err != nil {
		t.Fatal(err)
	}
	p := compile(t, r, plan)
	node := func(id string) *walk.ProgramNode { return &p.Nodes[p.Index[id]] }
	if out, err := run(t, r, node("sum"), node("sum").Input.Source); err != nil || jsonvalue.Text(out) != "42" {
		t.Errorf("sum: %v, %v", out, err)
	}
	if out, err := run(t, r, node("clock"), node("clock").Input.Source); err != nil || out.(map[string]any)["timezone"] != "Asia/Tokyo" {
		t.Errorf("clock: %v, %v", out, err)
	}
	if out, err := run(t, r, node("mine"), nil); err != nil || out != "special" {
		t.Errorf("mine: %v, %v", out, err)
	}
	for id, want := range map[string]walk.Effect{"sum": "pure", "clock": "read", "get": "read", "post": "unsafe",
		"later": "unsafe", "ask": "idempotent", "say": "idempotent", "mine": "read"} {
		var input any
		if n := node(id); n.Input != nil {
			input = n.Input.Source
		}
		if got := r.Effect(node(id), input); got != want {
			t.Errorf("effect of %s is %s, want %s", id, got, want)
		}
		if got := r.Catalog().EffectOf(node(id)); got != want {
			t.Errorf("validation calls %s %s, want %s", id, got, want)
		}
	}
	for _, id := range []string{"ask", "say"} {
		_, err := run(t, r, node(id), "hello")
		if f := walk.AsFailure(err); f == nil || !f.Permanent || !f.NoEffect ||
			!strings.Contains(f.Message, "steps of type "+node(id).Type+" require a provider") {
			t.Errorf("%s: %v", id, f)
		}
	}
	r.RegisterNode("sum", engine.HandlerFunc(special))
	if out, err := run(t, r, node("sum"), nil); err != nil || out != "special" {
		t.Errorf("id wins over type: %v, %v", out, err)
	}
}

func TestPlansNameOnlyExistingObjects(t *testing.T) {
	t.Parallel()
	r := registry(t, tool.Config{})
	doc, _ := planner.Parse(
		[]byte("nodes: {a: {type: calculater}, b: {type: tool, tool: htp, needs: [a]}}"),
		planner.WithFormat(planner.FormatYAML),
	)
	if doc == nil {
		t.Fatal("not parsed")
	}
	_, err := doc.Program(r.Catalog())
	if err == nil || !strings.Contains(err.Error(), "calculater") || !strings.Contains(err.Error(), "htp") {
		t.Errorf("got %v", err)
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	r := registry(t, tool.Config{})
	for _, name := range []string{"", "set", "wait", "terminal", "http"} {
		if err := r.Register(name, engine.HandlerFunc(special), ""); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	if err := r.Register(walk.TypeAgent, engine.HandlerFunc(special), ""); err != nil {
		t.Error(err)
	}
}
