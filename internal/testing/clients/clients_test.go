// Package clients tests the OpenAPI description: a linter accepts it, and the clients that are
// generated from it work with a daemon.
package clients_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/testing/need"
)

// This directory contains the programs that use the clients, and the versions of all tools.
const sources = "../../../tools/clients"

// The clients store a plan, start runs of it, wait for them, list them page by page, resume a failed
// one, and read a problem.
func TestGeneratedClients(t *testing.T) {
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
}

// daemon is a running kairosd.
type daemon struct {
	url, token  string
	description []byte
}

// start starts kairosd with an empty directory. It stops with the test.
func start(t *testing.T) *daemon {
	t.Helper()
	dir := t.TempDir()
	bin, data, config := filepath.Join(dir, "kairosd"), filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	run(t, ".", nil, "go", "build", "-o", bin, "github.com/kairosd/kairosd/cmd/kairosd")
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
	d := &daemon{url: strings.TrimRight(strings.TrimPrefix(lines.Text(), "kairosd is ready at "), "/")}
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
	if out, err := command(dir, nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		need.Missing(t, "npm", "cannot install the packages of %s: %v\n%s", sources, err, out)
	}
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
