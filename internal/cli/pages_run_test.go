package cli_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/testing/need"
	"github.com/kairosd/kairosd/planner"
)

// block is a fenced block of a page.
type block struct {
	language string
	excerpt  bool   // labeled as an excerpt, so it is not run
	before   string // the paragraph above it
	code     string
}

var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

var fence = regexp.MustCompile("(?ms)^ *```([^\n]*)\n(.*?)^ *```$")

// codeOf lists the code blocks of a page.
func codeOf(page string) (out []block) {
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		language, rest, _ := strings.Cut(page[m[2]:m[3]], " ")
		text := comment.ReplaceAllString(page[:m[0]], "")
		above := strings.Split(strings.TrimSpace(text), "\n\n")
		out = append(out, block{language, rest == "excerpt", above[len(above)-1], page[m[4]:m[5]]})
	}
	return out
}

// savedAs returns the file name that a page gives to a block.
var savedAs = regexp.MustCompile("(?s)[Ss]ave .*?`([\\w./-]+)`")

// expected are texts that the commands of a page print.
var expected = map[string][]string{
	"README.md":                           {`charge is in doubt`, `{"order":17,"receipt":"r-17"}`},
	"docs/get-started/quick-start.md":     {"exit 1", `{"total":15}`, "exit 3", "approve → done", `{"total":7500}`, `{"total":20}`},
	"docs/tutorials/crash-recovery.md":    {"running", "charge is in doubt", `output: {"order":17,"receipt":"r-17"}`},
	"docs/tutorials/approval-workflow.md": {"pay 20 EUR for A-1", "exit 3", "pay 150 EUR for A-2", "refund of A-3 refused"},
	"docs/tutorials/agent-with-tools.md":  {"exit 3", "EMEA leads with 300."},
	"docs/guides/budgets.md":              {"exit 3", "budget all raised to 1012 tokens", "offline: What is 7 times 8?"},
	"docs/guides/hooks.md":                {`{"status":"accepted"`, `{"status":"duplicate"`, "hook.expression", "1 delivery"},
	"docs/guides/a2a.md":                  {`"id":"greet"`, `"text":"Hello Ada"`, "TASK_STATE_COMPLETED"},
	"docs/guides/files.md":                {"hook invoices created", "accepted", "invoice "},
	"docs/guides/callbacks.md":            {`{"status":"accepted"}`, "callback.unknown", "film-7.mp4"},
	"docs/guides/undo.md": {"exit 1", "2 calls, in this order", "cancelled for Ada", "cancelled before flight.txt", "undone by run",
		"flight: completed", "kairos rerun "},
	"docs/guides/start-runs.md": {"Hello Grace", "Hello Ada", "total: 240"},
	"docs/reference/api.md":     {`"version":1`, `"status":"`},
	"examples/README.md":        {`"publish":true`, `"total":238`},
}

// beside are pages whose commands need the daemon of make run.
var beside = []string{"docs/reference/api.md", "docs/reference/tools.md", "docs/guides/monitoring.md", "examples/README.md"}

// The commands of every page work in the order of the page.
func TestPagesRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds both programs")
	}
	need.Program(t, "bash")
	need.Program(t, "curl")
	need.Program(t, "openssl")
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build(t, bin+"/", "./cmd/...")
	ran := 0
	for path, page := range pages(t) {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		var script strings.Builder
		for _, b := range codeOf(page) {
			if b.language == "sh" && !b.excerpt {
				script.WriteString(b.code)
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^make ([a-z-]+).*$`).FindAllStringSubmatch(script.String(), -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", name, m[1])
			}
		}
		commands := regexp.MustCompile(`(?m)^make .*$`).ReplaceAllString(script.String(), "")
		if strings.TrimSpace(commands) == "" {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, name, page, commands, bin)
		})
	}
	if ran < len(expected) {
		t.Errorf("only %d pages have commands", ran)
	}
}

func runPage(t *testing.T, name, page, commands, bin string) {
	want := expected[name]
	dir := shortDir(t)
	if err := os.Symlink(bin, filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	for _, b := range codeOf(page) {
		if m := savedAs.FindStringSubmatch(b.before); m != nil && b.language != "sh" {
			if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(b.code), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if slices.Contains(beside, name) {
		d := serve(t, filepath.Join(dir, "kairos"), "--examples")
		commands = strings.ReplaceAll(commands, "http://127.0.0.1:8080", strings.TrimSuffix(d.url, "/"))
		commands = strings.ReplaceAll(commands, "curl ", "curl -sS --fail-with-body ")
	}
	commands = strings.ReplaceAll(commands, "127.0.0.1:9090", freeAddress(t))
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"KAIROS_DB=", "KAIROS_SERVER=", "KAIROS_TOKEN=", "KAIROS_CONFIG=", "KAIROSD_DATA=", "KAIROSD_CONFIG=")
	printed, err := os.Create(filepath.Join(dir, "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	cmd.Stdout, cmd.Stderr = printed, printed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // a daemon of a failed script
	out, readErr := os.ReadFile(printed.Name())
	if err != nil || readErr != nil {
		t.Errorf("%v %v\n%s", err, readErr, out)
	}
	for _, w := range want {
		if !strings.Contains(string(out), w) {
			t.Errorf("the commands do not print %s:\n%s", w, out)
		}
	}
}

// freeAddress returns an unused address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Every block of a page is run, parsed, or built by a test, or labeled as an excerpt.
func TestEveryBlockOfThePagesIsTested(t *testing.T) {
	t.Parallel()
	for path, page := range pages(t) {
		blocks := codeOf(page)
		if n := len(regexp.MustCompile("(?m)^[> \t]*(?:```|~~~)").FindAllString(page, -1)); n != 2*len(blocks) {
			t.Errorf("%s has %d fences, and %d blocks are recognized", path, n, len(blocks))
		}
		for _, b := range blocks {
			first, _, _ := strings.Cut(b.code, "\n")
			switch {
			case b.excerpt:
				if !strings.Contains(strings.ToLower(b.before), "excerpt") {
					t.Errorf("%s: %q: the text above does not call it an excerpt", path, first)
				}
			case b.language == "sh",
				b.language == "go" && strings.HasSuffix(path, "embedding.md"),
				b.language == "ini" && strings.HasSuffix(path, "deploy.md"):
			case b.language == "yaml":
				if err := validYAML(b.code); err != nil {
					t.Errorf("%s: %q: %v", path, first, err)
				}
			default:
				t.Errorf("%s: %q: no test covers a block of %q; label it as an excerpt", path, first, b.language)
			}
		}
	}
}

// validYAML accepts a plan or a configuration.
func validYAML(code string) error {
	var keys map[string]any
	if err := yaml.Load([]byte(code), &keys); err != nil {
		return err
	}
	if keys["nodes"] != nil || keys["steps"] != nil {
		_, problems := planner.Parse([]byte(code))
		if len(problems) > 0 {
			return fmt.Errorf("%v", problems)
		}
		return nil
	}
	var c config.Config
	return yaml.Load([]byte(code), &c, yaml.WithKnownFields())
}
