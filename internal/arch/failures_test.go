package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kairosd makes failures with WithMessage, which keeps the arguments apart from the English
// format. A failure with a bare Message would make its fingerprint depend on English, and
// could not be translated. Only copies of another failure set Message, together with Text.
func TestFailuresKeepTheirArguments(t *testing.T) {
	t.Parallel()
	found := 0
	for _, root := range []string{"internal", "planner", "agent"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for at, keys := range failureLiterals(f) {
				found++
				if slices.Contains(keys, "Message") && !slices.Contains(keys, "Text") {
					t.Errorf("%s: a Failure with a bare Message: use WithMessage", set.Position(at))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 50 {
		t.Errorf("only %d failures were found: the search is broken", found)
	}
}

// failureLiterals returns the position and keys of every literal of a type named Failure.
func failureLiterals(f *ast.File) map[token.Pos][]string {
	out := map[token.Pos][]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		name, _ := lit.Type.(*ast.Ident)
		if s, ok := lit.Type.(*ast.SelectorExpr); ok {
			name = s.Sel
		}
		if name == nil || name.Name != "Failure" {
			return true
		}
		out[lit.Pos()] = []string{}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok {
					out[lit.Pos()] = append(out[lit.Pos()], key.Name)
				}
			}
		}
		return true
	})
	return out
}

// The rule sees what it is for.
func TestBareMessagesAreRecognized(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
var a, b = &walk.Failure{Code: "x", Message: "bare"}, &Failure{Code: "x"}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, k := range failureLiterals(f) {
		keys = append(keys, strings.Join(k, " "))
	}
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"Code", "Code Message"}) {
		t.Error(keys)
	}
}
