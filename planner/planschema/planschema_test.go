package planschema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/plannertest"
	"github.com/kairosd/kairosd/planner/planschema"
	"github.com/kairosd/kairosd/planner/walk"
)

// catalog is what a small server offers.
func catalog() *planner.Catalog {
	return &planner.Catalog{
		Tools: map[string]planner.ToolInfo{
			"http": {Effect: walk.EffectUnsafe, Schema: map[string]any{"type": "object", "additionalProperties": false,
				"required": []any{"url"}, "properties": map[string]any{"retries": map[string]any{"type": "integer"},
					"method": map[string]any{"type": "string"}, "body": true,
					"url": map[string]any{"type": "string", "description": "The address."}}}},
			"tree": {Effect: walk.EffectPure, Schema: map[string]any{"$ref": "#/$defs/node",
				"$defs": map[string]any{"node": map[string]any{}}}},
		},
		Agents: map[string]planner.AgentInfo{"billing": {}},
		Skills: map[string]planner.SkillInfo{"answer": {Agent: "billing"}},
	}
}

// plain returns a schema as plain JSON values.
func plain(t testing.TB, schema map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func compiled(t testing.TB, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.schema.json", plain(t, schema)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// value reads a document as an editor does. The parser treats null as absent, so nulls are removed.
func value(src []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		return nil, err
	}
	text, err := json.Marshal(withoutNulls(v))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

func withoutNulls(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for key, e := range x {
			if x[key] = withoutNulls(e); e == nil {
				delete(x, key)
			}
		}
	case []any:
		for i, e := range x {
			x[i] = withoutNulls(e)
		}
	}
	return v
}

// agree checks that a document which the schema rejects has a problem. Wrong arguments of a tool are
// a warning of the parser.
func agree(t testing.TB, schema *jsonschema.Schema, c *planner.Catalog, src []byte) {
	t.Helper()
	v, err := value(src)
	if err != nil {
		return // not a document for an editor
	}
	_, problems := planner.Parse(src, planner.WithCatalog(c))
	if err := schema.Validate(v); err != nil && len(problems) == 0 {
		t.Errorf("the schema rejects a valid plan: %v\n%s", err, src)
	}
}

var update = flag.Bool("update", false, "write the schema of the documentation")

// The schema of the documentation is current. It names no tools of a server. The examples refer to
// it.
func TestTheSchemaOfTheDocumentation(t *testing.T) {
	t.Parallel()
	const file = "../../docs/reference/plan.schema.json"
	want, err := json.MarshalIndent(planschema.Of(nil), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not current; run make docs (%v)", file, err)
	}
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, example := range files {
		src, err := os.ReadFile(example)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(src, []byte("# yaml-language-server: $schema=../docs/reference/plan.schema.json\n")) {
			t.Errorf("%s does not name its schema in the first line", example)
		}
	}
}

// The examples and random plans match the schema.
func TestPlansMatchTheSchema(t *testing.T) {
	t.Parallel()
	schema := compiled(t, planschema.Of(nil))
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := value(src)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		src := plannertest.Plans().Draw(r, "plan")
		v, err := value([]byte(src))
		if err != nil {
			r.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			r.Errorf("%v\n%s", err, src)
		}
	})
}

// The schema accepts the plans of the documentation and of the tests of the parser that have no
// error.
func TestTheSchemaIsAtMostAsStrictAsTheParser(t *testing.T) {
	t.Parallel()
	var plans [][]byte
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllSubmatch(text, -1) {
			plans = append(plans, m[1])
		}
	}
	cases, err := filepath.Glob("../testdata/problems/*.txt")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	document := regexp.MustCompile("(?s)\n== [^\n]*\n(.*?)-- problems\n")
	for _, file := range cases {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range document.FindAllSubmatch(text, -1) {
			plans = append(plans, m[1])
		}
	}
	own, all := compiled(t, planschema.Of(nil)), compiled(t, planschema.Of(catalog()))
	for _, src := range plans {
		agree(t, own, nil, src)
		agree(t, all, catalog(), src)
	}
}

// places are documents with each object of the language. The object is at PLACE.
var places = map[string]string{
	"graph":        "nodes: {a: {type: noop}}\nPLACE",
	"stepPlan":     "steps: [{id: a, tool: x}]\nPLACE",
	"node":         "nodes: {a: {type: noop, PLACE}}",
	"step":         "steps: [{id: a, tool: x, PLACE}]",
	"edge":         "nodes: {a: {type: noop}, b: {type: noop}}\nedges: [{from: a, to: b, PLACE}]",
	"retry":        "nodes: {a: {type: noop, retry: {max_attempts: 2, PLACE}}}",
	"stepRetry":    "steps: [{id: a, tool: x, retry: {maxAttempts: 2, PLACE}}]",
	"backoff":      "nodes: {a: {type: noop, retry: {max_attempts: 2, backoff: {initial: 1s, PLACE}}}}",
	"when":         "nodes: {a: {type: noop}, b: {type: noop, needs: [a], when: {after: success, PLACE}}}",
	"template":     "templates: {t: {type: noop, PLACE}}\nnodes: {a: {use: t}}",
	"stepTemplate": "templates: {t: {tool: x, PLACE}}\nsteps: [{id: a, use: t}]",
	"block":        "nodes: {a: {do: {nodes: {b: {type: noop}}, PLACE}}}",
	"undo":         "nodes: {a: {type: x, undo: {tool: y, PLACE}}}",
	"stepUndo":     "steps: [{id: a, tool: x, undo: {tool: y, PLACE}}]",
	"rule":         "nodes: {a: {type: noop, on_error: [{to: fail, PLACE}]}}",
	"stepRule":     "steps: [{id: a, tool: x, on_error: [{to: fail, PLACE}]}]",
	"condition":    "steps: [{id: a, tool: x, condition: {type: success, PLACE}}]",
	"defaults":     "nodes: {a: {type: noop}}\ndefaults: {PLACE}",
	"limits":       "nodes: {a: {type: noop}}\nlimits: {PLACE}",
	"concurrency":  "nodes: {a: {type: noop}}\nconcurrency: {key: a, PLACE}",
	"schedule":     "id: a\nnodes: {a: {type: noop}}\nschedule: {cron: \"@daily\", PLACE}",
	"profile":      "nodes: {a: {type: noop}}\nprofiles: {dev: {PLACE}}",
	"profileStep":  "nodes: {a: {type: noop}}\nprofiles: {dev: {nodes: {a: {PLACE}}}}",
	"wait":         "nodes: {a: {type: wait, input: {for: 1s, PLACE}}}",
	"approval":     "nodes: {a: {type: approval, input: {message: ok, PLACE}}}",
	"answer": "nodes: {a: {type: approval, input: {message: ok, answers: [{id: x, kind: approve, PLACE}, " +
		"{id: y, kind: reject}]}}}",
	"fail": "nodes: {a: {type: fail, input: {PLACE}}}",
}

// definitions returns the objects of the schema.
func definitions(t *testing.T) map[string]any {
	return plain(t, planschema.Of(nil))["definitions"].(map[string]any)
}

// properties returns the keys of an object. An object can be one of several forms.
func properties(definition map[string]any) map[string]any {
	if p, ok := definition["properties"].(map[string]any); ok {
		return p
	}
	for _, form := range definition["anyOf"].([]any) {
		if p := form.(map[string]any)["properties"]; p != nil {
			return p.(map[string]any)
		}
	}
	return nil
}

// The parser and the schema have the same keys of each object.
func TestTheSchemaHasTheKeysOfTheParser(t *testing.T) {
	t.Parallel()
	for name, definition := range definitions(t) {
		place, ok := places[name]
		if !ok {
			t.Errorf("places lacks %s", name)
			continue
		}
		want := []string{}
		for key := range properties(definition.(map[string]any)) {
			want = append(want, key)
		}
		slices.Sort(want)
		_, problems := planner.Parse([]byte(strings.Replace(place, "PLACE", "qqqqqqqqqqqqqqqqqqqq: 1", 1)))
		if problems.Err() == nil {
			t.Errorf("%s: the parser accepts an unknown key", name)
		}
		if name == "fail" {
			continue // its error shows the form instead of the keys
		}
		var got []string
		for _, p := range problems {
			if list, ok := strings.CutPrefix(p.Suggestion.String(), "known keys: "); ok {
				got = strings.Split(list, ", ")
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the parser has %v, the schema %v", name, got, want)
		}
	}
}

// wrongValues are values of a wrong type for each type of a schema.
var wrongValues = map[string]string{"string": "[1]", "integer": "[1]", "number": "[1]", "boolean": "[1]", "array": "{a: {}}",
	"object": "[1]"}

// The parser rejects each value of a type that the schema does not allow.
func TestTheParserRejectsTheTypesThatTheSchemaRejects(t *testing.T) {
	t.Parallel()
	schema := compiled(t, planschema.Of(nil))
	tested := 0
	for name, definition := range definitions(t) {
		for key, p := range properties(definition.(map[string]any)) {
			kind, _ := p.(map[string]any)["type"].(string)
			if _, fixed := p.(map[string]any)["enum"]; fixed {
				kind = "string"
			}
			wrong, ok := wrongValues[kind]
			if !ok {
				continue
			}
			place := regexp.MustCompile(`\b`+key+`: [^,}\n]+, `).ReplaceAllString(places[name], "")
			src := strings.Replace(place, "PLACE", fmt.Sprintf("%s: %s", key, wrong), 1)
			v, err := value([]byte(src))
			if err != nil {
				continue // the key occurs twice
			}
			tested++
			if schema.Validate(v) == nil {
				t.Errorf("%s: the schema accepts %s", name, src)
			}
			if _, problems := planner.Parse([]byte(src)); problems.Err() == nil {
				t.Errorf("%s: the parser accepts %s", name, src)
			}
		}
	}
	if tested < 80 {
		t.Errorf("only %d keys were tested", tested)
	}
}

// Every step type of the language is in the schema.
func TestTheSchemaHasEveryStepType(t *testing.T) {
	t.Parallel()
	node := definitions(t)["node"].(map[string]any)["properties"].(map[string]any)["type"].(map[string]any)["anyOf"].([]any)
	var got []string
	for _, form := range node {
		if name, ok := form.(map[string]any)["const"].(string); ok {
			got = append(got, name)
		}
	}
	if want := planner.StepTypes(); !slices.Equal(got, want) {
		t.Errorf("the schema has %v, the language %v", got, want)
	}
}

// With a catalog, the schema has the names of a server and the arguments of its tools.
func TestTheSchemaOfAServer(t *testing.T) {
	t.Parallel()
	schema := compiled(t, planschema.Of(catalog()))
	for src, valid := range map[string]bool{
		`nodes: {a: {type: http, input: {url: "https://example.com"}}}`:                           true,
		`nodes: {a: {type: tool, tool: http, input: {url: "https://example.com", retries: 2}}}`:   true,
		`nodes: {a: {type: http, input: {url: "${input}", retries: "${input.retries}"}}}`:         true,
		`nodes: {a: {type: http, input: "${input}"}}`:                                             true,
		`nodes: {a: {type: tree, input: {any: 1}}}`:                                               true,
		`nodes: {a: {type: llm_call, input: hello}}`:                                              true,
		`nodes: {a: {type: agent, agent: billing}}`:                                               true,
		`steps: [{id: a, skillId: answer}]`:                                                       true,
		`steps: [{id: a, tool: http, params: {url: "https://example.com"}}]`:                      true,
		`nodes: {a: {type: htp, input: {url: "https://example.com"}}}`:                            false,
		`nodes: {a: {type: http, input: {uri: "https://example.com"}}}`:                           false,
		`nodes: {a: {type: tool, tool: http, input: {url: "https://example.com", retries: two}}}`: false,
		`nodes: {a: {type: agent, agent: biling}}`:                                                false,
		`steps: [{id: a, skillId: anser}]`:                                                        false,
		`steps: [{id: a, tool: http, params: {uri: "https://example.com"}}]`:                      false,
	} {
		v, err := value([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != valid {
			t.Errorf("%s: %v", src, err)
		}
	}
	empty := &planner.Catalog{}
	if err := compiled(t, planschema.Of(empty)).Validate(map[string]any{"nodes": map[string]any{}}); err != nil {
		t.Errorf("a server without tools: %v", err)
	}
}
