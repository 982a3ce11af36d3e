package planner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// approval returns a plan with an approval, with additional fields of the step and of the plan.
func approval(step, edges, more string) string {
	return fmt.Sprintf(
		"id: p\nstart: ask\n%snodes:\n  ask: {type: approval, input: {message: sure?}%s}\n  pay: {type: noop}\n"+
			"  sorry: {type: noop}\nedges: [%s]\n",
		more,
		step,
		edges,
	)
}

// Edges that only a rejection could take are errors, unless the step continues after it.
func TestEdgesOfRejectedApprovals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edges string
		bad   int // problems without on_reject: continue
	}{
		"the way of an approval":      {"{from: ask, to: pay}", 0},
		"an error edge":               {"{from: ask, to: pay}, {from: ask, to: sorry, condition: failed}", 0},
		"a default edge":              {"{from: ask, to: pay, condition: default}", 1},
		"always":                      {"{from: ask, to: pay, condition: always}", 1},
		"approved, else":              {`{from: ask, to: pay, condition: last.approved==true}, {from: ask, to: sorry}`, 1},
		"approved, else, by CEL":      {`{from: ask, to: pay, condition: "expr: last.approved"}, {from: ask, to: sorry}`, 1},
		"not approved":                {`{from: ask, to: sorry, condition: last.approved==false}, {from: ask, to: pay}`, 1},
		"not approved, by its output": {`{from: ask, to: sorry, condition: output.ask.approved != true}, {from: ask, to: pay}`, 1},
		"not approved, by CEL":        {`{from: ask, to: sorry, condition: "expr: !last.approved"}, {from: ask, to: pay}`, 1},
		"not approved, and more": {`{from: ask, to: sorry, condition: "expr: output.ask.approved == false && input.x ` +
			`> 1.0"}, {from: ask, to: pay}`, 1},
		"not approved, and an index": {`{from: ask, to: sorry, condition: "expr: output['ask'].approved != true"}, {from: ` +
			`ask, to: pay}`, 1},
		"approved, and what was given": {`{from: ask, to: sorry, condition: "expr: last.approved && last.values.fast"}, ` +
			`{from: ask, to: pay}`, 0},
		"what was given": {`{from: ask, to: sorry, condition: last.values.fast==true}, {from: ask, to: pay}`, 0},
		"what was given, else default": {`{from: ask, to: sorry, condition: last.values.fast==true}, {from: ask, to: pay, ` +
			`condition: default}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step, want := range map[string]int{"": tt.bad, ", on_error: continue": tt.bad, ", on_reject: fail": tt.bad,
				", on_reject: continue": 0} {
				_, problems := planner.Parse([]byte(approval(step, tt.edges, "")), planner.WithFormat(planner.FormatYAML))
				got := 0
				for _, p := range problems {
					if p.Severity == planner.SeverityError && p.Code == "approval.rejection" {
						got++
					} else if p.Severity == planner.SeverityError {
						t.Errorf("%q: %v", step, p)
					}
				}
				if got != want {
					t.Errorf("%q: %d problems, want %d: %v", step, got, want, problems)
				}
			}
		})
	}
}

// In memory, a rejection has the same effect as in the daemon, because both use the same walk.
func TestRejectionInMemory(t *testing.T) {
	t.Parallel()
	reply := map[string]any{"answer": "reject", "approved": false, "by": "marta", "comment": "too much", "values": nil}
	for name, tt := range map[string]struct {
		step, edges, more string
		answer            any
		code              string
		last              any
	}{
		"it fails": {edges: "{from: ask, to: pay}", answer: reply, code: "rejected"},
		"by an error": {edges: "{from: ask, to: pay}",
			answer: &walk.Failure{Code: "rejected", Message: "no"}, code: "rejected"},
		"defaults do not handle it": {edges: "{from: ask, to: pay}", more: "defaults: {on_error: continue, " +
			"retry: {max_attempts: 5}}\n", answer: reply, code: "rejected"},
		"its own retry does not repeat it": {step: ", retry: {max_attempts: 5}", edges: "{from: ask, to: pay}", answer: reply,
			code: "rejected"},
		"branches do not go on": {edges: "{from: ask, to: pay}", more: "on_failure: continue_branches\n",
			answer: reply, code: "rejected"},
		"an error edge handles it": {edges: "{from: ask, to: pay}, {from: ask, to: sorry, condition: failed}",
			answer: reply, last: map[string]any{"error": "rejected by marta: too much", "code": "rejected", "node": "ask"}},
		"on_error of the step handles it": {step: ", on_error: continue", edges: "{from: ask, to: pay}", answer: reply},
		"the run goes on with it":         {step: ", on_reject: continue", edges: "{from: ask, to: pay}", answer: reply, last: reply},
		"the run goes on with an error's words": {step: ", on_reject: continue", edges: "{from: ask, to: pay}",
			answer: &walk.Failure{Code: "rejected", Message: "no"},
			last:   map[string]any{"answer": "reject", "approved": false, "by": "", "comment": "no", "values": nil}},
		"another failure is one": {step: ", on_reject: continue", edges: "{from: ask, to: pay}",
			answer: errors.New("down"), code: "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, problems := planner.Parse([]byte(approval(tt.step, tt.edges, tt.more)), planner.WithFormat(planner.FormatYAML))
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			asked := 0
			x := planner.NewExecutor(
				map[string]planner.Handler{"approval": func(context.Context, planner.Node, *planner.State) (any, error) {
					asked++
					if err, ok := tt.answer.(error); ok {
						return nil, err
					}
					return tt.answer, nil
				}},
			)
			state, err := x.Execute(t.Context(), d.Graph, nil)
			code := ""
			if f := walk.AsFailure(err); f != nil {
				code = f.Code
			}
			if code != tt.code || asked != 1 {
				t.Fatalf("failed with %q after %d requests, want %q", code, asked, tt.code)
			}
			if diff := cmp.Diff(tt.last, state.Last); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// A rejection stops all branches, even in a plan whose branches continue after a failure.
func TestARejectionStopsEveryBranch(t *testing.T) {
	t.Parallel()
	d, problems := planner.Parse([]byte(`
on_failure: continue_branches
nodes:
  ask:     {type: approval, input: {message: sure?}}
  other:   {type: noop}
  later:   {type: noop, needs: [other]}
  cleanup: {type: noop, needs: [ask], when: failure}
edges: []`), planner.WithFormat(planner.FormatYAML))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := d.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string][]string{"rejected": {"cleanup"}, "timeout": {"later", "cleanup"}} {
		w := walk.New(p, walk.Facts{})
		w.Ready()
		for _, s := range []walk.Settlement{
			{VisitKey: walk.VisitKey{Node: p.Index["ask"], Visit: 1}, Item: -1, Status: walk.Failed, Failure: &walk.Failure{Code: code}},
			{VisitKey: walk.VisitKey{Node: p.Index["other"], Visit: 1}, Item: -1, Status: walk.Completed},
		} {
			if _, err := w.Settle(s); err != nil {
				t.Fatal(err)
			}
		}
		var ready []string
		for _, k := range w.Ready() {
			ready = append(ready, p.Nodes[k.Node].ID)
		}
		if diff := cmp.Diff(want, ready); diff != "" {
			t.Errorf("%s: ready (-want +got):\n%s", code, diff)
		}
	}
}
