package cli_test

import (
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/config"
)

// pages are the pages that people read, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, path := range append(files, "../../README.md", "../../examples/README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(text)
	}
	return out
}

// blocks are the code of a page that is in one language.
func blocks(page, language string) (out []string) {
	for _, b := range strings.Split(page, "\n```"+language+"\n")[1:] {
		code, _, _ := strings.Cut(b, "\n```")
		out = append(out, code)
	}
	return out
}

var command = regexp.MustCompile(`(?:^|\$\(|\$ |\| |&& )(?:[A-Z]+=\S+ )?(?:bin/)?((?:kairos|kairosd) .*)`)

// Every command of the pages is there, with these flags, and takes these arguments.
func TestCommandsOfThePagesAreTaken(t *testing.T) {
	t.Parallel()
	seen := 0
	for path, page := range pages(t) {
		for _, code := range append(blocks(page, "sh"), blocks(page, "console")...) {
			for line := range strings.Lines(code) {
				m := command.FindStringSubmatch(strings.TrimSpace(line))
				if m == nil || strings.HasPrefix(m[1], "kairosd is ") {
					continue
				}
				text, _, _ := strings.Cut(m[1], " || ")
				if strings.Contains(m[0], "$(") {
					text, _, _ = strings.Cut(text, ")")
				}
				words := shellWords(t, text)
				seen++
				if len(words) > 1 && words[1] == "completion" {
					continue
				}
				if err := taken(rootOf(words[0], silent(io.Discard)), words[1:]); err != nil {
					t.Errorf("%s: %q: %v", path, strings.TrimSpace(line), err)
				}
			}
		}
		for _, m := range regexp.MustCompile("`(kairosd?) ([a-z-]+)([^`]*)`").FindAllStringSubmatch(page, -1) {
			if m[2] == "completion" {
				continue
			}
			seen++
			if cmd, _, err := rootOf(m[1], silent(io.Discard)).Find([]string{m[2]}); err != nil || cmd.Name() != m[2] {
				t.Errorf("%s names a command that is not there: %s", path, m[0])
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands", seen)
	}
}

var link = regexp.MustCompile(`\]\(([^)#: ]+)(?:#[^)]*)?\)`)

// The unit in the documentation gives a stopping daemon the time that it takes:
// connections close, steps finish, and the database closes.
func TestTheServiceUnitWaitsForAStop(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guides/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindSubmatch(page)
	if m == nil {
		t.Fatal("the unit has no TimeoutStopSec")
	}
	if seconds, err := strconv.Atoi(string(m[1])); err != nil || time.Duration(seconds)*time.Second < 35*time.Second {
		t.Errorf("TimeoutStopSec=%s, and a stop may take %s (%v)", m[1], 35*time.Second, err)
	}
}

// Links between the pages lead somewhere, and from the README every page is reached.
func TestPagesLeadToEachOther(t *testing.T) {
	t.Parallel()
	all := pages(t)
	reached := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if reached[path] {
			return
		}
		reached[path] = true
		for _, m := range link.FindAllStringSubmatch(all[path], -1) {
			to := filepath.ToSlash(filepath.Join(filepath.Dir(path), m[1]))
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s leads to %s, which is not there", path, m[1])
			}
			if _, page := all[to]; page {
				visit(to)
			}
		}
	}
	visit("../../README.md")
	for path := range all {
		if !reached[path] {
			t.Errorf("nobody who begins with the README finds %s", path)
		}
	}
}

// The quick start works when it is pasted.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds kairos")
	}
	page := pages(t)["../../docs/get-started/quick-start.md"]
	dir := t.TempDir()
	build(t, filepath.Join(dir, "bin")+"/", "./cmd/kairos")
	yaml := blocks(page, "yaml")
	if len(yaml) != 2 {
		t.Fatalf("%d files, want 2", len(yaml))
	}
	for i, name := range []string{"quick.yaml", "quick-config.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(yaml[i]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	cmd := exec.CommandContext(t.Context(), bash, "-euo", "pipefail", "-c", strings.Join(blocks(page, "sh"), "\n"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_DATA_HOME="+dir, "KAIROS_DB=", "KAIROS_SERVER=", "KAIROS_CONFIG=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"exit 1", `{"total":15}`, "exit 3", "approve leads to: done", `{"total":7500}`, `{"total":20}`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the quick start does not show %s:\n%s", want, out)
		}
	}
}

// The commands of the pages about examples, the API, and tools work when they are
// pasted, next to the daemon of `make run`.
func TestSnippets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds both programs")
	}
	for _, name := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s", name)
		}
	}
	all := pages(t)
	dir := shortDir(t)
	build(t, filepath.Join(dir, "bin")+"/", "./cmd/...")
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	d := serve(t, filepath.Join(dir, "kairos"), "--examples")
	for path, want := range map[string][]string{
		"../../examples/README.md":      {`"publish":true`, `"total":238`},
		"../../docs/reference/api.md":   {`"version":1`, `"status":"`},
		"../../docs/reference/tools.md": nil,
	} {
		if plan := blocks(all[path], "yaml"); filepath.Base(path) == "api.md" {
			if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(plan[0]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		script := strings.ReplaceAll(strings.Join(blocks(all[path], "sh"), "\n"), "http://127.0.0.1:8080", strings.TrimSuffix(d.url, "/"))
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, "curl ", "curl -sS --fail-with-body "))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_DATA_HOME="+dir, "KAIROS_DB=", "KAIROS_SERVER=", "KAIROS_CONFIG=", "KAIROSD_DATA=", "KAIROSD_CONFIG=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		for _, w := range want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: the commands do not print %s:\n%s", path, w, out)
			}
		}
	}
}

// The settings on the pages about agents and tools are a valid configuration.
func TestSettingsOfThePages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for path, list := range map[string][]string{
		"agents and planning": append(blocks(all["../../docs/guides/agents.md"], "yaml"), blocks(all["../../docs/guides/planning.md"], "yaml")...),
		"tools":               blocks(all["../../docs/reference/tools.md"], "yaml"),
	} {
		if len(list) < 3 {
			t.Fatalf("%s has %d settings", path, len(list))
		}
		name := written(t, t.TempDir(), "kairos.yaml", strings.Join(list, "\n")+"\n")
		if _, err := config.Load(name); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The programs of the page about embedding say what the page says.
func TestEmbeddedPrograms(t *testing.T) {
	t.Parallel()
	page := pages(t)["../../docs/guides/embedding.md"]
	programs := blocks(page, "go")
	want := []string{"ask started\nask completed\nyes started\nyes completed\nwelcome back, ana <nil>\n", "You said HELLO <nil>\n"}
	if len(programs) != len(want) {
		t.Fatalf("%d programs, want %d", len(programs), len(want))
	}
	for i, src := range programs {
		f, err := parser.ParseFile(token.NewFileSet(), "main.go", src, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if strings.Contains(imp.Path.Value, "/internal") {
				t.Errorf("program %d imports %s", i+1, imp.Path.Value)
			}
		}
		if testing.Short() {
			continue
		}
		dir := t.TempDir()
		main := filepath.Join(dir, "main.go")
		if err := os.WriteFile(main, []byte(src+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		build(t, filepath.Join(dir, "program"), main)
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "program")).CombinedOutput()
		if err != nil || string(out) != want[i] {
			t.Errorf("program %d: %v, %q, want %q", i+1, err, out, want[i])
		}
	}
}

// build compiles a program of the repository, or a file that uses its packages.
func build(t *testing.T, to, what string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", to, what)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", what, err, out)
	}
}
