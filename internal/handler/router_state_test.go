package handler_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// The node tools finds the arguments of a call under name_i or under name. It merges results into
// existing ones. The result of a tool that is called once has the name of the tool as its key.
func TestToolsTakeArgumentsByNumberOrName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state string
		want  map[string]string
		log   string
	}{
		"one call, by name": {`selectedTools: [calculator], toolArgs: {calculator: {expression: 1+1}}`,
			map[string]string{"calculator": "2"}, ""},
		"one call, by number": {`selectedTools: [calculator], toolArgs: {calculator_0: {expression: 1+1}}`,
			map[string]string{"calculator": "2"}, ""},
		"several, by number": {`selectedTools: [calculator, oracle, calculator],
			toolArgs: {calculator_0: {expression: 1+1}, calculator_1: {expression: 2+2}}`,
			map[string]string{"calculator_0": "2", "calculator_1": "4", "oracle": `Tool "oracle" not found`}, ""},
		"several, one by name": {`selectedTools: [calculator, calculator],
			toolArgs: {calculator_1: {expression: 2+2}, calculator: {expression: 1+1}}`,
			map[string]string{"calculator_0": "2", "calculator_1": "4"}, ""},
		"results are merged": {`selectedTools: [calculator], toolArgs: {calculator: {expression: 1+1}},
			toolResults: {calculator: 7, before: kept}`,
			map[string]string{"calculator": "2", "before": "kept"}, ""},
		"unused arguments": {`selectedTools: [calculator], toolArgs: {calculator: {expression: 1+1}, calculator_7: {expression: 2+2}}`,
			map[string]string{"calculator": "2"}, "no selected tool accepts these arguments: calculator_7"},
	} {
		run, rows := converse(t, script(), `nodes: {tools: {type: tools, input: {messages: [{role: user, content: hi}], `+c.state+`}}}`)
		if run.Status != domain.RunCompleted {
			t.Errorf("%s: %s %+v", name, run.Status, run.Error)
			continue
		}
		var state struct{ ToolResults map[string]any }
		if err := json.Unmarshal(run.Output, &state); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for k, v := range state.ToolResults {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonvalue.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			got[k] = jsonvalue.Text(v)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if log := string(rows[len(rows)-1].Log); c.log == "" && strings.Contains(log, "warn") || !strings.Contains(log, c.log) {
			t.Errorf("%s: log %s", name, log)
		}
	}
}

// A state without messages, or with a field of another type, fails every node of a router graph.
// Validation rejects a plan with such a state.
func TestAStateWithoutMessagesIsAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow with the race detector, and starts nothing concurrently")
	}
	t.Parallel()
	for _, typ := range []string{"router", "tools", "generator"} {
		for state, want := range map[string]string{
			`{selectedTools: [calculator]}`:                      "messages is missing",
			`{messages: hello}`:                                  "messages is not a list",
			`{messages: [], selectedTools: calculator}`:          "selectedTools is not a list of tool names",
			`{messages: [], toolArgs: [1]}`:                      "toolArgs is not an object",
			`{messages: [], toolResults: none}`:                  "toolResults is not an object",
			`{messages: [hello], response: "", toolResults: {}}`: "messages[0] is not an object",
		} {
			run, _ := converse(t, script(), `nodes: {state: {type: set, input: `+state+`}, node: {type: `+typ+`}}
edges: [{from: state, to: node}]`)
			if run.Status != domain.RunFailed || run.Error.Code != walk.CodeInvalidInput || !strings.Contains(run.Error.Message, want) {
				t.Errorf("%s %s: %s %+v", typ, state, run.Status, run.Error)
			}
			doc, problems := planner.Parse(
				[]byte(`nodes: {node: {type: `+typ+`, input: `+state+`}}`),
				planner.WithFormat(planner.FormatYAML),
			)
			if problems.Err() == nil && doc != nil {
				_, err := doc.Program(nil)
				t.Errorf("%s %s is accepted: %v %v", typ, state, problems, err)
			} else if !strings.Contains(problems.Err().Error(), want) {
				t.Errorf("%s %s: %v", typ, state, problems)
			}
		}
	}
}

// An object without the fields of a state becomes the text of the user.
func TestAnyOtherObjectStartsAState(t *testing.T) {
	t.Parallel()
	run, _ := converse(t, script(), `nodes: {tools: {type: tools, input: {question: "What time is it?"}}}`)
	if run.Status != domain.RunCompleted || !strings.Contains(string(run.Output), `"role":"user"`) {
		t.Errorf("%s %s %+v", run.Status, run.Output, run.Error)
	}
}
