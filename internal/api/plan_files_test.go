package api_test

import (
	"strings"
	"testing"
)

// Plan files that name each other are stored together or not at all. Bad input P64: files that cannot be read
// together are refused, with the file and the position. P63: so is a document without its files.
func TestPlanFiles(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const leaf = `"lib/leaf.yaml":"id: leaf\ninput: {type: object, required: [n]}\nnodes: {a: {type: set, input: 1}}\n"`
	body := func(files ...string) string {
		return `{"root":"main.yaml","files":{` + strings.Join(files, ",") + `}}`
	}
	const main = `"main.yaml":"id: main\nnodes: {a: {type: plan, plan: ./lib/leaf.yaml, input: {}}}\n"`
	for name, c := range map[string]struct {
		body, want string
	}{
		"a file is missing": {body(main), `"line":2,"column":31`},
		"a file is invalid": {body(main, `"lib/leaf.yaml":"id: leaf\nnodes: {a: {type: sett}}\n"`), `"file":"lib/leaf.yaml"`},
		"the root is invalid": {body(`"main.yaml":"id: main\nnodes: {a: {type: plan, plan: ./lib/leaf.yaml}, b: {type: sett}}\n"`, leaf),
			`"column":59,"file":"main.yaml"`},
		"no root":  {body(leaf), `file \"main.yaml\" not found`},
		"no files": {body(), `at least 1`},
		"a cycle":  {body(main, `"lib/leaf.yaml":"id: leaf\nnodes: {a: {type: plan, plan: ../main.yaml}}\n"`), "main.yaml → lib/leaf.yaml → main.yaml"},
		"outside":  {body(`"main.yaml":"id: main\nnodes: {a: {type: plan, plan: ../../etc/passwd}}\n"`), "outside the directory"},
	} {
		if a := s.ask(t, "author", "POST /plan-files", c.body); a.status != 422 || !strings.Contains(a.text, c.want) {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.text, c.want)
		}
	}
	if a := s.ask(t, "viewer", "GET /plans", ""); strings.Contains(a.text, `"leaf"`) {
		t.Errorf("a part was stored: %s", a.text)
	}
	if a := s.ask(t, "operator", "POST /plan-files", body(main, leaf)); a.status != 403 {
		t.Errorf("an operator: %d %s", a.status, a.text)
	}
	a := s.ask(t, "viewer", "POST /plan-file-checks", body(main, leaf))
	if a.status != 200 || !strings.Contains(a.text, `plan leaf will reject this input`) || !strings.Contains(a.text, `"file":"lib/leaf.yaml"`) {
		t.Errorf("a check: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "viewer", "POST /plan-file-checks", body(main)); a.status != 200 || !strings.Contains(a.text, `"valid":false`) {
		t.Errorf("a check of one file: %d %s", a.status, a.text)
	}
	for range 2 { // the key makes the second request a repetition
		a = s.ask(t, "author", "POST /plan-files?reason=first", body(main, leaf), "Idempotency-Key: once")
		if a.status != 200 || strings.Count(a.text, `"version":1`) != 2 {
			t.Fatalf("%d %s", a.status, a.text)
		}
	}
	if a := s.ask(t, "viewer", "GET /plans/main/versions/1", ""); !strings.Contains(a.text, `plan: leaf, input`) {
		t.Errorf("the stored source: %s", a.text)
	}
	// A document that is sent alone is refused, with the position.
	a = s.ask(t, "author", "POST /plans", `{"id":"main","nodes":{"a":{"type":"plan","plan":"./lib/leaf.yaml"}}}`)
	if a.status != 422 || !strings.Contains(a.text, `"code":"plan.file"`) || !strings.Contains(a.text, `"line":1,"column":49`) {
		t.Errorf("a document alone: %d %s", a.status, a.text)
	}
	a = s.ask(t, "author", "POST /runs", `{"dryRun":true,"input":{},"files":`+body(strings.Replace(main, "{}", "{n: 1}", 1), leaf)+`}`)
	if a.status != 201 || !strings.Contains(a.text, "draft-main") {
		t.Errorf("a dry run: %d %s", a.status, a.text)
	}
	if a := s.ask(t, "author", "POST /runs", `{"files":`+body(main, leaf)+`}`); a.status != 422 || !strings.Contains(a.text, "dryRun") {
		t.Errorf("files without dryRun: %d %s", a.status, a.text)
	}
}
