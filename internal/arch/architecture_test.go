package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every function that docs/internals/architecture.md names is in the file it names, and
// no walk through the code is longer than 15 functions.
func TestTheArchitecturePageMatchesTheCode(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "internals", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	step := regexp.MustCompile("(?m)^([0-9]+)\\. `([^`]+)` in `([^`]+)`")
	steps := step.FindAllStringSubmatch(string(page), -1)
	if len(steps) < 20 {
		t.Fatalf("the page names %d functions", len(steps))
	}
	for _, s := range steps {
		if len(s[1]) > 1 && s[1] > "15" {
			t.Errorf("the walk to %s has %s functions, want at most 15", s[2], s[1])
		}
		if !declares(t, filepath.Join(root, filepath.FromSlash(s[3])), s[2]) {
			t.Errorf("%s has no function %s", s[3], s[2])
		}
	}
	for _, dir := range regexp.MustCompile("`((?:internal|web|cmd)/[a-z/]+|planner|agent|crashtest)`").FindAllStringSubmatch(
		string(page), -1) {
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir[1]))); err != nil || !info.IsDir() {
			t.Errorf("there is no package %s", dir[1])
		}
	}
}

// Every package is in the table of docs/internals/architecture.md, or below a package there.
func TestTheArchitecturePageHasEveryPackage(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "internals", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := func(dir string) bool {
		for ; dir != "internal" && dir != "web" && dir != "web/part" && dir != "."; dir = path.Dir(dir) {
			if strings.Contains(string(page), "`"+dir+"`") {
				return true
			}
		}
		return false
	}
	for _, top := range []string{"cmd", "internal", "web", "planner", "agent", "crashtest"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(name))
			if dir := filepath.ToSlash(rel); dir != "web" && !listed(dir) {
				t.Errorf("%s is not on the page", dir)
				return fs.SkipDir
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// declares reports whether a file declares a function "Name" or a method "(*Type).Name".
func declares(t *testing.T, file, function string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return false
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil {
			if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
				if id, ok := star.X.(*ast.Ident); ok {
					name = "(*" + id.Name + ")." + name
				}
			}
		}
		if strings.TrimSpace(name) == function {
			return true
		}
	}
	return false
}
