package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that a guarantee names exists, and every guarantee names a test.
func TestGuaranteesNameTheirTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/internals/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	there := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n## G")[1:]
	if len(sections) != 16 {
		t.Errorf("%d guarantees, want 16", len(sections))
	}
	for _, s := range sections {
		title, _, _ := strings.Cut(s, "\n")
		names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(s, -1)
		if len(names) == 0 {
			t.Errorf("G%s: no test is named", title)
		}
		for _, n := range names {
			if !there[n[1]] {
				t.Errorf("G%s: there is no test %s", title, n[1])
			}
		}
	}
}
