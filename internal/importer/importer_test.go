package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/importer"
	"github.com/kairosd/kairosd/planner"
)

// imported imports a file with one plan.
func imported(t *testing.T, file, source, format string) (importer.Plan, *planner.Document) {
	t.Helper()
	got, plans, err := importer.Import(file, []byte(source))
	if err != nil || got != format || len(plans) != 1 {
		t.Fatalf("format %q, %d plans, %v", got, len(plans), err)
	}
	d, problems := planner.Parse(plans[0].Source, planner.WithFormat(planner.FormatYAML))
	if problems.Err() != nil {
		t.Fatalf("%v\n%s", problems, plans[0].Source)
	}
	return plans[0], d
}

// has checks that a plan contains texts.
func has(t *testing.T, p importer.Plan, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(string(p.Source), text) {
			t.Errorf("the plan lacks %q:\n%s", text, p.Source)
		}
	}
}

func TestAWorkflowOfGitHubActions(t *testing.T) {
	t.Parallel()
	p, d := imported(t, ".github/workflows/ci.yml", `
name: CI
on:
  push: {branches: [main]}
  schedule: [{cron: "30 2 * * *"}, {cron: "0 9 * * 1"}]
  workflow_dispatch:
    inputs:
      level: {type: choice, options: [debug, info], default: info, description: Log level}
      dry: {type: boolean, required: true}
env: {GOFLAGS: -mod=mod}
jobs:
  build:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v4
      - name: Compile
        run: go build ./... && echo "${GOFLAGS} ${{ inputs.level }}"
        timeout-minutes: 5
        env: {TOKEN: "${{ secrets.TOKEN }}"}
      - name: Tell
        if: failure()
        run: echo broken
      - name: Quoted
        run: echo '${{ inputs.level }}'
      - name: Odd
        if: github.ref == 'refs/heads/main'
        run: echo main
  test:
    needs: build
    strategy: {matrix: {os: [linux, macos], go: ["1.25", "1.26"], exclude: [{os: macos, go: "1.25"}]}}
    steps:
      - run: echo ${{ matrix.os }}
      - run: echo ${{ matrix.go }}
  publish:
    needs: [build, test]
    if: always()
    steps: [{run: ./publish.sh, continue-on-error: true}]
  announce:
    if: github.repository == 'shop/app'
    steps: [{run: ./announce.sh}]
`, "GitHub Actions workflow")
	has(t, p, "id: ci", "cron: 30 2 * * *", "- debug", "- dry", "default: info",
		"# Line 4: the trigger push has no counterpart",
		`# Line 5: create a schedule for "0 9 * * 1"`,
		"step build-1 uses actions/checkout@v4: replace it",
		`export GOFLAGS="$${1}"`, `"$${GOFLAGS} $${INPUTS_LEVEL}"`, "${input.level}", "${secret.TOKEN}", "timeout: 5m",
		"# Line 40: job announce has the condition github.repository == 'shop/app': write it as when",
		"step build-Quoted has a shell or an expression without a counterpart",
		"when: failure", "github.ref == 'refs/heads/main': write it as when",
		"echo $${MATRIX_OS}\n", "${item.go}", "when: none_failed", "except:", "when: always", "on_error: continue")
	build := d.Graph.Nodes["build"].Do
	if build == nil {
		t.Fatalf("the job build, which has a timeout, is not a block:\n%s", p.Source)
	}
	if n := build.Nodes["build-Compile"]; len(n.Needs) != 1 || n.Needs[0] != "build-1" {
		t.Errorf("build-Compile needs %v", n.Needs)
	}
	if n := d.Graph.Nodes["test"]; n.Type != "exec" || n.Foreach == nil || len(n.Needs) == 0 {
		t.Errorf("test: %+v", n)
	}
	if n := build.Nodes["build-1"]; n.Type != "fail" {
		t.Errorf("an action without a counterpart is %q, and must fail", n.Type)
	}
	if i, j := strings.Index(string(p.Source), "  build-1:"), strings.Index(string(p.Source), "  publish:"); i < 0 || j < i {
		t.Errorf("the steps are not in the order of the file:\n%s", p.Source)
	}
}

func TestAWorkflowOfDagu(t *testing.T) {
	t.Parallel()
	p, d := imported(t, "nightly.yaml", `
name: nightly
schedule: "CRON_TZ=Europe/Madrid 0 3 * * *"
params: "DAY=today REGION=north"
env: ["TARGET=/srv/${DAY}"]
timeoutSec: 3600
maxActiveRuns: 1
steps:
  - name: fetch data
    command: curl -o data.csv https://example.com/${REGION}
    retryPolicy: {limit: 2, intervalSec: 30}
  - name: load
    script: |
      psql < data.csv
      echo done
    depends: [fetch data]
    continueOn: {failure: true}
  - name: image
    executor: {type: docker, config: {image: alpine}}
    command: echo hi
  - name: only-mondays
    command: echo monday
    preconditions: [{condition: "date +%u", expected: "1"}]
  - name: child
    call: report
    depends: load
handlerOn:
  failure: {command: echo failed}
  exit: {command: rm -f data.csv}
`, "Dagu workflow")
	has(t, p, "id: nightly", "time_zone: Europe/Madrid", "cron: 0 3 * * *", "timeout: 1h", "key: nightly", "limit: 1",
		"max_attempts: 3", "${input.DAY}", `export REGION="$${2}"`, "https://example.com/$${REGION}", `export TARGET="/srv/$${DAY}"`,
		"on_error: continue", "step image has the executor docker: replace it", "step only-mondays has preconditions",
		"plan: report", "on-failure:", "last.status==failed", "on-exit:")
	if n := d.Graph.Nodes["child"]; len(n.Needs) != 1 || n.Needs[0] != "load" || n.Type != "plan" {
		t.Errorf("child: %+v", n)
	}
	_, chain := imported(t, "chain.yaml", "steps: [{command: echo 1}, echo 2, {command: echo 3}]\n", "Dagu workflow")
	if n := chain.Graph.Nodes["step-3"]; len(n.Needs) != 1 || n.Needs[0] != "step-2" {
		t.Errorf("steps without depends are no chain: %+v", n)
	}
}

func TestACrontab(t *testing.T) {
	t.Parallel()
	format, plans, err := importer.Import("crontab", []byte(`# jobs
MAILTO=ops@example.com
CRON_TZ=Europe/Madrid
PATH=/usr/bin:/bin
30 2 * * 1-5 /usr/local/bin/backup --full
@daily  /usr/local/bin/backup --small
*/5 * * * * mail -s "100\% ok" ops%first%second ${HOME}
@reboot /usr/bin/warm
`))
	if err != nil || format != "crontab" || len(plans) != 4 {
		t.Fatalf("%q, %d plans, %v", format, len(plans), err)
	}
	has(t, plans[0], "id: backup", "cron: 30 2 * * 1-5", "time_zone: Europe/Madrid", `export PATH="$${1}"`, "/usr/local/bin/backup --full")
	has(t, plans[1], "id: backup-2", "'@daily'")
	has(t, plans[2], `100% ok`, "first\n", "second $${HOME}", "stdin:")
	has(t, plans[3], "id: warm", "@reboot has no counterpart")
	if strings.Contains(string(plans[3].Source), "schedule:") {
		t.Errorf("@reboot is a schedule:\n%s", plans[3].Source)
	}
}

func TestAGraphOfLangGraph(t *testing.T) {
	t.Parallel()
	p, d := imported(t, "agent.json", `{"nodes": [{"id": "__start__", "type": "schema"}, {"id": "agent", "type": "runnable"},
 {"id": "tools", "type": "runnable"}, {"id": "save", "type": "runnable"}, {"id": "__end__", "type": "schema"}],
 "edges": [{"source": "__start__", "target": "agent"}, {"source": "agent", "target": "tools", "conditional": true},
 {"source": "tools", "target": "agent"}, {"source": "agent", "target": "save", "conditional": true, "data": "done"},
 {"source": "save", "target": "__end__"}]}`, "graph of LangGraph")
	has(t, p, "type: router", "type: tools", "type: generator", "size(last.selectedTools) > 0",
		"node save is a function: write what it does")
	if d.Graph.Start != "router" || d.Graph.Nodes["save"].Type != "fail" {
		t.Errorf("start %q, save %+v", d.Graph.Start, d.Graph.Nodes["save"])
	}
}

// P56: a file of another format, a damaged one, and a hostile one have a clear error.
func TestABadFileIsNotImported(t *testing.T) {
	t.Parallel()
	for file, source := range map[string]string{
		"empty.yml":  "",
		"list.yml":   "[1, 2]",
		"plan.yaml":  "id: a\nnodes: {a: {type: noop}}\n",
		"text.txt":   "nothing to see here",
		"bad.yml":    "jobs: {a: [",
		"alias.yml":  "a: &a {b: 1}\njobs: {x: *a}\n",
		"large.yml":  "jobs: {a: {}}\n" + strings.Repeat("# comment\n", 200_000),
		"binary.bin": "\x00\x01\x02",
		"deep.yml":   "jobs: " + strings.Repeat("{a: ", 20_000),
	} {
		if format, plans, err := importer.Import(file, []byte(source)); err == nil {
			t.Errorf("%s is imported as %s with %d plans", file, format, len(plans))
		}
	}
}

// Whatever a file contains, an imported plan is valid.
func FuzzImport(f *testing.F) {
	f.Add("ci.yml", []byte("on: push\njobs: {a: {needs: a, if: always(), steps: [{run: 'echo ${{ x }} ${'}]}}\n"))
	f.Add("d.yaml", []byte("steps: {a: {command: [x, y], depends: b}}\nhandlerOn: {exit: echo}\nparams: [A: 1]\n"))
	f.Add("crontab", []byte("A=1\n* * * * * a%b\\%c ${x}\n"))
	f.Add("g.json", []byte(`{"nodes": [{"id": "a"}, {"id": "a"}], "edges": [{"source": "a", "target": "a", "conditional": true}]}`))
	f.Fuzz(func(t *testing.T, file string, source []byte) {
		_, plans, err := importer.Import(file, source)
		if err != nil {
			return
		}
		for _, p := range plans {
			if _, problems := planner.Parse(p.Source, planner.WithFormat(planner.FormatYAML)); problems.Err() != nil {
				t.Errorf("%v\n%s", problems, p.Source)
			}
		}
	})
}

// Commands get the outputs of the commands that they depend on. Requests and calls of workflows are converted, if nothing in
// them is computed.
func TestDaguOutputsRequestsAndCalls(t *testing.T) {
	t.Parallel()
	p, d := imported(t, "flow.yaml", `
type: graph
steps:
  - {name: count, command: wc -l data.csv, output: LINES}
  - {name: other, command: date, output: WHEN}
  - {name: show, depends: report, command: 'echo "${LINES}"'}
  - {name: report, depends: count, executor: {type: http, config: {timeout: 10, headers: {A: b}, body: done}},
     command: POST https://example.com/x}
  - {name: asked, depends: count, type: http, command: 'GET https://example.com/$LINES', output: PAGE}
  - {name: child, call: daily report, params: 'DAY=mon "SIZE=3"'}
  - {name: computed, call: daily, params: {DAY: "${WHEN}"}}
`, "Dagu workflow")
	has(t, p, "url: https://example.com/x", "method: POST", "A: b", "body: done", "timeout: 10s", "plan: daily-report", "DAY: mon",
		"# Line 9: step asked computes a request", "# Line 9: the output of step asked is not passed",
		"# Line 11: step computed computes params")
	n := d.Graph.Nodes["show"].Input.(map[string]any)["args"].([]any)
	want := []any{"-e", "-c", "export LINES=\"$(printf %s \"$${1}\")\"\necho \"$${LINES}\"", "sh", "${output.count.stdout}"}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Errorf("the command that uses an output (-want +got):\n%s", diff)
	}
}
