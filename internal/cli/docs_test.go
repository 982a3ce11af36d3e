package cli_test

import (
	"fmt"
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

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/config"
)

// pages maps the paths of the documentation to their text.
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
	for _, path := range append(files, "../../README.md", "../../examples/README.md", "../../CONTRIBUTING.md", "../../SECURITY.md",
		"../../CHANGELOG.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(text)
	}
	return out
}

// blocks returns the code blocks of a page in one language.
func blocks(page, language string) (out []string) {
	for _, b := range strings.Split(page, "\n```"+language+"\n")[1:] {
		code, _, _ := strings.Cut(b, "\n```")
		out = append(out, code)
	}
	return out
}

var command = regexp.MustCompile(`(?:^|\$\(|\| |&& )(?:[A-Z]+=\S+ )?(?:bin/)?((?:kairos|kairosd) .*)`)

// Every command on the pages exists, has these flags, and takes these arguments.
func TestCommandsOfThePagesAreValid(t *testing.T) {
	t.Parallel()
	seen := 0
	for path, page := range pages(t) {
		for _, b := range codeOf(page) {
			if b.language != "sh" {
				continue
			}
			for line := range strings.Lines(b.code) {
				m := command.FindStringSubmatch(strings.TrimSpace(line))
				if m == nil {
					continue
				}
				text, _, _ := strings.Cut(strings.TrimSuffix(m[1], " &"), " || ")
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
			if strings.HasSuffix(path, "CHANGELOG.md") || strings.HasSuffix(path, "removals.md") {
				continue // these pages name removed commands
			}
			seen++
			if err := exists(rootOf(m[1], silent(io.Discard)), strings.Fields(m[2]+m[3])); err != nil {
				t.Errorf("%s names %s: %v", path, m[0], err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands", seen)
	}
}

// exists returns an error unless a command with these words and flags exists.
func exists(root *cobra.Command, words []string) error {
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd == root || cmd.HasSubCommands() && len(rest) > 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(rest[0]) && rest[0][0] != '-' {
		return fmt.Errorf("no such command")
	}
	for _, w := range rest {
		name, _, _ := strings.Cut(strings.TrimPrefix(w, "--"), "=")
		if strings.HasPrefix(w, "--") && name != "help" && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return fmt.Errorf("no flag --%s", name)
		}
	}
	return nil
}

var link = regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)

// anchors returns the ids of the headings of a page.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		id := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(id, " ", "-")] = true
	}
	return out
}

// The unit in the documentation gives a stopping daemon enough time: connections close, steps
// finish, and the database closes.
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

// Links between pages lead to existing pages, and every page can be reached from README.md.
func TestPagesLinkToExistingPages(t *testing.T) {
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
			if m[2] != "" && !anchors(all[to])[strings.TrimPrefix(m[2], "#")] {
				t.Errorf("%s leads to %s%s, and there is no such heading", path, m[1], m[2])
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

// The settings on the pages about agents and tools are a valid configuration.
func TestSettingsOfThePages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for path, list := range map[string][]string{
		"agents and planning": append(blocks(all["../../docs/guides/agents.md"], "yaml"),
			blocks(all["../../docs/guides/planning.md"], "yaml")...),
		"tools": blocks(all["../../docs/reference/tools.md"], "yaml"),
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

// The programs in the page about embedding print the output shown there.
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
