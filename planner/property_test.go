package planner_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"pgregory.net/rapid"
)

// nasty holds texts that an encoder of YAML or JSON could change.
var nasty = []string{
	"edges",
	"needs",
	"backoff",
	"",
	" ",
	"no",
	"on",
	"~",
	"null",
	"Null",
	"true",
	"0",
	"-0",
	"1e5",
	".5",
	"+1",
	"0x1F",
	"0o17",
	"017",
	"1_000",
	".nan",
	".inf",
	"2001-12-14",
	"12:30:45",
	"- a",
	"a: b",
	"a #b",
	"#",
	"'",
	`"`,
	"\\",
	"\n",
	"a\n",
	"\na",
	"a\n\nb\n\n",
	" a",
	"a ",
	"\ta",
	"a\tb",
	"a\r\nb",
	"\r",
	"*x",
	"&x",
	"!x",
	"!!str",
	"%x",
	"@x",
	"`x",
	"|",
	">",
	"[",
	"]",
	"{",
	"}",
	",",
	"?",
	"? a",
	":",
	"::",
	"---",
	"...",
	"--- a",
	"<<",
	"=",
	"y",
	"é",
	"日本",
	"😀",
	"\u00a0",
	"\u2028",
	"\u2029",
	"\u0085",
	"\ufeff",
	"\u200b",
	"<b>&amp;",
	"a" + strings.Repeat(" b", 60),
	strings.Repeat("x", 200),
	"$${",
	"$${input}",
	"${input}",
	"${input.a ?? \"x\"}",
	"a${last}b",
}

func texts() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(nasty), rapid.StringMatching(`[a-z]{0,8}`),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(nasty), 2, 4), func(parts []string) string { return strings.Join(parts, "") }))
}

// values generates JSON values as Normalize returns them.
func values(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(
			rapid.SampledFrom(
				[]string{"0", "1", "-1", "1.0", "1.50", "1e0", "1E+3", "12345678901234567890", "0.1", "-0", "1e-7", "123456789.123456789"},
			),
			func(s string) any { return json.Number(s) },
		),
		rapid.Map(texts(), func(s string) any { return s }),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(values(depth-1), 0, 3), func(l []any) any { return append([]any{}, l...) }),
		rapid.Map(rapid.MapOfN(texts(), values(depth-1), 0, 3), func(m map[string]any) any { return m }))...)
}

// graphs generates valid graphs: a chain in random order with forward branches.
func graphs() *rapid.Generator[*planner.Graph] {
	return rapid.Custom(func(t *rapid.T) *planner.Graph {
		n := rapid.IntRange(1, 6).Draw(t, "nodes")
		g := &planner.Graph{Nodes: map[string]planner.Node{},
			Strict: rapid.SampledFrom([]*bool{nil, new(bool), new(true)}).Draw(t, "strict"),
			ID:     rapid.SampledFrom([]string{"", "plan", "p.1", "no", "1e5"}).Draw(t, "id"), Description: texts().Draw(t, "description"),
			OnFailure: rapid.SampledFrom([]string{"", "stop", "continue_branches"}).Draw(t, "on failure"),
			Metadata:  rapid.MapOfN(texts(), values(2), 0, 2).Draw(t, "metadata"),
			Limits: walk.Limits{
				MaxSteps: rapid.IntRange(0, 3).Draw(t, "steps"),
				MaxCost:  rapid.SampledFrom([]float64{0, 0.1, 1e-7, 1e21}).Draw(t, "cost"),
			}}
		for i := range n {
			id := fmt.Sprintf("n%d", i)
			node := planner.Node{ID: id, Type: rapid.SampledFrom([]string{"set", "noop", "log", "no", "mine"}).Draw(t, "type"),
				Input: values(3).Draw(t, "input"), Metadata: rapid.MapOfN(texts(), texts(), 0, 2).Draw(t, "node metadata"),
				Timeout: walk.Duration(
					rapid.SampledFrom([]time.Duration{0, time.Millisecond, 90 * time.Minute, 1500 * time.Microsecond}).Draw(t, "timeout"),
				),
				MaxVisits: rapid.IntRange(0, 3).
					Draw(t, "visits"),
				OnError: rapid.SampledFrom([]string{"", "skip", "continue"}).Draw(t, "on error"),
				Effect:  rapid.SampledFrom([]walk.Effect{"", walk.EffectPure, walk.EffectUnsafe}).Draw(t, "effect")}
			if rapid.Bool().Draw(t, "retry") {
				node.Retry = &planner.Retry{
					MaxAttempts: rapid.IntRange(1, 5).Draw(t, "attempts"),
					Backoff: rapid.SampledFrom([]walk.Backoff{
						{}, {List: []time.Duration{0, time.Second}}, {Initial: time.Second},
						{Initial: time.Second, Factor: 1.5, Max: time.Hour, Jitter: 0.25}}).Draw(t, "backoff"),
				}
			}
			if node.OnError == "" && rapid.Bool().Draw(t, "rules") {
				node.ErrorRules = []planner.ErrorRule{{
					Codes: rapid.SampledFrom([][]string{nil, {"timeout"}, {"a", "b.c"}}).Draw(t, "codes"),
					Retry: rapid.SampledFrom([]*planner.Retry{nil, {MaxAttempts: 2}}).Draw(t, "retry of a rule"),
					To:    rapid.SampledFrom([]string{"skip", walk.EndName}).Draw(t, "to")}}
			}
			g.Nodes[id] = node
			if node.OnError == "skip" && i == 0 {
				last := node
				last.ID = "last"
				g.Finally = map[string]planner.Node{"last": last}
			}
			if i > 0 {
				g.Edges = append(g.Edges, planner.Edge{From: fmt.Sprintf("n%d", rapid.IntRange(0, i-1).Draw(t, "from")), To: id,
					Condition: rapid.SampledFrom([]string{"", "default", "failed", "last==1", "last == 'a b'", "expr: last == 1",
						"input.a.contains:#x"}).
						Draw(t, "condition"),
				})
			}
		}
		return g
	})
}

// Both encodings preserve a graph built in Go, and both have the same hash.
func TestEncodingKeepsEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := graphs().Draw(rt, "graph")
		if err := g.Validate(); err != nil {
			rt.Skip(err) // an invalid reference; "${input.a}" is valid, "${" is not
		}
		hashes := map[string]bool{}
		for _, f := range []planner.Format{planner.FormatYAML, planner.FormatJSON} {
			src, err := g.Encode(planner.FormatYAML)
			if f == planner.FormatJSON {
				src, err = g.Encode(planner.FormatJSON)
			}
			if err != nil {
				rt.Fatal(err)
			}
			d, problems := planner.Parse(src, planner.WithFormat(f))
			if d == nil {
				rt.Fatalf("%s is refused: %v\n%q", f, problems, src)
			}
			hashes[d.Hash] = true
			if msg := compareRoundTrip(d); msg != "" {
				rt.Fatal(msg)
			}
		}
		if len(hashes) != 1 {
			rt.Fatalf("YAML and JSON of one graph have different hashes")
		}
	})
}

// documents generates invalid plans: known and misspelled keys with values of any kind.
func documents() *rapid.Generator[map[string]any] {
	pick := func(of []string) *rapid.Generator[string] { return rapid.SampledFrom(of) }
	ids := pick([]string{"a", "b", "c", "d", "a.b", "input", "A", ""})
	loose := rapid.OneOf(rapid.Map(ids, func(s string) any { return s }), values(1))
	conditions := rapid.Map(
		pick(
			[]string{
				"",
				"default",
				"failed",
				"last==1",
				"output.a==1",
				"output.zz.x!=1",
				"expr: output.b == 1",
				"expr: last ==",
				"last",
				"a.x < 3",
				"success",
				"always",
			},
		),
		func(s string) any { return s },
	)
	durations := rapid.Map(pick([]string{"1s", "0s", "-1s", "x", "1h30m", "99999h"}), func(s string) any { return s })
	inputs := rapid.OneOf(
		values(2),
		rapid.Map(
			pick(
				[]string{
					"${output.a}",
					"${output.b.x ?? 1}",
					"${item}",
					"${nope}",
					"${",
					"x${output.zz}y",
					"${secret.K}",
					"a.result",
					"b.result.x",
				},
			),
			func(s string) any { return s },
		),
	)
	fields := func(t *rapid.T, known map[string]*rapid.Generator[any]) map[string]any {
		m := map[string]any{}
		names := make([]string, 0, len(known))
		for k := range known {
			names = append(names, k)
		}
		slices.Sort(names)
		for _, k := range names {
			switch rapid.IntRange(0, 7).Draw(t, k) {
			case 0, 1, 2:
				m[k] = known[k].Draw(t, k)
			case 3:
				if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
					m[k] = loose.Draw(t, k)
				}
			case 4:
				if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
					m[k+"s"] = 1
				}
			}
		}
		return m
	}
	lists := func(g *rapid.Generator[any]) *rapid.Generator[any] {
		return rapid.Map(rapid.SliceOfN(g, 0, 3), func(l []any) any { return append([]any{}, l...) })
	}
	id := rapid.Map(ids, func(s string) any { return s })
	number := rapid.Map(pick([]string{"1", "2", "0", "-1", "1.5", "3.0", "1e9"}), func(s string) any { return json.Number(s) })
	words := func(w ...string) *rapid.Generator[any] { return rapid.Map(pick(w), func(s string) any { return s }) }
	return rapid.Custom(func(t *rapid.T) map[string]any {
		retry := rapid.Custom(func(t *rapid.T) any {
			return fields(
				t,
				map[string]*rapid.Generator[any]{
					"max_attempts": number,
					"maxAttempts":  number,
					"backoff":      lists(durations),
					"backoffMs":    lists(number),
				},
			)
		})
		m := fields(
			t,
			map[string]*rapid.Generator[any]{"id": words("p", "p/q", "anon-1"), "strict": words("x"), "on_failure": words("stop", "go"),
				"defaults": rapid.Custom(func(t *rapid.T) any {
					return fields(
						t,
						map[string]*rapid.Generator[any]{"retry": retry, "timeout": durations, "on_error": words("skip", "no")},
					)
				}), "limits": rapid.Custom(func(t *rapid.T) any {
					return fields(t, map[string]*rapid.Generator[any]{"max_steps": number, "max_cost": number})
				}), "x-any": values(2)},
		)
		if rapid.Bool().Draw(t, "steps") {
			var steps []any
			for range rapid.IntRange(1, 4).Draw(t, "count") {
				step := fields(
					t,
					map[string]*rapid.Generator[any]{
						"order":   number,
						"tool":    words("set", "http", "htp"),
						"agentId": words("support", "x"),
						"skillId": words("keep", "kep"),
						"task": words(
							"do",
							"see ${output.a}",
						),
						"params":       rapid.Map(inputs, func(v any) any { return map[string]any{"v": v} }),
						"dependencies": lists(id),
						"retry":        retry,
						"timeout":      durations,
						"condition": rapid.Custom(func(t *rapid.T) any {
							return fields(
								t,
								map[string]*rapid.Generator[any]{"type": words("success", "failure", "custom", "odd"), "expr": conditions},
							)
						}),
					},
				)
				step["id"] = ids.Draw(t, "step id")
				steps = append(steps, step)
			}
			m["steps"] = steps
			return m
		}
		nodes := map[string]any{}
		for range rapid.IntRange(1, 5).Draw(t, "count") {
			n := fields(
				t,
				map[string]*rapid.Generator[any]{
					"id":       id,
					"tool":     words("http", "x"),
					"agent":    words("support", "x"),
					"plan":     words("p", "p@1"),
					"input":    inputs,
					"metadata": values(1),
					"retry":    retry,
					"timeout":  durations,
					"on_error": words("skip", "odd"),
					"effect":   words("pure", "odd"),
					"needs":    lists(id),
					"race":     lists(id),
					"when":     conditions,
					"foreach": words(
						"input",
						"${output.a}",
						"item",
						"nope",
					),
					"max_parallel":  number,
					"max_visits":    number,
					"output_schema": values(1),
				},
			)
			n["type"] = rapid.SampledFrom([]any{"set", "noop", "tool", "agent", "wait", "approval", "plan", "odd", "http", 5}).
				Draw(t, "type")
			nodes[ids.Draw(t, "node id")] = n
		}
		m["nodes"] = nodes
		edges := lists(rapid.Custom(func(t *rapid.T) any {
			return fields(t, map[string]*rapid.Generator[any]{"from": id, "to": id, "condition": conditions})
		}))
		m["edges"] = edges.Draw(t, "edges")
		if rapid.IntRange(0, 2).Draw(t, "started") == 0 {
			m["start"] = ids.Draw(t, "start")
		}
		return m
	})
}

// YAML and JSON of the same document have the same problems, positions, and hash.
func TestFormatsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		src, err := jsonvalue.Encode(documents().Draw(rt, "document"))
		if err != nil {
			rt.Fatal(err)
		}
		src = yamlSafe(src)
		asJSON, jsonProblems := planner.Parse(src, planner.WithFormat(planner.FormatJSON), planner.WithCatalog(testCatalog()))
		asYAML, yamlProblems := planner.Parse(src, planner.WithFormat(planner.FormatYAML), planner.WithCatalog(testCatalog()))
		if a, b := describe(jsonProblems), describe(yamlProblems); a != b {
			rt.Fatalf("problems differ (-JSON +YAML):\n%s\n%s", cmp.Diff(a, b), src)
		}
		if (asJSON == nil) != (asYAML == nil) || asJSON != nil && asJSON.Hash != asYAML.Hash {
			rt.Fatalf("hashes differ:\n%s", src)
		}
		if asJSON == nil {
			return
		}
		if _, err := asJSON.Program(testCatalog()); err != nil {
			rt.Fatal(err)
		}
		if msg := compareRoundTrip(asJSON); msg != "" {
			rt.Fatal(msg)
		}
	})
}
