package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Limits for readable code. sizes.txt lists the exceptions.
const (
	maxPackageLines = 8000
	maxFileLines    = 500
	maxFields       = 25
	maxMethods      = 40
)

// Packages, files, and types stay within limits, without tests and generated code. An exception in
// sizes.txt may only become smaller: -update lowers and removes lines and never adds one.
func TestSizes(t *testing.T) {
	t.Parallel()
	over, all := oversized(t)
	listed := map[string]int{}
	text, err := os.ReadFile("sizes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		i := strings.LastIndex(line, " ")
		n, err := strconv.Atoi(strings.TrimSpace(line[i+1:]))
		if err != nil {
			t.Fatalf("sizes.txt: %s", line)
		}
		listed[line[:i]] = n
	}
	for _, what := range slices.Sorted(maps.Keys(over)) {
		switch allowed, ok := listed[what]; {
		case !ok:
			t.Errorf("%s has %d %s; split it", what, over[what], limitOf(what))
		case over[what] > allowed:
			t.Errorf("%s has %d; sizes.txt allows %d, and that may only become less", what, over[what], allowed)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := over[what]; !ok {
			t.Logf("%s is within the limit (%d): remove its line with go test ./internal/arch -run TestSizes -update", what, all[what])
		}
	}
	if *update {
		var lines []string
		for what, n := range over {
			if allowed, ok := listed[what]; ok {
				lines = append(lines, fmt.Sprintf("%s %d", what, min(n, allowed)))
			}
		}
		slices.Sort(lines)
		if err := os.WriteFile("sizes.txt", []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func limitOf(what string) string {
	kind, _, _ := strings.Cut(what, " ")
	switch kind {
	case "package":
		return fmt.Sprintf("lines, at most %d are allowed", maxPackageLines)
	case "file":
		return fmt.Sprintf("lines, at most %d are allowed", maxFileLines)
	case "fields":
		return fmt.Sprintf("fields, at most %d are allowed", maxFields)
	}
	return fmt.Sprintf("methods, at most %d are allowed", maxMethods)
}

// oversized measures this module. It returns the items that exceed their limit, and the sizes of
// all items by their line in sizes.txt.
func oversized(t *testing.T) (over, all map[string]int) {
	t.Helper()
	root := filepath.Join("..", "..")
	all = map[string]int{}
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
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) || dir == "internal/client" {
			return nil
		}
		lines := set.File(f.FileStart).LineCount() - 1
		all["package "+dir] += lines
		all["file "+filepath.ToSlash(name)] = lines
		measureTypes(f, dir, all)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	over = map[string]int{}
	for what, n := range all {
		kind, _, _ := strings.Cut(what, " ")
		if n > map[string]int{"package": maxPackageLines, "file": maxFileLines, "fields": maxFields, "methods": maxMethods}[kind] {
			over[what] = n
		}
	}
	if len(all) < 1000 {
		t.Fatalf("only %d packages, files, and types were found", len(all))
	}
	return over, all
}

// measureTypes counts the fields of structs, and the methods that a type declares or an interface
// requires.
func measureTypes(f *ast.File, dir string, all map[string]int) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				all["methods "+dir+"."+receiver(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				spec, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				switch typ := spec.Type.(type) {
				case *ast.StructType:
					all["fields "+dir+"."+spec.Name.Name] = typ.Fields.NumFields()
				case *ast.InterfaceType:
					all["methods "+dir+"."+spec.Name.Name] = typ.Methods.NumFields()
				}
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
