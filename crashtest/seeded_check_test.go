package crashtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checker type-checks a package of this module with one changed file, without building it.
type checker struct {
	fset     *token.FileSet
	packages map[string]listed // by directory
	importer types.Importer
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func newChecker(t *testing.T, pkgs ...string) *checker {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, pkgs...)...)
	cmd.Dir, cmd.Stderr = root(t), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{fset: token.NewFileSet(), packages: map[string]listed{}}
	exports := map[string]string{}
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		c.packages[p.Dir], exports[p.ImportPath] = p, p.Export
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// check returns the reason why the package of a file does not compile with another text, or nil.
func (c *checker) check(path, text string) error {
	p := c.packages[filepath.Dir(path)]
	if !slices.Contains(p.GoFiles, filepath.Base(path)) {
		return fmt.Errorf("%s is no file of its package here", path)
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		var src any
		if name == filepath.Base(path) {
			src = text
		}
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	_, err := (&types.Config{Importer: c.importer}).Check(p.ImportPath, c.fset, files, nil)
	return err
}
