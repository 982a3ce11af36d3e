package planner_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// The examples in the plan language reference are valid plans, and the page lists every error code
// of a problem.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/plan-language.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(examples) < 4 {
		t.Fatalf("got %d examples", len(examples))
	}
	for _, e := range examples {
		if d, problems := planner.Parse(e[1], planner.WithFormat(planner.FormatYAML)); d == nil || len(problems) > 0 {
			t.Errorf("%v in\n%s", problems, e[1])
		}
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z]+[._][a-z_]+)`").FindAllSubmatch(page, -1) {
		known[string(m[1])] = true
	}
	reported := regexp.MustCompile(`"([a-z]+\.[a-z_]+)"[,})]`)
	sources, _ := filepath.Glob("*.go")
	cases, _ := filepath.Glob("testdata/problems/*.txt")
	shown := regexp.MustCompile(`\[([a-z]+\.[a-z_]+)\]`)
	for _, file := range append(sources, cases...) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		find := reported
		switch {
		case strings.HasSuffix(file, ".txt"):
			find = shown
		case strings.HasSuffix(file, "_test.go") ||
			!regexp.MustCompile(`^(parse|tree|decode|compile|check|analyse|secret|catalog|encode)`).MatchString(file):
			continue
		}
		for _, m := range find.FindAllStringSubmatch(string(src), -1) {
			if !known[m[1]] {
				t.Errorf("%s: the page does not know %s", file, m[1])
			}
		}
	}
}
