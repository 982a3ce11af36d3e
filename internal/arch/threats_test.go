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

// Every threat has a row with its countermeasure and existing tests.
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
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 && regexp.MustCompile(`^ S\d\d $`).MatchString(cells[1]) {
			rows[strings.TrimSpace(cells[1])] = cells[4]
		}
	}
	for i := range 35 {
		id := fmt.Sprintf("S%02d", i+1)
		names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(rows[id], -1)
		if len(names) == 0 {
			t.Errorf("%s names no test", id)
		}
		for _, n := range names {
			if !there[n[1]] {
				t.Errorf("%s: there is no test %s", id, n[1])
			}
		}
	}
}
