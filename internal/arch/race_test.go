package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// raced are the package patterns that `make race` names.
func raced(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	var out []string
	for line := range strings.Lines(joined) {
		if strings.HasPrefix(line, "RACE :=") || strings.Contains(line, "\t$(RACE_TEST) ") {
			out = append(out, regexp.MustCompile(`\./[a-z0-9./]+`).FindAllString(line, -1)...)
		}
	}
	return out
}

// startsGoroutines reports whether a file has a go statement, or calls a method Go, as
// that of a sync.WaitGroup.
func startsGoroutines(t *testing.T, file string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Go"
		}
		return !found
	})
	return found
}

// Packages that start goroutines are tested with the race detector. Packages for tests are tested
// with the packages that use them.
func TestPackagesWithGoroutinesAreRaced(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	patterns := raced(t)
	covered := func(dir string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			tree, all := strings.CutSuffix(p, "/...")
			return p == "./"+dir || all && (tree == "./"+dir || strings.HasPrefix("./"+dir, tree+"/"))
		})
	}
	with := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "bench", "temporal", "crashtest", "testdata", "dbsqlc", "cmd"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_templ.go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err == nil && !strings.HasSuffix(dir, "test") && startsGoroutines(t, path) {
			with[filepath.ToSlash(dir)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(with) < 5 {
		t.Fatalf("only %d packages start goroutines: the search is broken", len(with))
	}
	for dir := range with {
		if !covered(dir) {
			t.Errorf("%s starts goroutines; add it to RACE in the Makefile", dir)
		}
	}
	for _, p := range patterns {
		if info, err := os.Stat(filepath.Join(root, strings.TrimSuffix(p, "/..."))); err != nil || !info.IsDir() {
			t.Errorf("the Makefile races %s, which is not there", p)
		}
	}
}
