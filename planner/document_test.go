package planner_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

func hash(t *testing.T, src string) string {
	t.Helper()
	d, problems := planner.Parse([]byte(src))
	if d == nil {
		t.Fatalf("%v\n%s", problems, src)
	}
	return d.Hash
}

// The hash covers everything except `x-` keys, and does not depend on how a plan is written.
func TestHash(t *testing.T) {
	t.Parallel()
	base := "id: p\nnodes:\n  a: {type: set, input: {n: 1, s: 'x'}}\n  b: {type: noop}\nedges: [{from: a, to: b}]\n"
	want := hash(t, base)
	if !regexp.MustCompile("^[0-9a-f]{64}$").MatchString(want) {
		t.Errorf("got hash %q, want lower-case SHA-256", want)
	}
	for name, same := range map[string]string{
		"JSON": `{"id":"p","nodes":{"a":{"type":"set","input":{"n":1,"s":"x"}},"b":{"type":"noop"}},` +
			`"edges":[{"from":"a","to":"b"}]}`,
		"1.0":             strings.Replace(base, "n: 1", "n: 1.0", 1),
		"1e0":             strings.Replace(base, "n: 1", "n: 1e0", 1),
		"+1":              strings.Replace(base, "n: 1", "n: +1", 1),
		"key order":       "edges: [{to: b, from: a}]\nnodes:\n  b: {type: noop}\n  a: {input: {s: x, n: 1}, type: set}\nid: p\n",
		"comments":        "# hello\n" + base,
		"x- keys":         strings.Replace(base, "type: noop", "type: noop, x-color: red", 1) + "x-editor: {zoom: 2}\n",
		"null fields":     strings.Replace(base, "type: noop", "type: noop, tool: ~", 1),
		"byte order mark": "\uFEFF" + base,
		"line ends":       strings.ReplaceAll(base, "\n", "\r\n"),
		"aliases":         "x-n: &n 1\n" + strings.Replace(base, "n: 1", "n: *n", 1),
	} {
		if got := hash(t, same); got != want {
			t.Errorf("%s changes the hash", name)
		}
	}
	for name, other := range map[string]string{
		"another value":          strings.Replace(base, "n: 1", "n: 2", 1),
		"a number as text":       strings.Replace(base, "n: 1", "n: '1'", 1),
		"a nearly equal number":  strings.Replace(base, "n: 1", "n: 1.0000000000000000001", 1),
		"another id":             strings.Replace(base, "id: p", "id: q", 1),
		"a description":          base + "description: d\n",
		"a condition":            strings.Replace(base, "to: b", "to: b, condition: failed", 1),
		"an x- key in an input":  strings.Replace(base, "s: 'x'", "s: 'x', x-y: 1", 1),
		"a null inside an input": strings.Replace(base, "s: 'x'", "s: 'x', z: ~", 1),
		"a second edge":          strings.Replace(base, "edges: [", "edges: [{from: a, to: b, condition: last==1}, ", 1),
		"edges in another order": strings.Replace(base, "edges: [{from: a, to: b}]",
			"edges: [{from: a, to: b}, {from: a, to: b, condition: last==1}]", 1),
		"a different node's type": strings.Replace(base, "noop", "log", 1),
	} {
		if got := hash(t, other); got == want {
			t.Errorf("%s does not change the hash", name)
		}
	}
}

// A stored version can be read after a rule became stricter. A document that cannot be compiled
// stays an error.
func TestLenientRulesAcceptOlderDocuments(t *testing.T) {
	t.Parallel()
	src := []byte("id: a b\nnodes: {input: {type: set, input: 'AKIAIOSFODNN7EXAMPLE ${output.nobody}', later: 1}}")
	if d, problems := planner.Parse(src, planner.WithFormat(planner.FormatYAML)); d != nil || len(problems) != 5 {
		t.Fatalf("got %v, want five errors", problems)
	}
	d, problems := planner.Parse(src, planner.WithFormat(planner.FormatYAML), planner.WithLenientRules())
	if d == nil || len(problems) != 5 || problems.Err() != nil {
		t.Fatalf("got %v, want five warnings", problems)
	}
	if p, err := d.Program(testCatalog()); err != nil || p.Nodes[0].ID != "input" {
		t.Errorf("got %v", err)
	}
	for _, broken := range []string{"nodes: {a: {type: set, input: '${'}}",
		"nodes: {a: {type: noop}}\nedges: [{from: a, to: b}]", "nodes: {a: {}}", "{"} {
		if d, problems := planner.Parse([]byte(broken), planner.WithFormat(planner.FormatYAML), planner.WithLenientRules()); d != nil {
			t.Errorf("%s is reopened: %v", broken, problems)
		}
	}
}

// The ID of a document without one is derived from its content.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	d, _ := planner.Parse([]byte("nodes: {a: {type: noop}}"), planner.WithFormat(planner.FormatYAML))
	if want := "anon-" + d.Hash[:12]; d.ID != want || d.Graph.ID != want {
		t.Errorf("got id %s and %s, want %s", d.ID, d.Graph.ID, want)
	}
	text, err := d.Encode(planner.FormatJSON)
	if err != nil || strings.Contains(string(text), "anon-") {
		t.Errorf("the derived id is written: %s (%v)", text, err)
	}
	s, _ := planner.Parse([]byte(`{"steps": [{"id": "a", "tool": "set"}]}`), planner.WithFormat(planner.FormatJSON))
	if want := "anon-" + s.Hash[:12]; s.Steps.ID != want || s.Kind() != walk.KindSteps {
		t.Errorf("got id %s, want %s", s.Steps.ID, want)
	}
}

// P28, P29, P31: characters that no document may contain are reported with their position.
func TestEncodings(t *testing.T) {
	t.Parallel()
	plan := "nodes: {a: {type: set, input: '%'}}\n"
	for _, c := range []struct{ name, src, want string }{
		{"UTF-16", "\xff\xfen\x00o\x00", "0:0 document.encoding"},
		{"UTF-16 big end first", "\xfe\xff\x00n\x00o", "0:0 document.encoding"},
		{"invalid UTF-8", strings.Replace(plan, "%", "\xff", 1), "1:32 document.encoding"},
		{"overlong UTF-8", strings.Replace(plan, "%", "\xc0\xaf", 1), "1:32 document.encoding"},
		{"surrogate in UTF-8", strings.Replace(plan, "%", "\xed\xa0\x80", 1), "1:32 document.encoding"},
		{"NUL", "\n\n" + strings.Replace(plan, "%", "\x00", 1), "3:32 document.control_character"},
		{"BEL", strings.Replace(plan, "%", "é\x07", 1), "1:33 document.control_character"},
		{"ESC", strings.Replace(plan, "%", "\x1b[31m", 1), "1:32 document.control_character"},
		{"DEL", strings.Replace(plan, "%", "\x7f", 1), "1:32 document.control_character"},
		{"C1", strings.Replace(plan, "%", "\u009b", 1), "1:32 document.control_character"},
		{"escaped NUL in YAML", `nodes: {a: {type: set, input: "\0"}}`, "1:31 document.control_character"},
		{"escaped NUL in JSON", `{"nodes": {"a": {"type": "set", "input": "\u0000"}}}`, "1:42 document.control_character"},
		{"UTF-8 byte order mark", "\uFEFF" + plan, ""},
		{"mojibake is kept (P30)", strings.Replace(plan, "%", "ChÃ¤t", 1), ""},
		{"direction marks are data in an input", strings.Replace(plan, "%", "\u202e", 1), ""},
		{"tabs and line ends", "nodes: {a: {type: set,\tinput: \"a\tb\\r\\n\"}}\r\n", ""},
	} {
		d, problems := planner.Parse([]byte(c.src))
		got := ""
		if d == nil {
			got = strings.TrimSuffix(strings.TrimSpace(problemPlace(problems[0])), "\n")
		}
		if got != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.name, got, problems, c.want)
		}
	}
}

func problemPlace(p planner.Problem) string {
	b, _ := json.Marshal([]int{p.Line, p.Column})
	place := strings.Trim(strings.ReplaceAll(string(b), ",", ":"), "[]")
	return place + " " + p.Code
}

// P46: the name of a file decides its format, else the content does.
func TestFormatOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		want      planner.Format
	}{
		{"plan.json", "a: 1", planner.FormatJSON}, {"PLAN.JSON", "", planner.FormatJSON}, {"plan.yaml", "{}", planner.FormatYAML},
		{"plan.yml", "{}", planner.FormatYAML}, {"", `{"a": 1}`, planner.FormatJSON}, {"plan", "\uFEFF\n {\"a\": 1}", planner.FormatJSON},
		{"", "{}", planner.FormatJSON}, {"", "[1]", planner.FormatJSON}, {"", "{a: 1}", planner.FormatYAML},
		{"", "a: 1", planner.FormatYAML}, {"", "", planner.FormatYAML},
	} {
		if got := planner.FormatOf(c.name, []byte(c.src)); got != c.want {
			t.Errorf("%q with %q: got %s, want %s", c.name, c.src, got, c.want)
		}
	}
	_, problems := planner.Parse([]byte("nodes: {a: {type: noop}}"), planner.WithFormat(planner.FormatJSON))
	if len(problems) != 1 || problems[0].Suggestion.String() != "this does not look like JSON: is it YAML?" {
		t.Errorf("YAML that is called JSON: got %v", problems)
	}
}

// Both ways to parse a graph return errors that match the documented sentinels.
func TestGraphParsers(t *testing.T) {
	t.Parallel()
	g, err := planner.ParseYAML([]byte(fullGraph))
	if err != nil || g.Nodes["fetch"].ID != "get" || g.Nodes["fetch"].Metadata["b"] != "true" {
		t.Fatalf("got %+v, %v", g, err)
	}
	if _, err := planner.ParseYAML([]byte("nodes: {a: {type: noop}, b: {type: noop}}\nedges: [{from: a, to: b}, {from: b, " +
		"to: a}]")); !errors.Is(
		err,
		planner.ErrNoStart,
	) ||
		errors.Is(err, planner.ErrMultipleStarts) {
		t.Errorf("got %v, want ErrNoStart", err)
	}
	err = json.Unmarshal([]byte(`{"nodes": {"a": {"type": "noop"}, "b": {"type": "noop"}, "c": {"type": "noop"}},
		"edges": [{"from": "a", "to": "c"}]}`), g)
	if !errors.Is(err, planner.ErrMultipleStarts) || !strings.Contains(err.Error(), "multiple start nodes found: a, b") {
		t.Errorf("got %v, want ErrMultipleStarts", err)
	}
	if err := json.Unmarshal([]byte(fullSteps), g); err == nil || !strings.Contains(err.Error(), "step plan") {
		t.Errorf("got %v, want a word about step plans", err)
	}
}

// A graph built in Go is checked like a document, but problems have no positions.
func TestGraphInGo(t *testing.T) {
	t.Parallel()
	g := &planner.Graph{Nodes: map[string]planner.Node{"a": {Type: "noop"}, "b": {Type: "set", Input: struct {
		X int `json:"x"`
	}{7}}}, Edges: []planner.Edge{{From: "a", To: "b"}}}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	p, err := g.Compile(nil)
	if err != nil || len(p.Nodes) != 2 || p.Nodes[0].ID != "a" {
		t.Fatalf("got %+v, %v", p, err)
	}
	g.Edges[0].To = "c"
	err = g.Validate()
	if err == nil || strings.Contains(err.Error(), "line") || !strings.Contains(err.Error(), `step "c", which does not exist`) {
		t.Errorf("got %v, want the unknown node without a line", err)
	}
	if err := (&planner.Graph{Nodes: map[string]planner.Node{"a": {Type: "set", Input: make(chan int)}}}).Validate(); err == nil ||
		!strings.Contains(err.Error(), "input of node a") {
		t.Errorf("got %v, want the input that has no JSON form", err)
	}
	if err := (*planner.Graph)(nil).Validate(); err == nil {
		t.Error("a nil graph is valid")
	}
	if err := (&planner.Graph{}).Validate(); err == nil {
		t.Error("an empty graph is valid")
	}
}

// encoding/json writes plans as documents, and reads them back.
func TestJSONOfPlans(t *testing.T) {
	t.Parallel()
	d, _ := planner.Parse([]byte(fullGraph), planner.WithFormat(planner.FormatYAML))
	b, err := json.Marshal(map[string]any{"graph": d.Graph, "node": d.Graph.Nodes["sub"], "edge": d.Graph.Edges[0]})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"edge":{"from":"begin","to":"fetch"}`, `"node":{"id":"sub","type":"plan","plan":"other@3"}`,
		`"timeout":"1m30s"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
	var back struct{ Graph planner.Graph }
	if err := json.Unmarshal(b, &back); err != nil || len(back.Graph.Nodes) != len(d.Graph.Nodes) {
		t.Errorf("got %+v, %v", back.Graph, err)
	}
	s, _ := planner.Parse([]byte(fullSteps), planner.WithFormat(planner.FormatJSON))
	b, err = json.Marshal(s.Steps)
	if err != nil {
		t.Fatal(err)
	}
	var steps planner.StepPlan
	if err := json.Unmarshal(b, &steps); err != nil || len(steps.Steps) != 4 || steps.Steps[3].Condition.Expr == "" {
		t.Errorf("got %+v, %v", steps, err)
	}
	if err := json.Unmarshal([]byte(`{"nodes": {"a": {"type": "noop"}}}`), &steps); err == nil {
		t.Error("a graph is read as a step plan")
	}
	if again := hash(t, string(b)); again != s.Hash {
		t.Errorf("the plan has another hash after its way through Go values")
	}
}

// An empty list of problems is [] and not null.
func TestProblemsJSON(t *testing.T) {
	t.Parallel()
	if b, err := json.Marshal(planner.Problems(nil)); err != nil || string(b) != "[]" {
		t.Errorf("got %s, %v", b, err)
	}
	p := planner.Problem{
		Severity:   planner.SeverityError,
		Message:    message.New("broken"),
		Suggestion: message.New("mend it"),
		Line:       3,
		Column:     7,
	}
	if got := p.String(); got != "line 3, column 7: broken (mend it)" {
		t.Errorf("got %q", got)
	}
}
