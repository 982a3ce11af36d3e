package crashtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/testing/proof"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// inject returns the bug's file with the bug.
func (b bug) inject(t *testing.T) (path, text string) {
	t.Helper()
	path = filepath.Join(root(t), filepath.FromSlash(b.file))
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = string(src)
	for _, e := range b.edits {
		old, with := e.old, e.new
		if e.mark != "" {
			old, with = "", e.new+"\n"
			for line := range strings.Lines(text) {
				if strings.HasSuffix(line, " //seed:"+e.mark+"\n") {
					old = line
				}
			}
		}
		if n := strings.Count(text, old); n != 1 || old == "" {
			t.Fatalf(
				"the bug %q no longer fits: %s contains its text or its mark %q %d times; update the seed, or remove it if "+
					"the code cannot have the bug",
				b.name,
				b.file,
				e.mark,
				n,
			)
		}
		text = strings.Replace(text, old, with, 1)
	}
	return path, text
}

// tests returns the names of the tests in a package, or in all packages below it if the name ends with
// "/...".
func tests(t *testing.T, pkg string) (names []string) {
	t.Helper()
	dir, below := strings.CutSuffix(pkg, "/...")
	patterns := []string{dir + "/*_test.go"}
	if below {
		patterns = append(patterns, dir+"/*/*_test.go")
	}
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			if name, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ = strings.Cut(name, "(")
				names = append(names, "Test"+name)
			}
		}
	}
	return names
}

// Each bug names tests that exist: go test passes if no test has the name.
func TestSeededBugsNameTests(t *testing.T) {
	t.Parallel()
	for _, b := range bugs {
		for _, pattern := range strings.Split(b.run, "|") {
			name, _, _ := strings.Cut(pattern, "/")
			if !slices.ContainsFunc(tests(t, b.pkg), regexp.MustCompile(name).MatchString) {
				t.Errorf("%s: %s has no test %s", b.name, b.pkg, name)
			}
		}
	}
}

// Every bug can still be applied to the source, and the result compiles.
func TestSeededBugsApply(t *testing.T) {
	t.Parallel()
	var pkgs []string
	for _, b := range bugs {
		if pkg := "./" + filepath.ToSlash(filepath.Dir(b.file)); !slices.Contains(pkgs, pkg) {
			pkgs = append(pkgs, pkg)
		}
	}
	c := newChecker(t, pkgs...)
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if err := c.check(b.inject(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// apply writes the bug into a copy of its file, and returns the overlay file for the compiler.
func (b bug) apply(t *testing.T) string {
	t.Helper()
	path, mended := b.inject(t)
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(b.file))
	if err := os.WriteFile(changed, []byte(mended), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}

// A test that cannot fail proves nothing. Each of these bugs is injected in turn, and the tests
// must detect every one.
func TestSeededBugsAreCaught(t *testing.T) {
	if proof.Large() == 0 {
		t.Skip("KAIROS_PROOF is not set")
	}
	caught := 0
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if only := os.Getenv("KAIROS_BUG"); only != "" && !strings.Contains(b.name, only) {
				t.Skip("KAIROS_BUG names others")
			}
			cmd := exec.Command("go", "test", "-short", "-count=1", "-failfast", "-timeout=2m", "-run", b.run, b.pkg)
			cmd.Dir = root(t)
			for _, v := range os.Environ() {
				if !strings.HasPrefix(v, "KAIROS_") && !strings.HasPrefix(v, "GOFLAGS=") {
					cmd.Env = append(cmd.Env, v)
				}
			}
			// The daemon that a test builds also contains the bug.
			cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+b.apply(t))
			out, err := cmd.CombinedOutput()
			switch text := string(out); {
			case err == nil:
				t.Errorf("nobody noticed; %s -run %s passes", b.pkg, b.run)
			case strings.Contains(text, "[build failed]") || strings.Contains(text, "build kairosd") || !strings.Contains(text, "FAIL"):
				t.Errorf("the bug does not compile: %s", out)
			default:
				caught++
				first, _, _ := strings.Cut(text[max(0, strings.Index(text, "_test.go:")):], "\n")
				t.Logf("noticed: %.200s", first)
			}
		})
	}
	proof.Figure(t, "seeded bugs caught", caught)
	proof.Figure(t, "seeded bugs", len(bugs))
}
