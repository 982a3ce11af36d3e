package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// trustCatalog has a tool and an agent of each kind that the rule of two distinguishes.
func trustCatalog() *planner.Catalog {
	byMethod := func(args any) walk.Effect {
		if m, ok := args.(map[string]any); ok && m["method"] == "POST" {
			return walk.EffectUnsafe
		}
		return walk.EffectRead
	}
	return &planner.Catalog{DefaultAgent: "talker",
		Tools: map[string]planner.ToolInfo{
			"http": {Effect: walk.EffectUnsafe, EffectOf: byMethod, Untrusted: true},
			"mail": {Effect: walk.EffectUnsafe, Untrusted: true},
			"pay":  {Effect: walk.EffectUnsafe},
			"put":  {Effect: walk.EffectIdempotent},
			"sql":  {Effect: walk.EffectRead, Private: true},
			"sum":  {Effect: walk.EffectPure, Private: true},
			"now":  {Effect: walk.EffectRead},
			"wire": {Effect: walk.EffectUnsafe, Asks: func(plan string) bool { return plan != "treasury" }},
		},
		Agents: map[string]planner.AgentInfo{
			"talker": {Effect: walk.EffectIdempotent},
			"clerk":  {Effect: walk.EffectIdempotent, Private: true},
			"doer":   {Effect: walk.EffectUnsafe, Changes: true},
			"banker": {Effect: walk.EffectUnsafe, Private: true, Changes: true},
		},
	}
}

// S18: a plan that combines untrusted input, private data, and a change of another system without
// an approval gets a warning. Other plans do not.
func TestRuleOfTwo(t *testing.T) {
	t.Parallel()
	const (
		get    = "{type: http, input: {url: \"https://x.example\"}}"
		post   = "{type: http, input: {method: POST, url: \"https://x.example\", body: \"${last}\"}}"
		signed = "{type: http, input: {method: POST, url: \"https://x.example\", token: \"${secret.BANK}\"}}"
		ask    = "{type: approval, input: {message: ok?}}"
	)
	for _, c := range []struct {
		name  string
		nodes string // one node per line, as "id: node"
		edges string // a>b, or a>b|c for both; empty if nodes have needs
		want  string // IDs of the nodes with a warning
	}{
		// At most two of the three.
		{"nothing", "a: {type: set, input: 1}", "", ""},
		{"a page alone", "a: " + get, "", ""},
		{"a payment alone", "a: {type: pay, input: 1}", "", ""},
		{"a database alone", "a: {type: sql, input: 1}", "", ""},
		{"a page, then a payment", "a: " + get + "\nb: {type: pay, input: 1}", "a>b", ""},
		{"a database, then a payment", "a: {type: sql, input: 1}\nb: {type: pay, input: 1}", "a>b", ""},
		{"a database, then a page", "a: {type: sql, input: 1}\nb: " + get, "a>b", ""},
		{"a model and a payment", "a: {type: llm}\nb: {type: pay, input: 1}", "a>b", ""},
		{"an agent that reads and one that does not change", "a: {type: agent, agent: clerk}\nb: {type: agent, agent: talker}", "a>b", ""},
		{"an agent that changes, without private data", "a: {type: agent, agent: doer}", "", ""},
		{"a secret for a page that is read",
			"a: {type: http, input: {url: \"https://x.example\", token: \"${secret.BANK}\"}}\nb: {type: llm}", "a>b", ""},
		{"a pure call of a private tool", "a: {type: sum, input: 1}\nb: {type: llm}\nc: {type: pay, input: 1}", "a>b b>c", ""},
		// All three, in every order that matters.
		{"page, database, payment", "a: " + get + "\nb: {type: sql, input: 1}\nc: {type: pay, input: 1}", "a>b b>c", "c"},
		{"database, page, payment", "a: {type: sql, input: 1}\nb: " + get + "\nc: {type: pay, input: 1}", "a>b b>c", "c"},
		{"model, then a post with a secret", "a: {type: llm}\nb: " + signed, "a>b", "b"},
		{"mail and database, then put", "a: {type: mail, input: 1}\nb: {type: sql, input: 1}\nc: {type: put, input: 1}", "a>b b>c", "a c"},
		{"agent that reads, then a payment", "a: {type: agent, agent: clerk}\nb: {type: pay, input: 1}", "a>b", "b"},
		{"agent that may do all", "a: {type: agent, agent: banker}", "", "a"},
		{"default agent and a secret", "a: {type: agent}\nb: " + signed, "a>b", "b"},
		{"agent that changes, after a database", "a: {type: sql, input: 1}\nb: {type: agent, agent: doer}", "a>b", "b"},
		{"a page whose post is the change", "a: " + get + "\nb: {type: sql, input: 1}\nc: " + post, "a>b b>c", "c"},
		{"a post that answers, then nothing", "a: " + signed, "", "a"},
		{"router and a secret", "a: {type: router}\nb: " + signed, "a>b", "b"},
		{"far away", "a: {type: llm}\nb: {type: set}\nc: {type: decision}\nd: {type: noop}\ne: " + signed, "a>b b>c c>d d>e", "e"},
		{"two changes", "a: {type: llm}\nb: " + signed + "\nc: {type: pay, input: 1}", "a>b b>c", "b c"},
		{"a signal", "a: {wait: {event: paid}}\nb: {type: pay, input: \"${secret.BANK}\"}", "a>b", "b"},
		{"a timer", "a: {wait: {for: 1s}}\nb: {type: pay, input: \"${secret.BANK}\"}", "a>b", ""},
		{"what is remembered", "a: {type: pay, input: {to: \"${memory}\", by: \"${secret.BANK}\"}}", "", "a"},
		{"what is remembered, passed on", "a: {type: set, input: \"${memory}\"}\nb: {type: pay, input: \"${secret.BANK}\"}", "a>b", "b"},
		// The change comes before untrusted input.
		{"payment, then model", "a: {type: pay, input: \"${secret.BANK}\"}\nb: {type: llm}", "a>b", ""},
		{"database, payment, page", "a: {type: sql, input: 1}\nb: {type: pay, input: 1}\nc: " + get, "a>b b>c", ""},
		// With an approval between.
		{"model, approval, payment", "a: {type: llm}\nb: " + ask + "\nc: {type: pay, input: \"${secret.BANK}\"}", "a>b b>c", ""},
		{"approval too early", "a: " + ask + "\nb: {type: llm}\nc: {type: pay, input: \"${secret.BANK}\"}", "a>b b>c", "c"},
		{"approval, then strangers again", "a: {type: llm}\nb: " + ask + "\nc: " + get + "\nd: {type: pay, input: " +
			"\"${secret.BANK}\"}", "a>b b>c c>d", "d"},
		{"a tool that asks", "a: {type: llm}\nb: {type: wire, input: \"${secret.BANK}\"}", "a>b", ""},
		{"a tool that asks, and one after it that does not",
			"a: {type: llm}\nb: {type: wire, input: \"${secret.BANK}\"}\nc: {type: pay, input: 1}", "a>b b>c", "c"},
		// On branches, one path around the approval is enough.
		{"both ways lead over it", "a: {type: llm}\nb: " + ask + "\nc: " + ask + "\nd: {type: pay, input: \"${secret.BANK}\"}",
			"a>b|c b>d c>d", ""},
		{"one way leads around it", "a: {type: llm}\nb: " + ask + "\nc: {type: noop}\nd: {type: pay, input: \"${secret.BANK}\"}",
			"a>b|c b>d c>d", "d"},
		{"a branch without strangers", "a: {type: decision}\nb: {type: llm}\nc: {type: pay, input: \"${secret.BANK}\"}", "a>b|c", ""},
		{"a loop back to the payment", "a: {type: pay, max_visits: 3, input: \"${secret.BANK}\"}\n" +
			"b: {type: llm, max_visits: 3}\nc: {type: noop}", "a>b b>a|c", "a"},
		// Joins by needs.
		{"a join behind a model", "a: {type: llm}\nb: {type: sql, input: 1}\nc: {type: pay, needs: [a, b], input: 1}", "", "c"},
		{"a join behind approvals", "a: {type: llm}\nb: {type: approval, needs: [a], input: {message: ok?}}\n" +
			"c: {type: sql, input: 1}\nd: {type: pay, needs: [b, c], input: 1}", "", ""},
		{"a join that waits beside the approval", "a: {type: llm}\nb: {type: approval, needs: [a], input: {message: ok?}}\n" +
			"c: {type: sql, input: 1}\nd: {type: pay, needs: [a, b, c], input: 1}", "", "d"},
		{"beside each other", "a: {type: llm}\nb: {type: pay, input: \"${secret.BANK}\"}\nc: {type: set, needs: [a, b], input: 1}", "", ""},
	} {
		var doc strings.Builder
		doc.WriteString("id: p\n")
		if strings.Contains(c.name, "loop") {
			doc.WriteString("start: a\n")
		}
		doc.WriteString("nodes:\n")
		for line := range strings.SplitSeq(c.nodes, "\n") {
			doc.WriteString("  " + line + "\n")
		}
		if c.edges != "" {
			doc.WriteString("edges:\n")
			for e := range strings.FieldsSeq(c.edges) {
				from, to, _ := strings.Cut(e, ">")
				for i, id := range strings.Split(to, "|") {
					condition := ""
					if i > 0 {
						condition = ", condition: default"
					} else if strings.Contains(to, "|") {
						condition = ", condition: last == 1"
					}
					doc.WriteString("  - {from: " + from + ", to: " + id + condition + "}\n")
				}
			}
		}
		_, problems := planner.Parse([]byte(doc.String()), planner.WithFormat(planner.FormatYAML), planner.WithCatalog(trustCatalog()))
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, doc.String())
			continue
		}
		var got []string
		for _, p := range problems {
			if p.Code == "plan.rule_of_two" {
				got = append(got, p.Node)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: warned of %v, want %q\n%s", c.name, got, c.want, doc.String())
		}
	}
}

// S18: the input of runs counts as untrusted if other systems send it.
func TestRuleOfTwoWithInputFromOutside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, nodes, want string }{
		{"the input is read", `a: {type: pay, input: {to: "${input.to}", by: "${secret.BANK}"}}`, "a"},
		{"the first step without an input", "a: {type: set}\n  b: {type: pay, needs: [a], input: \"${secret.BANK}\"}", "b"},
		{"the input is not read", `a: {type: pay, input: "${secret.BANK}"}`, ""},
		{"an approval between",
			"a: {type: approval, input: {message: \"${input.to}?\"}}\n  b: {type: pay, needs: [a], input: \"${secret.BANK}\"}", ""},
		{"no private data", `a: {type: pay, input: "${input.to}"}`, ""},
	} {
		doc, problems := planner.Parse([]byte("id: p\nnodes:\n  "+c.nodes+"\n"), planner.WithFormat(planner.FormatYAML))
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, untrusted := range []bool{true, false} {
			catalog := trustCatalog()
			catalog.UntrustedInput = untrusted
			got := ""
			for _, p := range doc.Check(catalog) {
				if p.Code == "plan.rule_of_two" {
					got += p.Node
				}
			}
			if want := map[bool]string{true: c.want}[untrusted]; got != want {
				t.Errorf("%s, untrusted %t: warned of %q, want %q", c.name, untrusted, got, want)
			}
		}
	}
}
