package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cites finds numbers of pages outside the repository, issues without their repository, and home
// directories of authors.
var cites = regexp.MustCompile(
	`\b(SPEC|RELIABILITY|PERFORMANCE|DESIGN|HOUSE|UI|[Rr]ulings?) (R?[0-9]|section)` +
		`|\b[Ii]ssue #?[0-9]+\b|(^|[\s"'` + "`" + `(])/(home|Users)/`)

// The repository is self-contained: nothing in it cites a page that only its authors have.
func TestNothingCitesOtherPages(t *testing.T) {
	t.Parallel()
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

// The rule finds citations that only the authors could open, and no addresses or numbers.
func TestCitationsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"as SPEC 4.1 demands":                                true,
		"see ruling 20":                                      true,
		"fixes issue 15":                                     true,
		"read /Users/ada/notes.md":                           true,
		"see https://github.com/golang/go/issues/30999":      false,
		"the page /runs/home/1":                              false,
		"RFC 9457 describes a problem, and S01 names a test": false,
	} {
		if got := cites.MatchString(text); got != want {
			t.Errorf("%q: found %v, want %v", text, got, want)
		}
	}
}
