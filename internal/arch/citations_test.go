package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The repository stands alone: nothing in it cites a page by a name and a number that
// only its authors have.
func TestNothingCitesOtherPages(t *testing.T) {
	t.Parallel()
	cites := regexp.MustCompile(`\b(SPEC|RELIABILITY|PERFORMANCE|DESIGN|HOUSE|UI|[Rr]ulings?) (R?[0-9]|section)`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "bin" || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || name == "citations_test.go":
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".templ", ".sql", ".css", ".js", ".md", ".txt", ".yaml":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if c := cites.FindString(line); c != "" {
				t.Errorf("%s:%d cites %q; give the reason instead", path, n, c)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
