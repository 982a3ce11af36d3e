package importer_test

import (
	"testing"
	"time"
)

// A job with a matrix over steps that are not all commands becomes a block for each combination. A timeout of a job
// with several steps is that of a block.
func TestJobsOfGitHubActionsAsBlocks(t *testing.T) {
	t.Parallel()
	p, d := imported(t, "ci.yml", `
on: {workflow_dispatch: {inputs: {level: {type: string, default: info}}}}
jobs:
  test:
    strategy: {matrix: {os: [linux, macos]}, max-parallel: 1}
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - name: Check
        run: echo ${{ matrix.os }} ${{ inputs.level }}
      - name: Tell
        if: failure()
        run: echo broken
  deploy:
    needs: test
    timeout-minutes: 10
    continue-on-error: true
    steps: [{run: ./build.sh}, {run: ./deploy.sh}]
  tidy:
    needs: deploy
    timeout-minutes: 5
    steps: [{run: ./tidy.sh}]
`, "GitHub Actions workflow")
	test := d.Graph.Nodes["test"]
	if test.Do == nil || test.Foreach == nil || test.MaxParallel != 1 || test.Input != "${input}" || len(test.Do.Nodes) != 3 ||
		time.Duration(test.Timeout) != 20*time.Minute {
		t.Fatalf("test: %+v\n%s", test, p.Source)
	}
	inside := test.Do.Nodes
	if inside["test-1"].Type != "fail" || inside["test-Check"].Needs[0] != "test-1" || inside["test-Tell"].When != "failure" {
		t.Errorf("the steps of test:\n%s", p.Source)
	}
	has(t, p, "# Line 8: step test-1 uses actions/checkout@v4: replace it", "${item.os}", "${input.level}")
	deploy := d.Graph.Nodes["deploy"]
	if deploy.Do == nil || len(deploy.Do.Nodes) != 2 || deploy.OnError != "continue" || time.Duration(deploy.Timeout) != 10*time.Minute ||
		deploy.Needs[0] != "test" {
		t.Errorf("deploy: %+v\n%s", deploy, p.Source)
	}
	tidy := d.Graph.Nodes["tidy"]
	if tidy.Type != "exec" || time.Duration(tidy.Timeout) != 5*time.Minute || tidy.Needs[0] != "deploy" {
		t.Errorf("tidy: %+v\n%s", tidy, p.Source)
	}
}
