// Package clients tests kairosd with programs of other projects. A linter accepts the OpenAPI description, the clients that
// are generated from it work with a daemon, and so does the inspector of the Model Context Protocol.
package clients_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/testing/need"
)

// This directory contains the programs that use the clients, and the versions of all tools.
const sources = "../../../tools/clients"

// The clients store a plan, start runs of it, wait for them, list them page by page, resume a failed
// one, and read a problem.
func TestClientsOfOtherProjects(t *testing.T) {
	t.Parallel()
	d := start(t)
	t.Run("linter", func(t *testing.T) {
		t.Parallel()
		run(t, d.withPackages(t), nil, "node", "lint.mjs", "openapi.json")
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		dir, env := d.workspace(t), append(d.env(t), "GOFLAGS=-mod=readonly")
		if out, err := command(dir, env, "go", "mod", "download").CombinedOutput(); err != nil {
			need.Missing(t, "oapi-codegen", "cannot download the generator of Go clients: %v\n%s", err, out)
		}
		run(t, dir, env, "go", "tool", "oapi-codegen", "-config", "oapi-codegen.yaml", "openapi.json")
		run(t, dir, env, "go", "run", ".")
	})
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		dir := d.withPackages(t)
		run(t, dir, nil, "node_modules/.bin/openapi-typescript", "openapi.json", "--output", "api.d.ts")
		run(t, dir, nil, "node_modules/.bin/tsc", "--project", ".")
		run(t, dir, d.env(t), "node", "out/use.js")
	})
	t.Run("MCP inspector", func(t *testing.T) {
		t.Parallel()
		inspector := filepath.Join(d.withPackages(t), "node_modules/@modelcontextprotocol/inspector-cli/build/index.js")
		d.store(t, `
id: greet
expose: [mcp]
input: {type: object, required: [name], properties: {name: {type: string}}}
nodes:
  hello: {type: set, input: "hello ${input.name}"}
`)
		over := map[string][]string{
			"http":  {d.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + d.token},
			"stdio": {filepath.Join(d.bin, "kairos"), "mcp", "--server", d.url, "--token", d.token},
		}
		for name, target := range over {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				inspect := func(args ...string) string {
					return run(t, ".", nil, "node", slices.Concat([]string{inspector}, target, args)...)
				}
				var list struct{ Tools []mcpTool }
				must(t, json.Unmarshal([]byte(inspect("--method", "tools/list")), &list))
				at := slices.IndexFunc(list.Tools, func(l mcpTool) bool { return l.Name == "greet" })
				if at < 0 || !list.Tools[at].Annotations.ReadOnlyHint ||
					!slices.Equal(list.Tools[at].InputSchema.Required, []string{"name"}) {
					t.Fatalf("tools: %+v", list.Tools)
				}
				out := inspect("--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada")
				if !strings.Contains(out, "hello Ada") {
					t.Errorf("the tool returned %s", out)
				}
			})
		}
	})
}

// mcpTool is a tool as the inspector prints it.
type mcpTool struct {
	Name        string
	InputSchema struct{ Required []string }
	Annotations struct{ ReadOnlyHint bool }
}

// daemon is a running kairosd.
type daemon struct {
	url, token  string
	bin         string // directory of the programs
	description []byte
	install     sync.Once // of the packages
	installing  error
}

// start starts kairosd with an empty directory. It stops with the test.
func start(t *testing.T) *daemon {
	t.Helper()
	dir := t.TempDir()
	bin, data, config := filepath.Join(dir, "kairosd"), filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	run(t, ".", nil, "go", "build", "-o", dir+"/", "github.com/kairosd/kairosd/cmd/kairosd", "github.com/kairosd/kairosd/cmd/kairos")
	must(t, os.WriteFile(config, []byte("tools: {http: {allow_private: [127.0.0.0/8]}}\n"), 0o600))
	cmd := command(dir, nil, bin, "serve", "--data", data, "--listen", "127.0.0.1:0", "--config", config)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "kairosd is ready at ") {
		t.Fatalf("kairosd does not start: %q", lines.Text())
	}
	d := &daemon{bin: dir, url: strings.TrimRight(strings.TrimPrefix(lines.Text(), "kairosd is ready at "), "/")}
	go func() {
		for lines.Scan() { // keep the pipe empty
		}
	}()
	d.token = strings.TrimSpace(run(t, dir, nil, bin, "token", "create", "--data", data, "--role", "author", "--name", "clients"))
	response, err := http.Get(d.url + "/api/v1/openapi.json")
	must(t, err)
	defer response.Body.Close()
	d.description, err = io.ReadAll(response.Body)
	must(t, err)
	return d
}

// store stores a plan.
func (d *daemon) store(t *testing.T, plan string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, d.url+"/api/v1/plans", strings.NewReader(plan))
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+d.token)
	r.Header.Set("Content-Type", "application/yaml")
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode >= 300 {
		t.Fatalf("POST /plans: %s %s %v", answer.Status, text, err)
	}
}

// workspace returns a directory with the sources and the description.
func (d *daemon) workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(sources)))
	must(t, os.WriteFile(filepath.Join(dir, "openapi.json"), d.description, 0o600))
	return dir
}

// withPackages returns a workspace with the packages of package-lock.json.
func (d *daemon) withPackages(t *testing.T) string {
	t.Helper()
	npm, dir := need.Program(t, "npm"), d.workspace(t)
	need.Program(t, "node")
	shared := filepath.Join(d.bin, "packages")
	d.install.Do(func() {
		if d.installing = os.CopyFS(shared, os.DirFS(sources)); d.installing == nil {
			out, err := command(shared, nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput()
			if err != nil {
				d.installing = fmt.Errorf("%w\n%s", err, out)
			}
		}
	})
	if d.installing != nil {
		need.Missing(t, "npm", "cannot install the packages of %s: %v", sources, d.installing)
	}
	must(t, os.Symlink(filepath.Join(shared, "node_modules"), filepath.Join(dir, "node_modules")))
	return dir
}

// env returns the environment of a client: the server, a token, and an address that fails twice and
// then works.
func (d *daemon) env(t *testing.T) []string {
	t.Helper()
	var requests atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) <= 2 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(target.Close)
	return []string{"KAIROS_SERVER=" + d.url, "KAIROS_TOKEN=" + d.token, "KAIROS_TARGET=" + target.URL}
}

func command(dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), time.Second
	return cmd
}

// run runs a program, and returns its output. The test ends if it fails.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	var errors strings.Builder
	cmd := command(dir, env, name, args...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%.4000s%.4000s", name, strings.Join(args, " "), err, out, errors.String())
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
