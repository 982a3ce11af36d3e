package plannertest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"pgregory.net/rapid"
)

// Input is the input of runs of generated plans.
func Input() any { return decode(`{"x": 3, "list": [{"n": 1}, {"n": 2}, {"n": 3}], "none": []}`) }

// BlockInput is the input of runs of generated blocks.
func BlockInput() any {
	return map[string]any{"item": decode(`{"n": 7}`), "index": json.Number("4"), "input": Input()}
}

func decode(text string) any {
	v, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		panic(err) // a constant
	}
	return v
}

// Plans generates documents that use all features of the walk: tokens, needs, `when`, foreach,
// bounded loops, error edges, on_error, approvals, strict, on_failure, and step plans. About one
// document in ten is invalid.
func Plans() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		m := map[string]any{}
		if rapid.IntRange(0, 3).Draw(t, "shape") == 0 {
			m["steps"] = steps(t)
			finallyOfSteps(t, m)
		} else {
			graph(t, m)
			if strict := rapid.SampledFrom([]any{nil, true, false}).Draw(t, "strict"); strict != nil {
				m["strict"] = strict
			}
		}
		if rapid.Bool().Draw(t, "branches") {
			m["on_failure"] = "continue_branches"
		}
		b, err := json.Marshal(m)
		if err != nil {
			panic(err) // made of strings, numbers, lists and maps
		}
		return string(b)
	})
}

func name(i int) string { return fmt.Sprintf("n%d", i) }

// graph generates regions, each walked by one token. The first begins at n0, the others at further
// roots and at nodes with needs.
func graph(t *rapid.T, m map[string]any) {
	count := rapid.IntRange(1, 9).Draw(t, "nodes")
	needs := rapid.Bool().Draw(t, "needs")
	loops := rapid.Bool().Draw(t, "loops")
	nodes, edges := map[string]any{}, []any{}
	region := make([]int, count) // the node at which its token starts
	loop := map[int]bool{}       // regions that may hold loops
	for i := range count {
		n := map[string]any{"type": "work"}
		nodes[name(i)] = n
		behaviour(t, n, i)
		if rapid.IntRange(0, 4).Draw(t, "asks") == 0 {
			n["type"], n["input"] = "approval", map[string]any{"message": "another edge?"}
			delete(n, "undo")
			if on := rapid.SampledFrom([]string{"", "", "continue"}).Draw(t, "on_reject"); on != "" {
				n["on_reject"] = on
			}
		}
		if n["type"] == "work" && rapid.IntRange(0, 7).Draw(t, "block") == 0 {
			block(n)
		}
		if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
			n["ends"] = "ok"
		}
		region[i] = i
		switch {
		case i == 0:
		case needs && rapid.IntRange(0, 2).Draw(t, "activation") > 0:
			var of []any
			for j := range i {
				if !loop[region[j]] && rapid.IntRange(0, 2).Draw(t, "need") == 0 {
					of = append(of, name(j))
				}
			}
			if len(of) > 0 { // else another root
				n["needs"] = of
				if when := rapid.SampledFrom([]any{"", "", "success", "failure", "always", "any_success", "none_failed",
					fmt.Sprintf("output.%s.n==1", of[0]), "expr: last.gone.n > 1",
					fmt.Sprintf("expr: output.%s.n < 2", of[0]),
					map[string]any{"after": "none_failed", "if": fmt.Sprintf("expr: status.%s == 'completed'", of[0])},
					map[string]any{"after": "always", "if": fmt.Sprintf("status.%s!=failed", of[0])},
					map[string]any{"after": "failure", "if": "input.x==3"}}).Draw(t, "when"); when != "" {
					n["when"] = when
				}
			}
		default:
			from := rapid.IntRange(0, i-1).Draw(t, "from")
			region[i] = region[from]
			edges = append(edges, edge(t, from, i))
		}
		if region[i] == i && loops && rapid.Bool().Draw(t, "loop") {
			loop[i] = true
		}
	}
	entered := map[int]bool{}
	for _, e := range edges {
		for i := range count {
			entered[i] = entered[i] || e.(map[string]any)["to"] == name(i)
		}
	}
	for i := range count {
		var targets []string
		for j := i + 1; j < count; j++ {
			if entered[j] && region[j] == region[i] {
				targets = append(targets, name(j))
			}
		}
		if on := onError(t, targets); on != nil {
			nodes[name(i)].(map[string]any)["on_error"] = on
		}
		if rapid.IntRange(0, 9).Draw(t, "end") == 0 {
			edges = append(edges, edge(t, i, walk.End))
		}
	}
	for range rapid.IntRange(0, count).Draw(t, "extra") {
		from, to := rapid.IntRange(0, count-1).Draw(t, "from"), rapid.IntRange(0, count-1).Draw(t, "to")
		if region[from] != region[to] || region[to] == to && (to != 0 || needs) || to <= from && !loop[region[to]] {
			continue
		}
		edges = append(edges, edge(t, from, to))
	}
	for _, e := range edges { // a default edge does not lead out of an approval whose rejection stops the run
		e := e.(map[string]any)
		if from := nodes[e["from"].(string)].(map[string]any); from["type"] == "approval" && from["on_reject"] == nil &&
			e["condition"] == "default" {
			e["condition"] = ""
		}
	}
	order := rapid.Permutation(edges).Draw(t, "order")
	for i := range count { // first steps with a condition
		n := nodes[name(i)].(map[string]any)
		entered := slices.ContainsFunc(order, func(e any) bool { return e.(map[string]any)["to"] == name(i) })
		if n["needs"] == nil && !entered && rapid.IntRange(0, 3).Draw(t, "condition of a first step") == 0 {
			n["when"] = rapid.SampledFrom([]string{"input.x==3", "value.one==2", "expr: value.one == 1", "expr: input.gone > 1"}).
				Draw(t, "when")
		}
	}
	finally(t, m, count)
	m["values"] = map[string]any{"one": 1, "list": []any{1, 2}}
	if rapid.IntRange(0, 3).Draw(t, "result") == 0 {
		last := name(count - 1)
		m["result"] = map[string]any{"status": "${status." + last + "}", "n": rapid.SampledFrom([]string{"${output." + last + " ?? null}",
			"${output." + last + "}"}).Draw(t, "of the result")}
	}
	m["nodes"], m["edges"] = nodes, order
	if !needs || rapid.IntRange(0, 5).Draw(t, "start") == 0 {
		m["start"] = name(0)
	}
}

// block replaces the call of a step with steps.
func block(n map[string]any) {
	inner := map[string]any{"type": "work", "input": map[string]any{"in": "${input}", "one": "${value.one}"}}
	if n["foreach"] != nil {
		inner["input"] = map[string]any{"in": "${input}", "item": "${item}", "at": "${index}"}
	}
	n["do"] = map[string]any{"nodes": map[string]any{"inner": inner}, "result": "${output.inner}"}
	delete(n, "type")
}

// Blocks generates documents as kairosd stores those of blocks that run for each item of a list.
func Blocks() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		m := map[string]any{"each": true}
		graph(t, m)
		nodes := m["nodes"].(map[string]any)
		for i := range len(nodes) {
			if n := nodes[name(i)].(map[string]any); n["type"] == "work" && rapid.Bool().Draw(t, "reads the item") {
				n["input"] = map[string]any{"item": "${item.n}", "at": "${index}", "in": "${input}"}
			}
		}
		b, err := json.Marshal(m)
		if err != nil {
			panic(err) // made of strings, numbers, lists and maps
		}
		return string(b)
	})
}

// finally adds steps that run after all others.
func finally(t *rapid.T, m map[string]any, count int) {
	if rapid.IntRange(0, 3).Draw(t, "finally") > 0 {
		return
	}
	list := map[string]any{}
	steps := rapid.IntRange(1, 3).Draw(t, "finally steps")
	for i := range steps {
		n := map[string]any{"type": "work"}
		last := fmt.Sprintf("n%d", count-1)
		n["input"] = rapid.SampledFrom([]any{nil, "${last}",
			map[string]any{"s": "${status." + last + "}", "o": "${output." + last + " ?? null}"},
			"${output." + last + "}"}).Draw(t, "input of a finally step")
		var of []any
		for j := range i {
			if rapid.Bool().Draw(t, "finally need") {
				of = append(of, fmt.Sprintf("f%d", j))
			}
		}
		rules := []any{nil, nil, "last.status==failed", "expr: last.status != 'completed'", "expr: last.gone.n > 1"}
		if of != nil {
			n["needs"] = of
			rules = append(rules, "failure", "always", "any_success")
		}
		n["when"] = rapid.SampledFrom(rules).Draw(t, "when of a finally step")
		if rapid.IntRange(0, 3).Draw(t, "foreach of a finally step") == 0 {
			n["foreach"] = "${input.list}"
		}
		to := walk.EndName
		if i+1 < steps && rapid.Bool().Draw(t, "a rule leads to the next finally step") {
			to = fmt.Sprintf("f%d", i+1)
		}
		n["on_error"] = rapid.SampledFrom([]any{nil, nil, "skip", []any{map[string]any{"code": "chance", "to": to}}}).
			Draw(t, "on_error of a finally step")
		list[fmt.Sprintf("f%d", i)] = n
	}
	m["finally"] = list
}

// finallyOfSteps adds them to a step plan.
func finallyOfSteps(t *rapid.T, m map[string]any) {
	if rapid.IntRange(0, 3).Draw(t, "finally") > 0 {
		return
	}
	var list []any
	for i := range rapid.IntRange(1, 3).Draw(t, "finally steps") {
		s := map[string]any{"id": fmt.Sprintf("f%d", i), "tool": "work", "params": map[string]any{"last": "${last}"}}
		types := []string{"", "custom"}
		if i > 0 && rapid.Bool().Draw(t, "finally dependency") {
			s["dependencies"] = []any{fmt.Sprintf("f%d", rapid.IntRange(0, i-1).Draw(t, "of"))}
			types = append(types, "failure", "always", "success")
		}
		switch typ := rapid.SampledFrom(types).Draw(t, "condition of a finally step"); typ {
		case "":
		case "custom":
			s["condition"] = map[string]any{"type": typ, "expr": rapid.SampledFrom([]string{"status.n0 == 'failed'", "last.gone.n > 1"}).
				Draw(t, "expr of a finally step")}
		default:
			s["condition"] = map[string]any{"type": typ}
		}
		if rapid.Bool().Draw(t, "a finally step is skipped") {
			s["on_error"] = "skip"
		}
		list = append(list, s)
	}
	m["finally"] = list
}

// onError draws an action, or rules, of which some lead to a later node of the same region.
func onError(t *rapid.T, targets []string) any {
	switch rapid.IntRange(0, 7).Draw(t, "on_error") {
	case 0:
		return "fail"
	case 1:
		return "skip"
	case 2:
		return "continue"
	case 3, 4:
		var rules []any
		for range rapid.IntRange(1, 3).Draw(t, "rules") {
			rule := map[string]any{"to": rapid.SampledFrom(append([]string{"fail", "skip", "continue", walk.EndName}, targets...)).
				Draw(t, "target")}
			if code := rapid.SampledFrom([]any{nil, "chance", "rejected", []any{"timeout", "chance"}, "foreach_not_a_list"}).
				Draw(t, "code"); code != nil {
				rule["code"] = code
			}
			rules = append(rules, rule)
		}
		return rules
	}
	return nil
}

func edge(t *rapid.T, from, to int) any {
	c := rapid.SampledFrom([]string{"", "", "default", "last.n==1", "last.n!=2", "failed", "failed: chance", "failed: timeout, rejected",
		"expr: last.n > 1", "expr: input.x == 3", "expr: last.gone.n > 1", "input.y==1",
		fmt.Sprintf("output.%s.n==%d", name(from), 3)}).
		Draw(t, "condition")
	target := walk.EndName
	if to != walk.End {
		target = name(to)
	}
	return map[string]any{"from": name(from), "to": target, "condition": c}
}

// undo adds a call that undoes the step.
func undo(t *rapid.T, s map[string]any, call map[string]any) {
	if rapid.IntRange(0, 3).Draw(t, "undo") == 0 {
		s["undo"] = call
	}
}

func behaviour(t *rapid.T, n map[string]any, i int) {
	if v := rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "max_visits"); v > 0 {
		n["max_visits"] = v
	}
	input := rapid.SampledFrom([]any{nil, "${last}", map[string]any{"x": "x=${input.x}", "n": "${last.n ?? 0}"}}).Draw(t, "input of undo")
	undo(t, n, map[string]any{"type": "unwork", "input": input})
	switch rapid.IntRange(0, 7).Draw(t, "foreach") {
	case 0, 1:
		n["foreach"] = rapid.SampledFrom([]any{"${input.list}", "${input.list}", "${input.none}", "${last}", "${input.x}",
			"${input.gone}", []any{1, "${input.x}"}, "expr: input.list.filter(e, e.n > 1)", "expr: input.x", "value.list",
			map[string]any{"a": []any{1, 2}, "b": "${value.list}", "except": []any{map[string]any{"a": 1, "b": 2}}}}).
			Draw(t, "list")
		n["max_parallel"] = rapid.IntRange(1, 3).Draw(t, "parallel")
		if rapid.Bool().Draw(t, "input") {
			n["input"] = map[string]any{"item": "${item.n ?? 0}", "at": "${index}"}
		}
	case 2, 3:
		n["input"] = rapid.SampledFrom([]any{"${last}", "${input.x}", map[string]any{"id": name(i), "seen": "x=${input.x}"},
			"${last.gone}"}).
			Draw(t, "input")
	}
}

func steps(t *rapid.T) []any {
	count := rapid.IntRange(1, 7).Draw(t, "steps")
	free := rapid.Bool().Draw(t, "in order")
	// handler: rules may lead to the last step, which then has no dependencies.
	handler := count > 1 && rapid.IntRange(0, 2).Draw(t, "handler") == 0
	var list []any
	for i := range count {
		s := map[string]any{"id": name(i), "tool": "work", "order": i + 1}
		undo(t, s, map[string]any{"tool": "unwork", "params": map[string]any{"done": "${last}"}})
		if rapid.IntRange(0, 4).Draw(t, "asks") == 0 {
			s["tool"], s["params"] = "approval", map[string]any{"message": "another edge?"}
			delete(s, "undo")
			if rapid.IntRange(0, 2).Draw(t, "on_reject") == 0 {
				s["on_reject"] = "continue"
			}
		}
		targets := []string{}
		if handler { // the last step
			targets = []string{name(count - 1)}
		}
		if on := onError(t, targets); on != nil && (i < count-1 || !handler) {
			s["on_error"] = on
		}
		var of []any
		for j := range i {
			if !free && (i < count-1 || !handler) && rapid.IntRange(0, 2).Draw(t, "dependency") == 0 {
				of = append(of, name(j))
			}
		}
		if of != nil {
			s["dependencies"] = of
		}
		if of != nil || free && i > 0 && (i < count-1 || !handler) {
			switch c := rapid.SampledFrom([]string{"", "", "success", "failure", "always", "custom"}).Draw(t, "condition"); c {
			case "":
			case "custom":
				s["condition"] = map[string]any{
					"type": c,
					"expr": rapid.SampledFrom([]string{"last.n > 1", "input.x == 3", "last.gone.n == 1"}).Draw(t, "expr"),
				}
			default:
				s["condition"] = map[string]any{"type": c}
			}
		}
		list = append(list, s)
	}
	return list
}

// Outcomes decides how each iteration and item settles, depending on how often it has run. The
// decision is random, but does not depend on the order of arrival.
type Outcomes struct {
	Seed uint32
	// Failing is how many of 16 fail. If Odd is set, the same number is skipped or cancelled by an
	// operator.
	Failing int
	Odd     bool
}

// DrawOutcomes generates outcomes.
func DrawOutcomes() *rapid.Generator[Outcomes] {
	return rapid.Custom(func(t *rapid.T) Outcomes {
		return Outcomes{
			Seed:    rapid.Uint32().Draw(t, "seed"),
			Failing: rapid.SampledFrom([]int{0, 1, 4, 8}).Draw(t, "failing"),
			Odd:     rapid.IntRange(0, 3).Draw(t, "odd") == 0,
		}
	})
}

// Of returns the settlement of an iteration or item that runs for the time-th time.
func (o Outcomes) Of(p *walk.Program, k walk.VisitKey, item, time int) walk.Settlement {
	h := fnv.New32a()
	fmt.Fprint(h, o.Seed, p.Nodes[k.Node].ID, k.Visit, item, time)
	n := h.Sum32()
	n ^= n >> 15
	s := walk.Settlement{VisitKey: k, Item: item, Status: walk.Completed}
	chance, value := int(n%16), n/16%4
	switch {
	case chance < o.Failing && p.Nodes[k.Node].Type == walk.TypeApproval && value%2 == 0:
		out, f := p.Nodes[k.Node].AnswerOutput("reject", false, "somebody", "", nil)
		if s.Output = out; f != nil {
			s.Status, s.Output, s.Failure = walk.Failed, nil, f
		}
	case chance < o.Failing:
		s.Status, s.Failure = walk.Failed, (&walk.Failure{Code: "chance"}).WithMessage("%s failed", p.Nodes[k.Node].ID)
	case o.Odd && chance == 15:
		s.Status = walk.Skipped
	case o.Odd && chance == 14:
		s.Status = walk.Cancelled
	case n/64%8 == 0:
		s.Output = []any{map[string]any{"n": json.Number("1")}, map[string]any{"n": json.Number("2")}}
	default:
		s.Output = map[string]any{"n": json.Number(fmt.Sprint(value))}
	}
	return s
}
