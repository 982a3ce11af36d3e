package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/filter"
)

// The reference of errors has a section or a row for every error code of steps and requests, and
// for no other code.
func TestEveryErrorCodeIsDocumented(t *testing.T) {
	t.Parallel()
	page := readPage(t, "errors.md")
	exists := map[string]bool{}
	declared := regexp.MustCompile(`\b(?:[cC]ode[A-Z]\w*\s*(?:Code\s*)?=|Code:|\.Code(?:, [\w.]+)? =) *"([a-z_.]+)"`)
	for _, dir := range []string{"internal/domain", "internal/engine", "internal/runstate", "internal/conversation", "internal/handler",
		"internal/mcp", "internal/model", "internal/model/scripted", "internal/tool", "planner/walk", "agent"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllStringSubmatch(string(src), -1) {
				exists[m[1]] = true
				if !strings.HasSuffix(file, "_test.go") && !strings.Contains(page, "`"+m[1]+"`") {
					t.Errorf("%s: docs/reference/errors.md does not have %s", file, m[1])
				}
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^### `([^`]+)`$").FindAllStringSubmatch(page, -1) {
		if !exists[m[1]] {
			t.Errorf("docs/reference/errors.md has %s, which no code declares", m[1])
		}
	}
}

// The reference of errors has a row for every reason of a refused request, and no other.
func TestEveryReasonIsDocumented(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(readPage(t, "errors.md"), "\n### Reasons\n")
	declared := regexp.MustCompile(`(?s)invalid\("([a-z_.]+)"|\b(?:err|e|p)\.Reason(?:, [\w.]+)* = "([a-z_.]+)"|` +
		`domain\.Error\{[^}]*?Reason: "([a-z_.]+)"|refuse\(\s*domain\.Code\w+,\s*"([a-z_.]+)"|const Reason\w+ = "([a-z_]+)"|` +
		`&Error\{Code: "([a-z_]+)"`)
	var reasons, rows []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "internal", pattern+".go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllStringSubmatch(string(src), -1) {
				reasons = append(reasons, strings.Join(m[1:], ""))
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` ").FindAllStringSubmatch(section, -1) {
		rows = append(rows, m[1])
	}
	slices.Sort(reasons)
	if reasons = slices.Compact(reasons); !slices.Equal(reasons, rows) {
		t.Errorf("docs/reference/errors.md has the reasons\n%q\nand the code\n%q", rows, reasons)
	}
}

// The reference of filters has a row for every key, and no other.
func TestEveryFilterKeyIsDocumented(t *testing.T) {
	t.Parallel()
	page := readPage(t, "filters.md")
	for title, keys := range map[string][]string{"Runs": filter.Keys, "Plans": filter.PlanKeys, "Steps": filter.StepKeys,
		"Handoffs": filter.HandoffKeys, "Audit log": filter.AuditKeys} {
		_, section, ok := strings.Cut(page, "\n## "+title+"\n")
		if !ok {
			t.Errorf("no section %q", title)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var rows []string
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
			rows = append(rows, m[1])
		}
		if !slices.Equal(rows, keys) {
			t.Errorf("%s: rows %v, keys %v", title, rows, keys)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
