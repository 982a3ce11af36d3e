package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// namedInSeeds are the tests that the source documents ask for, under their own
// names.
var namedInSeeds = []string{
	"rejects empty intent", "rejects when required skills unavailable", "creates plan with valid dependencies", "creates plan within constraints",
	"generates idempotent plans", "never creates cyclic dependencies",
	"executes single-step plan", "executes multi-step plan in order", "handles step failure with retry", "aborts on failure when configured",
	"skips step on failure when configured", "records handoffs between agents", "emits all plan events", "aggregates results correctly",
	"executes step successfully", "handles timeout", "passes context from previous steps",
	"classifies simple queries as not requiring planning", "classifies complex queries as requiring planning", "identifies relevant agents from keywords",
	"returns null for simple queries", "generates valid plan for complex queries", "respects maxSteps limit", "validates plan output schema",
	"handles LLM errors gracefully", "returns false for simple queries", "returns true for complex queries", "routes directly in directed mode",
	"generates plan for complex autonomous queries", "skips planning for simple queries", "sets correct agent identity",
}

// functions are the test functions of a package with every text in them.
func functions(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	out := map[string]map[string]bool{}
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			texts := map[string]bool{}
			ast.Inspect(fn, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil {
						texts[s] = true
					}
				}
				return true
			})
			out[fn.Name.Name] = texts
		}
	}
	return out
}

// docs/seeds.md tells the truth: every test that it names exists, and every test
// that the source documents name is there under its own name.
func TestSeedsAreTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "seeds.md"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]map[string]map[string]bool{}
	listed := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 || strings.HasPrefix(cells[0], " in the document") || strings.Contains(cells[0], "---") {
			continue
		}
		what, dir, path := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.Split(strings.TrimSpace(cells[2]), "/")
		if packages[dir] == nil {
			packages[dir] = functions(t, dir)
		}
		texts, ok := packages[dir][path[0]]
		if !ok {
			t.Errorf("%s: %s has no function %s", what, dir, path[0])
			continue
		}
		for _, sub := range path[1:] {
			if !texts[sub] {
				t.Errorf("%s: %s of %s has no part %q", what, path[0], dir, sub)
			}
		}
		if path[len(path)-1] == what {
			listed[what] = true
		}
	}
	for _, name := range namedInSeeds {
		if !listed[name] {
			t.Errorf("%q is not on the page under its own name", name)
		}
	}
}
