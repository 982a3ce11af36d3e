package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// warnedSteps returns the steps with a warning of the rule of two, and the messages.
func warnedSteps(t *testing.T, name, src string, c *planner.Catalog) (steps, messages string) {
	t.Helper()
	d, problems := planner.Parse([]byte(src))
	if problems.Err() != nil {
		t.Fatalf("%s: %v", name, problems)
	}
	var nodes, texts []string
	for _, p := range d.Check(c) {
		if p.Code == "plan.rule_of_two" {
			nodes, texts = append(nodes, p.Node), append(texts, p.Message.String())
		}
	}
	slices.Sort(nodes)
	return strings.Join(nodes, " "), strings.Join(texts, "\n")
}

// S18: the rule of two looks across the border of a block. The steps of the block count as steps of the plan.
func TestRuleOfTwoAcrossBlocks(t *testing.T) {
	t.Parallel()
	const (
		page   = `{type: http, input: {url: "https://x.example"}}`
		pay    = `{type: pay, input: 1}`
		signed = `{type: pay, input: "${secret.BANK}"}`
		ask    = `{type: approval, input: {message: ok?}}`
	)
	needs := func(step, of string) string { return strings.TrimSuffix(step, "}") + ", needs: [" + of + "]}" }
	block := func(steps string) string { return "{do: {nodes: {" + steps + "}}}" }
	for _, c := range []struct{ name, nodes, want string }{
		{"the input outside, the change inside", "a: " + page + ", b: " + needs(block("c: "+signed), "a"), "c"},
		{"the input inside, the change outside", "a: " + block("b: "+page) + ", c: " + needs(signed, "a"), "c"},
		{"private data inside", "a: " + page + ", b: " + block("s: {type: sql, input: 1}") + ", c: " + needs(pay, "a, b"), "c"},
		{"private data outside", "a: {type: sql, input: 1}, b: " + needs(block("c: "+page+", d: "+needs(pay, "c")), "a"), "d"},
		{"two blocks", "a: " + block("b: "+page) + ", c: " + needs(block("d: "+signed), "a"), "d"},
		{"blocks in blocks", "a: " + block("b: "+block("c: "+page)) + ", d: " + needs(block("e: "+block("f: "+signed)), "a"), "f"},
		{"each item", "a: " + page + ", b: {foreach: output.a.list, needs: [a], do: {nodes: {c: " + signed + "}}}", "c"},
		{"in finally", "a: " + page + "}, finally: {b: " + block("c: "+signed), "c"},
		{"finally without a block", "a: " + page + "}, finally: {b: " + signed, "b"},
		{"finally inside", "a: {do: {nodes: {b: " + page + "}, finally: {c: " + signed + "}}}", "c"},
		{"an undo inside", `a: {type: http, input: {url: x}}, b: {needs: [a], input: "${output.a}", do: {nodes: {
			c: {type: put, input: 1, undo: {type: put, input: "${input} ${secret.BANK}"}}}}}`, "c c"},
		// An approval comes first.
		{"an approval outside", "a: " + page + ", q: " + needs(ask, "a") + ", b: " + needs(block("c: "+signed), "q"), ""},
		{"an approval inside", "a: " + page + ", b: " + needs(block("q: "+ask+", c: "+needs(signed, "q")), "a"), ""},
		{"a block that ends with an approval", "a: " + block("b: "+page+", q: "+needs(ask, "b")) + ", c: " + needs(signed, "a"), ""},
		{"an approval on one of two branches", "a: " + block("b: "+page+", q: "+needs(ask, "b")+", r: "+needs("{type: noop}", "b")) +
			", c: " + needs(signed, "a"), "c"},
		{"an approval that may be skipped", "a: " + block("b: "+page+", q: "+
			needs(strings.Replace(ask, "{", `{when: "expr: input.x", `, 1), "b")) + ", c: " + needs(signed, "a"), "c"},
		{"a failure before the approval", "a: {on_error: continue, do: {nodes: {b: " + page + ", q: " + needs(ask, "b") + "}}}, c: " +
			needs(signed, "a"), "c"},
		{"a failure before the approval, by a rule", "a: {on_error: [{code: x, to: continue}], do: {nodes: {b: " + page + ", q: " +
			needs(ask, "b") + "}}}, c: " + needs(signed, "a"), "c"},
		{"a failure that leads on", "a: " + block("b: "+page+", q: "+needs(ask, "b")) + ", c: " +
			strings.Replace(needs(signed, "a"), "{", "{when: failure, ", 1), "c"},
		// At most two of the three.
		{"no private data", "a: " + page + ", b: " + needs(block("c: "+pay), "a"), ""},
		{"the change comes first", "a: " + block("b: "+signed) + ", c: " + needs(page, "a"), ""},
		{"beside each other", "a: " + page + ", b: " + block("c: "+signed), ""},
	} {
		src := "{id: p, nodes: {" + c.nodes + "}}"
		if got, messages := warnedSteps(t, c.name, src, trustCatalog()); got != c.want {
			t.Errorf("%s: warned of %q, want %q\n%s\n%s", c.name, got, c.want, src, messages)
		}
	}
}

// S18: the rule of two looks into stored sub-plans, also into those that a computed plan can name.
func TestRuleOfTwoAcrossSubPlans(t *testing.T) {
	t.Parallel()
	catalog := trustCatalog()
	stored := map[string]string{
		"read":   `{id: read, nodes: {a: {type: http, input: {url: "https://x.example"}}}}`,
		"pay":    `{id: pay, nodes: {a: {type: noop}, b: {type: pay, needs: [a], input: "${secret.BANK}"}}}`,
		"asks":   `{id: asks, nodes: {q: {type: approval, input: {message: ok?}}, b: {type: pay, needs: [q], input: "${secret.BANK}"}}}`,
		"deep":   `{id: deep, nodes: {a: {do: {nodes: {b: {type: plan, plan: pay}}}}}}`,
		"idle":   `{id: idle, nodes: {a: {type: noop}}}`,
		"wires":  `{id: treasury, nodes: {a: {type: wire, input: "${secret.BANK}"}}}`,
		"loops":  `{id: loops, nodes: {a: {type: plan, plan: loops}, b: {type: plan, plan: pay, needs: [a]}}}`,
		"asking": `{id: asking, nodes: {a: {type: wire, input: "${secret.BANK}"}}}`,
	}
	catalog.Plan = func(name, _ string) (planner.PlanInfo, bool) {
		d, problems := planner.Parse([]byte(stored[name]))
		if problems.Err() != nil {
			return planner.PlanInfo{}, false
		}
		p, err := d.Program(trustCatalog())
		return planner.PlanInfo{Program: p}, err == nil
	}
	for _, c := range []struct{ name, nodes, want, message string }{
		{"read, then pay", "a: {type: plan, plan: read}, b: {type: plan, plan: pay, needs: [a]}", "b",
			`step "b" of plan "pay" may change other systems after reading the output of step "a", which may be untrusted input, ` +
				`in a run with private data (the secret "BANK"), and no approval comes first`},
		{"read, then pay here", `a: {type: plan, plan: read}, b: {type: pay, needs: [a], input: "${secret.BANK}"}`, "b", ""},
		{"a page, then a deeper plan", "a: {type: http, input: {url: x}}, b: {type: plan, plan: deep, needs: [a]}", "b",
			`step "b" of plan "pay" may`},
		{"in a block", "a: {type: plan, plan: read}, b: {needs: [a], do: {nodes: {c: {type: plan, plan: pay}}}}", "c", ""},
		{"a plan that asks", "a: {type: plan, plan: read}, b: {type: plan, plan: asks, needs: [a]}", "", ""},
		{"a computed plan", `a: {type: plan, plan: read}, b: {type: plan, plan: "${input.x}", plans: [idle, pay], needs: [a]}`, "b", ""},
		{"computed plans that are safe", `a: {type: plan, plan: read}, b: {type: plan, plan: "${input.x}", plans: [idle, asks],
			needs: [a]}`, "", ""},
		{"a plan that runs itself", "a: {type: plan, plan: read}, b: {type: plan, plan: loops, needs: [a]}", "b", ""},
		{"permissions of the sub-plan", "a: {type: plan, plan: read}, b: {type: plan, plan: wires, needs: [a]}", "b", `of plan "treasury" may`},
		{"a sub-plan whose tool asks", "a: {type: plan, plan: read}, b: {type: plan, plan: asking, needs: [a]}", "", ""},
		{"only a change", "a: {type: plan, plan: idle}, b: {type: plan, plan: pay, needs: [a]}", "", ""},
		{"unknown plans", `a: {type: plan, plan: nowhere}, b: {type: pay, needs: [a], input: "${secret.BANK}"}`, "", ""},
	} {
		got, messages := warnedSteps(t, c.name, "{id: p, nodes: {"+c.nodes+"}}", catalog)
		if got != c.want || !strings.Contains(messages, c.message) {
			t.Errorf("%s: warned of %q, want %q\n%s", c.name, got, c.want, messages)
		}
	}
	catalog.UntrustedInput = true
	src := `{id: p, nodes: {a: {type: plan, plan: pay, input: "${input.x}"}, b: {type: plan, plan: pay, input: 1, needs: [a]}}}`
	if got, messages := warnedSteps(t, "input", src, catalog); got != "a b" {
		t.Errorf("untrusted input: warned of %q\n%s", got, messages)
	}
}
