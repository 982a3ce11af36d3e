package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every threat has a section with its protection and existing tests.
func TestThreatsNameTheirTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/internals/threats.md")
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
	sections := strings.Split(string(text), "\n## S")[1:]
	for i, s := range sections {
		title, _, _ := strings.Cut(s, "\n")
		if !strings.HasPrefix(title, fmt.Sprintf("%02d ", i+1)) {
			t.Errorf("S%s is out of order", title)
		}
		s, _, _ = strings.Cut(s, "\n## ")
		names := regexp.MustCompile("(?m)^- `(Test[A-Za-z0-9]+)`$").FindAllStringSubmatch(s, -1)
		if len(names) == 0 {
			t.Errorf("S%s names no test", title)
		}
		for _, n := range names {
			if !there[n[1]] {
				t.Errorf("S%s: there is no test %s", title, n[1])
			}
		}
	}
	if len(sections) != 38 {
		t.Errorf("%d threats, want 38", len(sections))
	}
}
