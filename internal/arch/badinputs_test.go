package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/testing/proof"
)

// badInputs contains the number of rows in each part of the catalog of bad inputs.
var badInputs = []struct {
	part string
	rows int
}{{"P", 64}, {"C", 13}, {"A", 54}, {"L", 20}, {"M", 24}, {"S", 8}, {"E", 18}, {"O", 17}}

// testTexts returns the test functions of a package, each with its comment, its text, and its cases
// in testdata.
func testTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	out := map[string]string{}
	set := token.NewFileSet()
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(set, name, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") {
				continue
			}
			text := fn.Doc.Text() + string(src[set.Position(fn.Pos()).Offset:set.Position(fn.End()).Offset])
			if m := regexp.MustCompile(`"(testdata/[^"]+)"`).FindStringSubmatch(text); m != nil {
				cases, err := filepath.Glob(filepath.Join("..", "..", dir, m[1]))
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range cases {
					b, err := os.ReadFile(c)
					if err != nil {
						t.Fatal(err)
					}
					text += string(b)
				}
			}
			out[fn.Name.Name] = text
		}
	}
	return out
}

// docs/internals/bad-inputs.md is complete: it has every row of the catalogue once, and each test that it
// names for a row exists and names the row. A line without a number belongs to the row above.
func TestBadInputsAreTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "internals", "bad-inputs.md"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]map[string]string{}
	row := regexp.MustCompile(`^\| (?:([A-Z]\d\d) )?\| .*\| .*\| (.+) \|$`)
	named := regexp.MustCompile("^`([a-z0-9/]+)` (Test[A-Za-z0-9]+)$")
	seen := map[string]bool{}
	known, covered, id := 0, 0, ""
	for line := range strings.Lines(string(page)) {
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil {
			continue
		}
		continued := cells[1] == ""
		if !continued {
			id = cells[1]
			if seen[id] {
				t.Errorf("%s is listed twice", id)
			}
			seen[id] = true
		}
		if strings.HasPrefix(cells[2], "**") { // not covered, or only in part: not counted
			continue
		}
		if !continued {
			covered++
		}
		for cell := range strings.SplitSeq(cells[2], ", ") {
			m := named.FindStringSubmatch(cell)
			if m == nil {
				t.Errorf("%s: %q is not a package and a test", id, cell)
				continue
			}
			if packages[m[1]] == nil {
				packages[m[1]] = testTexts(t, m[1])
			}
			text, ok := packages[m[1]][m[2]]
			if !ok {
				t.Errorf("%s: %s has no test %s", id, m[1], m[2])
			} else if !regexp.MustCompile(`\b` + id + `\b`).MatchString(text) {
				t.Errorf("%s: %s of %s does not name the row", id, m[2], m[1])
			}
		}
	}
	for _, p := range badInputs {
		known += p.rows
		for n := 1; n <= p.rows; n++ {
			if id := fmt.Sprintf("%s%02d", p.part, n); !seen[id] {
				t.Errorf("the page has no row %s", id)
			}
		}
	}
	if len(seen) != known {
		t.Errorf("the page has %d rows, the catalogue %d", len(seen), known)
	}
	proof.Figure(t, "bad inputs", covered)
	proof.Figure(t, "bad inputs known", known)
}
