package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared are the packages that sections of the dashboard use. Every other package in web is a
// section.
var shared = []string{
	"web/ui",
	"web/kit",
	"web/link",
	"web/live",
	"web/locale",
	"web/static",
	"web/view",
	"web/webtest",
	"web/browsertest",
	"web/part",
}

func isSection(path string) bool {
	return strings.HasPrefix(path, module+"web/") && !slices.ContainsFunc(shared, func(s string) bool { return within(path, s) })
}

// sectionOf is the folder of a section. Folders below it, such as web/run/step, belong to it.
func sectionOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, module+"web/"), "/")
	return module + "web/" + name
}

// A section of the dashboard can be read and changed separately. Content that two sections show is
// in web/part, which imports no section.
func TestSectionsDoNotImportEachOther(t *testing.T) {
	t.Parallel()
	sections := 0
	for _, p := range packages(t) {
		if isSection(p.ImportPath) {
			sections++
		} else if !within(p.ImportPath, "web") || p.ImportPath == module+"web" || strings.HasSuffix(p.ImportPath, "test") {
			continue
		}
		for _, imported := range p.Imports {
			if imported == module+"web" || isSection(imported) && sectionOf(imported) != sectionOf(p.ImportPath) {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
	if sections == 0 {
		t.Error("there are no sections: the rule guards nothing")
	}
}

// Templates print prepared view models. Their types are those of their own section, of web/kit, and
// of web/part, and contain no types of the domain.
func TestTemplatesUseViewModels(t *testing.T) {
	t.Parallel()
	dirs := map[string]bool{}
	for _, pattern := range []string{"../../web/*/*_templ.go", "../../web/*/*/*_templ.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			dirs[filepath.Dir(f)] = true
		}
	}
	if len(dirs) < 2 {
		t.Fatalf("only %d packages with templates were found: the search is broken", len(dirs))
	}
	for dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		models := map[string]ast.Expr{}
		var templates []*ast.File
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(f, "_templ.go") {
				templates = append(templates, parsed)
			}
			for _, d := range parsed.Decls {
				if g, ok := d.(*ast.GenDecl); ok {
					for _, spec := range g.Specs {
						if ts, ok := spec.(*ast.TypeSpec); ok {
							models[ts.Name.Name] = ts.Type
						}
					}
				}
			}
		}
		for _, f := range templates {
			for _, i := range f.Imports {
				path := strings.Trim(i.Path.Value, `"`)
				allowed := within(path, "web/kit") || within(path, "web/part") || within(path, "web/locale") ||
					sectionOf(path) == module+"web/"+strings.Split(dir, "/")[3]
				if strings.HasPrefix(path, module) && !allowed {
					t.Errorf("a template of %s imports %s", dir, path)
				}
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					seen := map[string]bool{}
					foreign(fn.Type.Params, models, seen, func(name string) {
						t.Errorf("%s: what the template %s takes holds a %s", dir, fn.Name.Name, name)
					})
				}
			}
		}
	}
}

// foreign calls found for each type of another package that a type consists of, except the types
// that templates may use.
func foreign(n ast.Node, models map[string]ast.Expr, seen map[string]bool, found func(string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // its name is not a type
			foreign(n.Type, models, seen, found)
			return false
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains([]string{"domain", "app", "ui", "planner", "walk", "filter",
				"preview"}, pkg.Name) {
				found(pkg.Name + "." + n.Sel.Name)
			}
			return false
		case *ast.Ident:
			if model, ok := models[n.Name]; ok && !seen[n.Name] {
				seen[n.Name] = true
				foreign(model, models, seen, found)
			}
		}
		return true
	})
}
