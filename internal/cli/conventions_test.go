package cli_test

import (
	"bytes"
	"strings"
	"testing"
)

// ran is the result of a program.
type ran struct {
	out, err string
	code     int
}

func program(t *testing.T, line string) ran {
	t.Helper()
	words := strings.Fields(line)
	var out, errs bytes.Buffer
	s := silent(&out)
	s.Err = &errs
	dir := t.TempDir()
	s.Env = func(key string) string { return map[string]string{"HOME": dir}[key] }
	code := programs[words[0]](t.Context(), s, words[1:])
	return ran{out.String(), errs.String(), code}
}

// Both programs follow the conventions of command lines: results on stdout, errors on stderr with
// exit code 2, and help and version in the usual forms.
func TestConventionsOfCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]ran{
		"kairos":                                     {out: "kairos run "},
		"kairosd":                                    {out: "kairosd serve"},
		"kairos --help":                              {out: "Usage:"},
		"kairos help runs":                           {out: "Lists runs, newest first."},
		"kairos help runs show":                      {out: "Shows a run:"},
		"kairos help nosuch":                         {err: "unknown command \"nosuch\"", code: 2},
		"kairos help runs nosuch":                    {err: "unknown command \"runs nosuch\"", code: 2},
		"kairosd help nosuch":                        {err: "unknown command \"nosuch\"", code: 2},
		"kairosd help serve":                         {out: "Opens the database"},
		"kairos --version":                           {out: "kairos dev"},
		"kairosd --version":                          {out: "kairosd dev"},
		"kairos nosuch":                              {err: "unknown command", code: 2},
		"kairos runs --nosuch":                       {err: "unknown flag: --nosuch", code: 2},
		"kairos runs show":                           {err: "missing argument RUN", code: 2},
		"kairos runs --json":                         {out: `{"hasMore":false,"items":[],"nextCursor":null}`},
		"kairos runs":                                {err: "no runs"},
		"kairos -q runs":                             {},
		"kairos completion":                          {err: "missing argument SHELL", code: 2},
		"kairos completion tcsh":                     {err: "unknown shell \"tcsh\"", code: 2},
		"kairos completion bash":                     {out: "__start_kairos"},
		"kairos completion zsh":                      {out: "#compdef kairos"},
		"kairosd completion fish":                    {out: "kairosd"},
		"kairos __complete completion":               {out: "completion\tPrint a completion script for a shell"},
		"kairos __complete plans graph --format d":   {out: "dot"},
		"kairos __complete server logs --level E":    {out: "ERROR"},
		"kairos __complete run x --on-conflict s":    {out: "skip"},
		"kairos __complete runs --status wai":        {out: "waiting"},
		"kairos __complete approvals --status chang": {out: "changes_requested"},
		"kairos plans convert nosuch.yaml":           {err: "nosuch.yaml", code: 2},
	} {
		got := program(t, line)
		if got.code != want.code || !strings.Contains(got.out, want.out) || want.out == "" && got.out != "" ||
			!strings.Contains(got.err, want.err) {
			t.Errorf("%s: exit %d\nstdout: %s\nstderr: %s", line, got.code, got.out, got.err)
		}
	}
}

// plans convert prints the graph of a step plan, which kairos runs with the same result.
func TestAStepPlanIsConverted(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	steps := s.file("steps.yaml", "id: sum\nsteps:\n  - {id: a, tool: set, params: {n: 1}}\n"+
		"  - {id: b, tool: set, params: {from: a.result.n}}\n")
	graph, _ := s.expect(0, "plans", "convert", steps)
	if !strings.Contains(graph, "from: ${output.a.n}") || strings.Contains(graph, "steps:") {
		t.Fatal(graph)
	}
	file := s.file("graph.yaml", graph)
	s.expect(0, "validate", file)
	if r := s.result(0, "run", file, "--json"); string(r.Output) != `{"from":1}` {
		t.Errorf("the output is %s", r.Output)
	}
	if _, stderr := s.expect(2, "plans", "convert", file); !strings.Contains(stderr, "is a graph already") {
		t.Error(stderr)
	}
	if out, _ := s.expect(0, "plans", "convert", steps, "--to", "json"); !strings.Contains(out, `"from": "${output.a.n}"`) {
		t.Error(out)
	}
	if _, stderr := s.expect(2, "plans", "convert", steps, "--to", "toml"); !strings.Contains(stderr, "use yaml or json") {
		t.Error(stderr)
	}
}
