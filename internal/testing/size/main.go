// Command size prints the Go statements of each package, without tests and generated
// code, and their sum.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type size struct{ statements, lines int }

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	sizes, err := measure(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(sizes[b].statements-sizes[a].statements, strings.Compare(a, b))
	})
	w := bufio.NewWriter(os.Stdout)
	var all size
	fmt.Fprintf(w, "%10s %8s  %s\n", "statements", "lines", "package")
	for _, name := range names {
		s := sizes[name]
		all.statements, all.lines = all.statements+s.statements, all.lines+s.lines
		fmt.Fprintf(w, "%10d %8d  %s\n", s.statements, s.lines, name)
	}
	fmt.Fprintf(w, "%10d %8d  total\n", all.statements, all.lines)
	if err := w.Flush(); err != nil {
		os.Exit(1)
	}
}

// measure counts the packages in a directory and below. It leaves out other modules.
func measure(root string) (map[string]size, error) {
	sizes := map[string]size{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != root &&
				(err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		s := sizes[dir]
		s.lines += set.File(f.FileStart).LineCount() - 1
		s.statements += statements(f)
		sizes[dir] = s
		return nil
	})
	return sizes, err
}

// statements counts statements except blocks, labels, and clauses.
func statements(f *ast.File) int {
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.BlockStmt, *ast.EmptyStmt, *ast.LabeledStmt, *ast.CaseClause, *ast.CommClause:
		case ast.Stmt:
			n++
		}
		return true
	})
	return n
}
