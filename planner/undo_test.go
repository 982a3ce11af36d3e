package planner_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// P58: every mistake in an undo is reported at the undo, with what to write instead.
func TestUndoProblems(t *testing.T) {
	t.Parallel()
	c := &planner.Catalog{Tools: map[string]planner.ToolInfo{
		"charge": {Effect: walk.EffectUnsafe}, "look": {Effect: walk.EffectRead}, "refund": {Effect: walk.EffectIdempotent},
	}}
	for name, test := range map[string]struct{ node, want string }{
		"valid":            {"{type: charge, undo: {tool: refund, input: {id: '${last.id}', of: '${output.a.id}'}}}", ""},
		"by type":          {"{type: charge, undo: {type: refund}}", ""},
		"a person":         {"{type: charge, undo: {type: approval, input: {message: 'Take the parcel back'}}}", ""},
		"an item":          {"{type: charge, foreach: '${input.list}', undo: {tool: refund, input: '${item.id} ${index} ${last.id}'}}", ""},
		"not idempotent":   {"{type: charge, undo: {tool: charge}}", `warning undo.unsafe the undo of step "a" is not idempotent`},
		"declared":         {"{type: charge, undo: {tool: charge, effect: idempotent}}", ""},
		"no action":        {"{type: charge, undo: {input: 1}}", `error undo.action the undo of step "a" calls nothing`},
		"not an object":    {"{type: charge, undo: refund}", "error field.type undo must be an object, not text"},
		"unknown tool":     {"{type: charge, undo: {tool: refond}}", `error node.tool_unknown unknown tool "refond"`},
		"unknown key":      {"{type: charge, undo: {tool: refund, needs: [a]}}", `error field.unknown unknown key "needs" in undo`},
		"a wait":           {"{type: charge, undo: {type: wait, input: {for: 1s}}}", "error undo.type a step of type wait"},
		"nothing happens":  {"{type: charge, undo: {tool: look}}", `warning undo.no_effect the undo of step "a" has no side effects`},
		"of a read":        {"{type: look, undo: {tool: refund}}", `error undo.nothing step "a" has no side effects to undo: its class is read`},
		"of an approval":   {"{type: approval, input: {message: x}, undo: {tool: refund}}", `error undo.nothing step "a"`},
		"an item outside":  {"{type: charge, undo: {tool: refund, input: '${item}'}}", "error ref.item ${item} is used outside a foreach"},
		"an unknown step":  {"{type: charge, undo: {tool: refund, input: '${output.b}'}}", `error ref.node_unknown the reference ${output.b}`},
		"a malformed text": {"{type: charge, undo: {tool: refund, input: '${outpt.a}'}}", `error ref.malformed unknown reference "outpt"`},
		"the whole list": {"{type: charge, foreach: '${input.list}', undo: {tool: refund, input: '${output.a}'}}",
			"error undo.item a foreach is undone item by item: ${output.a} has no value"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, problems := planner.Parse([]byte("{id: p, nodes: {a: " + test.node + "}}"))
			if doc != nil {
				problems = doc.Check(c)
			}
			var got []string
			for _, p := range problems {
				got = append(got, string(p.Severity)+" "+p.Code+" "+p.Message.String())
				if p.Line == 0 {
					t.Errorf("%s has no line", p.Code)
				}
			}
			if text := strings.Join(got, "\n"); test.want == "" && text != "" || !strings.HasPrefix(text, test.want) {
				t.Errorf("got %q, want %q", text, test.want)
			}
		})
	}
	_, problems := planner.Parse([]byte("id: p\nsteps:\n  - {id: a, tool: charge, undo: {tool: refund, agentId: b}}\n"))
	if len(problems) == 0 || problems[0].Code != "step.action" || problems[0].Line != 3 {
		t.Errorf("two actions of an undo in a step plan: %v", problems)
	}
}

// An undo survives encoding, and a step plan as a graph keeps it.
func TestUndoIsKept(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"{id: p, nodes: {a: {type: charge, undo: {tool: refund, input: {id: '${last.id ?? null}'}, retry: {max_attempts: 3}}}}}",
		"{id: p, steps: [{id: a, tool: charge, undo: {tool: refund, params: {id: a.result.id}, retry: {maxAttempts: 2}, timeout: 5s}}]}",
	} {
		doc, problems := planner.Parse([]byte(src))
		if doc == nil {
			t.Fatal(problems)
		}
		roundTrip(t, doc)
		if doc.Steps == nil {
			continue
		}
		g, problems := doc.Steps.ToGraph(nil)
		undo := g.Nodes["a"].Undo
		if len(problems) > 0 || undo == nil || undo.Tool != "refund" || undo.Input.(map[string]any)["id"] != "${output.a.id}" ||
			undo.Retry.MaxAttempts != 2 {
			t.Errorf("as a graph: %+v %v", undo, problems)
		}
	}
}

// The values of an undo are those of the time when the step completed, and its input refers to them.
func TestUndoValues(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse([]byte(`{id: p, values: {unit: EUR}, nodes: {a: {type: charge, foreach: "${input.list}",
		undo: {tool: refund, input: {id: "${last.id}", "n": "$${no} ${index}: ${item.n}", unit: "${value.unit}",
			key: "k-${secret.KEY}", "gone": "${last.x ?? 7}"}}}}}`))
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	input := map[string]any{"list": []any{map[string]any{"n": "zero"}, map[string]any{"n": "one"}}}
	w := walk.New(p, walk.Facts{RunID: "r", Input: input})
	values, failure := walk.UndoValues(w, walk.VisitKey{Node: 0, Visit: 1}, 1, map[string]any{"id": "ch_2"})
	if failure != nil {
		t.Fatal(failure)
	}
	source := p.Nodes[0].UndoInput(func(text string) string { return "input." + strings.Fields(text)[0] })
	want := map[string]any{"id": "${input.last.id}", "n": "$${no} ${input.index}: ${input.item.n}", "unit": "${input.value.unit}",
		"key": "k-${secret.KEY}", "gone": "${input.last.x}"}
	for k, v := range want {
		if source.(map[string]any)[k] != v {
			t.Errorf("%s: got %v, want %v", k, source.(map[string]any)[k], v)
		}
	}
	if values["last.id"] != "ch_2" || values["item.n"] != "one" || values["value.unit"] != "EUR" || values["last.x ?? 7"] == nil ||
		len(values) != 5 {
		t.Errorf("got %v", values)
	}
}
