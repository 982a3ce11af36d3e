package planner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// A node without input receives the last output. Nodes can read the input of the run and the memory
// as outputs. A noop does not change the last output.
func TestInputAndState(t *testing.T) {
	t.Parallel()
	graph, err := planner.ParseYAML([]byte(`
start: a
nodes:
  a: {type: say, input: "${input} ${memory}"}
  b: {type: noop}
  c: {type: decision}
  d: {type: say}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}]
`))
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	exec := planner.NewExecutor(map[string]planner.Handler{"say": func(_ context.Context, n planner.Node, s *planner.State) (any, error) {
		given[n.ID] = []any{n.Input, s.Last}
		return n.Input, nil
	}})
	state := planner.NewState()
	state.Outputs["input"], state.Outputs["memory"] = "hola", "likes tea"
	state, err = exec.Execute(t.Context(), graph, state)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": []any{"hola likes tea", "hola"}, "d": []any{"hola likes tea", "hola likes tea"}}
	if d := cmp.Diff(want, given); d != "" || state.Last != "hola likes tea" || state.Outputs["input"] != "hola" ||
		state.Outputs["a"] != state.Last {
		t.Errorf("%s\n%+v", d, state)
	}
}

// The audit hook receives the start and the end of every node, with times, output, and failure.
func TestAuditOfAFailure(t *testing.T) {
	t.Parallel()
	graph, err := planner.ParseYAML(
		[]byte("id: g\nstart: a\nnodes: {a: {type: say, input: 1}, b: {type: broken}}\nedges: [{from: a, to: b}]\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	exec := planner.NewExecutor(map[string]planner.Handler{
		"say":    func(_ context.Context, n planner.Node, _ *planner.State) (any, error) { return n.Input, nil },
		"broken": func(context.Context, planner.Node, *planner.State) (any, error) { return nil, errors.New("boom") },
	})
	var got []string
	exec.AuditHook = func(_ context.Context, e planner.AuditEvent) {
		got = append(got, e.NodeID+" "+e.NodeType+" "+e.Status+" "+jsonvalue.Text(e.Output)+" "+e.Error)
		if ended := e.Status != planner.AuditStarted; e.GraphID != "g" || time.Since(e.StartedAt) > time.Hour ||
			ended == e.FinishedAt.IsZero() ||
			ended && e.FinishedAt.Before(e.StartedAt) {
			t.Errorf("%+v", e)
		}
	}
	if _, err := exec.Execute(t.Context(), graph, nil); err == nil {
		t.Error("it did not fail")
	}
	if d := cmp.Diff([]string{"a say started null ", "a say completed 1 ", "b broken started null ", "b broken failed null boom"},
		got); d != "" {
		t.Error(d)
	}
}
