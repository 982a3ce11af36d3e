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

// namedInSeeds are the tests that the source documents require by name.
var namedInSeeds = []string{
	"rejects empty intent", "rejects when required skills unavailable", "creates plan with valid dependencies",
	"creates plan within constraints",
	"generates idempotent plans", "never creates cyclic dependencies",
	"executes single-step plan", "executes multi-step plan in order", "handles step failure with retry",
	"aborts on failure when configured",
	"skips step on failure when configured", "records handoffs between agents", "emits all plan events", "aggregates results correctly",
	"executes step successfully", "handles timeout", "passes context from previous steps",
	"classifies simple queries as not requiring planning", "classifies complex queries as requiring planning",
	"identifies relevant agents from keywords",
	"returns null for simple queries", "generates valid plan for complex queries", "respects maxSteps limit",
	"validates plan output schema",
	"handles LLM errors gracefully", "returns false for simple queries", "returns true for complex queries",
	"routes directly in directed mode",
	"generates plan for complex autonomous queries", "skips planning for simple queries", "sets correct agent identity",
}

// testFunction is the source of a test and its parts.
type testFunction struct {
	parts map[string]bool // names that it gives to parts itself
	// texts are the keys and texts of its tables. They can be names of subtests if tabled is true.
	texts  map[string]bool
	tabled bool
}

func (f testFunction) has(part string) bool { return f.parts[part] || f.tabled && f.texts[part] }

// functions are the test functions of a package.
func functions(t *testing.T, dir string) map[string]testFunction {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	out := map[string]testFunction{}
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		tables := map[string]ast.Expr{} // of the file, which a test may iterate over
		for _, d := range parsed.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, spec := range g.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
						tables[v.Names[0].Name] = v.Values[0]
					}
				}
			}
		}
		for _, d := range parsed.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				out[fn.Name.Name] = readFunction(fn, tables)
			}
		}
	}
	return out
}

func readFunction(fn *ast.FuncDecl, tables map[string]ast.Expr) testFunction {
	f := testFunction{parts: map[string]bool{}, texts: map[string]bool{}}
	table := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if c, ok := n.(*ast.CompositeLit); ok {
				for _, e := range c.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						f.text(kv.Key)
						e = kv.Value
					}
					f.text(e)
				}
			}
			return true
		})
	}
	table(fn)
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if v, ok := tables[n.Name]; ok {
				table(v)
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Run" || len(n.Args) != 2 {
				break
			}
			if name, ok := literal(n.Args[0]); ok {
				f.parts[name] = true
			} else {
				f.tabled = true
			}
		}
		return true
	})
	return f
}

func (f testFunction) text(e ast.Expr) {
	if s, ok := literal(e); ok {
		f.texts[s] = true
	}
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// clausesOfSeeds is the minimum number of clauses in the documents, as the page counts them.
const clausesOfSeeds = 323

// docs/internals/source-specifications.md is complete: every test and subtest that it names exists,
// and every test that the source documents name exists under that name.
func TestSourceSpecificationsAreTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "internals", "source-specifications.md"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]map[string]testFunction{}
	listed, clauses, clause := map[string]bool{}, 0, ""
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| clause |") || strings.HasPrefix(line, "| --- |") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 {
			t.Errorf("not a clause, a package and tests: %s", line)
			continue
		}
		what, dir := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])
		if what == "" { // the row continues the one above
			what = clause
		} else {
			clauses += 1 + strings.Count(what, ";")
		}
		clause = what
		if packages[dir] == nil {
			packages[dir] = functions(t, dir)
		}
		for test := range strings.SplitSeq(strings.TrimSpace(cells[2]), "; ") {
			path := strings.Split(test, "/")
			f, ok := packages[dir][path[0]]
			if !ok {
				t.Errorf("%s: %s has no function %s", what, dir, path[0])
				continue
			}
			for _, sub := range path[1:] {
				if !f.has(sub) {
					t.Errorf("%s: %s of %s has no part %q", what, path[0], dir, sub)
				}
			}
			listed[path[len(path)-1]] = true
		}
	}
	if clauses < clausesOfSeeds {
		t.Errorf("the page lists %d clauses, and the documents have %d", clauses, clausesOfSeeds)
	}
	for _, name := range namedInSeeds {
		if !listed[name] {
			t.Errorf("%q is not on the page under its own name", name)
		}
	}
}
