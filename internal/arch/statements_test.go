package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// anyNumber permits any number of statements in a file.
const anyNumber = -1

// statements lists the files outside db/queries that may contain SQL, with the number of their
// statements and the reason why sqlc cannot check them.
var statements = map[string]struct {
	number int
	reason string
}{
	"query/approvals.go":      {anyNumber, "built from a filter"},
	"query/audit.go":          {anyNumber, "built from a filter"},
	"query/count.go":          {anyNumber, "built from a filter"},
	"query/handoffs.go":       {anyNumber, "built from a filter"},
	"query/sort.go":           {anyNumber, "built from a filter"},
	"query/plan_flow.go":      {1, "joins a JSON list of runs, which sqlc does not know"},
	"query/steps.go":          {anyNumber, "built from a filter"},
	"query/run_query.go":      {anyNumber, "built from a filter"},
	"recovery/salvage.go":     {anyNumber, "reads damaged files, table by table"},
	"recovery/restore.go":     {1, "reads the schema itself"},
	"recovery/upgrade.go":     {3, "reads databases of every schema"},
	"recovery/verify.go":      {1, "asks the full-text indexes"},
	"internal/core/schema.go": {4, "reads the schema itself"},
	"internal/core/words.go":  {2, "writes the full-text index, whose row ids sqlc does not know"},
	"query/memory_reader.go":  {1, "asks the full-text index"},
	"migrate.go":              {1, "asks SQLite for its version"},
	"query/tables.go":         {1, "reads dbstat, which sqlc does not know"},
	"usage.go":                {2, "reads pragmas"},
}

var statement = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\s`)

// A statement that sqlc does not check may name a missing column, and the tests that run every
// query do not cover it.
func TestStatementsAreNamedQueries(t *testing.T) {
	t.Parallel()
	top := filepath.Join("..", "store")
	found := map[string]int{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (d.Name() == "dbsqlc" || strings.HasSuffix(d.Name(), "test")): // generated code and packages for tests
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && statement.MatchString(text) {
					found[filepath.ToSlash(name)]++
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range found {
		if of := statements[name]; of.number != n && of.number != anyNumber {
			t.Errorf("internal/store/%s holds %d SQL statements, %d are allowed: add new ones to db/queries", name, n, of.number)
		}
	}
	for name := range statements {
		if found[name] == 0 {
			t.Errorf("internal/store/%s holds no SQL statement: remove it from the list", name)
		}
	}
}
