package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// outcome runs a plan in memory. The type `work` outputs its input; `break` fails with the code in its
// input.
func outcome(t *testing.T, src, input string) (output string, code string) {
	t.Helper()
	d, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	x := planner.NewExecutor(map[string]planner.Handler{
		"work": func(_ context.Context, n planner.Node, _ *planner.State) (any, error) { return n.Input, nil },
		"break": func(_ context.Context, n planner.Node, _ *planner.State) (any, error) {
			return nil, &walk.Failure{Code: jsonvalue.Text(n.Input), Message: "broken"}
		},
	})
	var in any
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		t.Fatal(err)
	}
	state, err := x.Execute(t.Context(), d.Graph, &planner.State{Last: in})
	if f, ok := errors.AsType[*walk.Failure](err); ok {
		return "", f.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := jsonvalue.Encode(state.Last)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), ""
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ plan, input, output, code string }{
		"one of two branches is enough": {plan: `
nodes:
  choose: {type: noop}
  yes: {type: work, input: 1}
  no: {type: work, input: 2}
  join: {type: work, needs: [yes, no], when: any_success, input: {yes: "${output.yes ?? null}", no: "${output.no ?? null}"}}
edges: [{from: choose, to: yes, condition: input==go}, {from: choose, to: no, condition: default}]`,
			input: `"stop"`, output: `{"no":2,"yes":null}`},
		"none failed, some skipped": {plan: `
nodes:
  a: {type: work, input: 1}
  b: {type: work, needs: [a], when: output.a==2, input: 2}
  join: {type: work, needs: [a, b], when: none_failed, input: "${status.a} ${status.b}"}`,
			input: "null", output: `"completed skipped"`},
		"none failed, but one did": {plan: `
on_failure: continue_branches
nodes:
  a: {type: break, input: down}
  b: {type: work, input: 2}
  join: {type: work, needs: [a, b], when: none_failed}`, input: "null", code: "down"},
		"the first of a race": {plan: `
nodes:
  a: {type: break, input: down}
  b: {type: work, input: {n: 2}}
  c: {type: work, input: {n: 3}}
  first: {type: work, race: [a, b, c]}
result: {first: "${output.first.n}", a: "${status.a}", b: "${status.b}", c: "${status.c}"}`,
			input: "null", output: `{"a":"failed","b":"completed","c":"cancelled","first":2}`},
		"a race without a winner": {plan: `
nodes:
  a: {type: break, input: down}
  b: {type: break, input: last}
  first: {type: work, race: [a, b]}`, input: "null", code: "last"},
		"a failure that a step handles": {plan: `
nodes:
  a: {type: break, input: down}
  b: {type: work, needs: [a], input: fine}
  sorry: {type: work, needs: [a], when: failure, input: "${last.code}"}
result: {b: "${status.b}", sorry: "${output.sorry}", a: "${status.a}"}`,
			input: "null", output: `{"a":"failed","b":"skipped","sorry":"down"}`},
		"a rule and a condition": {plan: `
nodes:
  a: {type: work, input: {n: 2}}
  b: {type: work, needs: [a], when: output.a.n==1, input: 2}
  c: {type: work, needs: [a, b], when: {after: any_success, if: "expr: output.a.n > 1 && status.b == 'skipped'"}, input: yes}`,
			input: "null", output: `"yes"`},
		"a code of its own edge": {plan: `
nodes:
  a: {type: break, input: "${input}"}
  wait: {type: work, input: "wait: ${last.code}"}
  sorry: {type: work, input: "sorry: ${last.code}"}
edges:
  - {from: a, to: wait, condition: "failed: rate_limited, timeout"}
  - {from: a, to: sorry, condition: "failed: rejected"}`,
			input: `"rate_limited"`, output: `"wait: rate_limited"`},
		"a code without an edge": {plan: `
nodes: {a: {type: break, input: other}, wait: {type: work}}
edges: [{from: a, to: wait, condition: "failed: timeout"}]`, input: "null", code: "other"},
		"a stated failure": {plan: `
nodes: {a: {type: fail, input: {code: out_of_stock, message: "no ${input}"}}}`, input: `"chairs"`, code: "out_of_stock"},
		"a stated failure that a step handles": {plan: `
nodes:
  a: {type: fail, input: {message: "no ${input}"}}
  b: {type: work, needs: [a], when: failure, input: "${last.code}: ${last.error}"}`,
			input: `"chairs"`, output: `"plan_failed: no chairs"`},
		"a rule for a code": {plan: `
nodes:
  a: {type: break, input: "${input}", on_error: [{code: [rate_limited, timeout], to: wait}, {code: gone, to: skip}, {to: continue}]}
  wait: {type: work, input: "wait: ${last.code}"}
result: {a: "${status.a}", wait: "${output.wait ?? null}"}`,
			input: `"timeout"`, output: `{"a":"failed","wait":"wait: timeout"}`},
		"a rule that skips": {plan: `
nodes:
  a: {type: break, input: gone, on_error: [{code: timeout, to: wait}, {code: gone, to: skip}, {to: fail}]}
  wait: {type: work}
result: "${status.a}"`, input: "null", output: `"skipped"`},
		"no rule for a code": {plan: `
nodes: {a: {type: break, input: other, on_error: [{code: gone, to: skip}]}}`, input: "null", code: "other"},
		"an edge comes before rules": {plan: `
nodes:
  a: {type: break, input: down, on_error: [{to: skip}]}
  sorry: {type: work, input: sorry}
edges: [{from: a, to: sorry, condition: "failed: down"}]`, input: "null", output: `"sorry"`},
		"rules of defaults": {plan: `
defaults: {on_error: [{code: gone, to: continue}]}
nodes: {a: {type: break, input: gone}, b: {type: work, needs: [a], input: fine}}`, input: "null", output: `"fine"`},
		"a rule that ends the run": {plan: `
nodes:
  a: {type: break, input: gone, on_error: [{code: gone, to: $end}]}
  b: {type: work}
edges: [{from: a, to: b}]`, input: "null", output: `{"code":"gone","error":"broken","node":"a"}`},
		"an edge that ends the run": {plan: `
strict: true
nodes: {a: {type: work, input: {n: 1}}, b: {type: work}}
edges: [{from: a, to: $end, condition: last.n==1}, {from: a, to: b, condition: default}]`, input: "null", output: `{"n":1}`},
		"an edge that ends a branch": {plan: `
nodes:
  a: {type: work, input: 1}
  b: {type: work}
  c: {type: work, needs: [b], when: always, input: "${status.b}"}
edges: [{from: a, to: $end, condition: input==stop}, {from: a, to: b, condition: default}]`, input: `"stop"`, output: `"skipped"`},
		"items of a list by code": {plan: `
nodes:
  a: {type: break, foreach: [gone, gone], input: "${item}", on_error: [{code: gone, to: continue}, {to: fail}]}`,
			input: "null", output: `[{"code":"gone","error":"broken"},{"code":"gone","error":"broken"}]`},
		"a step after a failure": {plan: `
nodes: {a: {type: break, input: gone}}
finally: {b: {type: break, input: "${last.gone}"}, c: {type: work, needs: [b], input: 1}}`, input: "null", code: "gone"},
		"a step after all others does not change the output": {plan: `
nodes: {a: {type: work, input: 1}, b: {type: work, needs: [a], input: 2}}
finally: {c: {type: work, input: 3}, d: {type: work, when: last.status==failed, input: 4}}`, input: "null", output: `2`},
		"a branch that ends where no edge matches": {plan: `
strict: true
nodes: {a: {type: work, input: 1, ends: ok}, b: {type: work}}
edges: [{from: a, to: b, condition: last==2}]`, input: "null", output: "1"},
		"a branch that may not end there": {plan: `
strict: true
nodes: {a: {type: work, input: 1}, b: {type: work}}
edges: [{from: a, to: b, condition: last==2}]`, input: "null", code: "no_edge_matched"},
		"the executor lets branches end": {plan: `
nodes: {a: {type: work, input: 1}, b: {type: work}}
edges: [{from: a, to: b, condition: last==2}]`, input: "null", output: "1"},
		"independent steps": {plan: `
nodes: {a: {type: work, input: 1}, b: {type: work, input: 2}}`, input: "null", output: `{"a":1,"b":2}`},
		"the condition of a first step": {plan: `
values: {limit: 10}
nodes:
  big: {type: work, when: "expr: input.n > value.limit", input: big}
  small: {type: work, when: "expr: input.n <= value.limit", input: small}
  done: {type: work, needs: [big, small], when: any_success, input: "${output.big ?? \"no\"} ${output.small ?? \"no\"}"}`,
			input: `{"n": 3}`, output: `"no small"`},
		"no step runs": {plan: `
nodes: {a: {type: work, when: input==1, input: 1}}
result: {status: "${status.a}"}`, input: "2", output: `{"status":"skipped"}`},
		"values": {plan: `
values: {url: {base: "http://a"}, n: [1, 2]}
nodes: {a: {type: work, input: {u: "${value.url.base}/x", n: "${value.n.1}", gone: "${value.gone ?? 0}"}}}`,
			input: "null", output: `{"gone":0,"n":2,"u":"http://a/x"}`},
		"a list in the plan": {plan: `
nodes: {a: {type: work, foreach: [linux, "${input}"], input: "${index} ${item}"}}`,
			input: `"macos"`, output: `["0 linux","1 macos"]`},
		"a computed list": {plan: `
nodes: {a: {type: work, foreach: "expr: input.filter(n, n > 1).map(n, n * 2)"}}`, input: `[1, 2, 3]`, output: `[4,6]`},
		"a matrix": {plan: `
nodes: {a: {type: work, foreach: {os: [linux, macos], n: "${input}", except: [{os: macos, n: 2}]}, input: "${item.os}${item.n}"}}`,
			input: `[1, 2]`, output: `["linux1","macos1","linux2"]`},
		"a computed list that is none": {plan: `
nodes: {a: {type: work, foreach: "expr: input.n"}}`, input: `{"n": 1}`, code: walk.CodeForeach},
		"a result that refers to nothing": {plan: `
nodes: {a: {type: work, input: {x: 1}}}
result: "${output.a.y}"`, input: "null", code: walk.CodeResult},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, code := outcome(t, tt.plan, tt.input)
			if output != tt.output || code != tt.code {
				t.Errorf("got %s %q, want %s %q", output, code, tt.output, tt.code)
			}
		})
	}
}

// A document keeps its meaning when it is read into Go values and written again.
func TestLanguageIsEncoded(t *testing.T) {
	t.Parallel()
	const src = `
values: {limit: 10}
nodes:
  a: {type: work, when: "expr: input.n > value.limit", foreach: {os: [linux], n: [1, 2]}}
  b: {type: work, needs: [a], when: {after: any_success, if: status.a==completed}, foreach: [1, 2]}
  c: {type: work, needs: [b], when: {after: none_failed}}
  d: {type: work, needs: [b], on_error: [{code: x, to: e}, {code: [y, z], retry: {max_attempts: 2, backoff: [1s]}}, {to: $end}]}
  e: {type: work}
finally:
  f: {type: work, on_error: [{code: x, to: skip}]}
  g: {type: work, needs: [f], when: always}
defaults: {on_error: [{code: x, to: continue}]}
result: {b: "${output.b}"}`
	d, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []planner.Format{planner.FormatYAML, planner.FormatJSON} {
		b, err := d.Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		again, problems := planner.Parse(b, planner.WithFormat(f))
		if err := problems.Err(); err != nil || again.Hash != d.Hash {
			t.Errorf("%s: %v\n%s", f, err, b)
		}
	}
}

func TestLanguageProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"nodes: {a: {type: work, when: failure}}":                                                          "when.without_needs",
		"nodes: {a: {type: work}, b: {type: work, needs: [a], when: {after: some}}}":                       "when.condition",
		"nodes: {a: {type: work, when: \"expr: memory.x == 1\"}}":                                          "when.condition",
		"nodes: {a: {type: work}, b: {type: work, when: input==1}}\nedges: [{from: a, to: b}]":             "when.without_needs",
		"nodes: {a: {type: work}, b: {type: work, input: \"${status.c}\", needs: [a]}}":                    "ref.node_unknown",
		"nodes: {a: {type: work, input: \"${status.b}\"}, b: {type: work, needs: [a]}}":                    "ref.not_ancestor",
		"nodes: {a: {type: work, foreach: {}}}":                                                            "foreach.reference",
		"nodes: {a: {type: work, foreach: {os: [1], except: [{go: 1}]}}}":                                  "foreach.reference",
		"nodes: {a: {type: work, foreach: [\"${secret.key}\"]}}":                                           "foreach.reference",
		"nodes: {a: {type: work, foreach: 3}}":                                                             "foreach.reference",
		"nodes: {a: {type: work}}\nresult: \"${output.b}\"":                                                "ref.node_unknown",
		"nodes: {a: {type: work}}\nresult: \"${item}\"":                                                    "ref.malformed",
		"nodes: {a: {type: fail, input: {code: a b}}}":                                                     "node.fail_input",
		"nodes: {a: {type: fail}}":                                                                         "node.fail_input",
		"nodes: {a: {type: work}}\nvalues: 3":                                                              "field.type",
		"nodes: {a: {type: work}, b: {type: work}}\nedges: [{from: a, to: b, condition: \"failed: x y\"}]": "condition.malformed",
	} {
		_, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
		if len(problems) == 0 || problems[0].Code != want {
			t.Errorf("%s: got %v, want %s", src, problems, want)
		}
	}
}

// A rule of on_error may retry failures with certain codes.
func TestRetriesByCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"busy": 3, "gone": 1, "other": 2} {
		d, problems := planner.Parse([]byte(`
nodes:
  a:
    type: break
    retry: {max_attempts: 2}
    on_error: [{code: [busy], retry: {max_attempts: 3, backoff: [1ms]}}, {code: gone, retry: {max_attempts: 1}}, {to: skip}]`),
			planner.WithFormat(planner.FormatYAML))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		attempts := 0
		x := planner.NewExecutor(map[string]planner.Handler{"break": func(context.Context, planner.Node, *planner.State) (any, error) {
			attempts++
			return nil, &walk.Failure{Code: code, Message: "broken"}
		}})
		if _, err := x.Execute(t.Context(), d.Graph, nil); err != nil || attempts != want {
			t.Errorf("%s: got %d attempts, want %d; %v", code, attempts, want, err)
		}
	}
}
