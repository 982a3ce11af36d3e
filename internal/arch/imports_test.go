package arch

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write imports.txt")

// imports.txt lists the permitted imports of each package in this module. An import that is not
// listed is an error, and so is a package without a line, so that a reviewer sees each new import.
// Packages for tests are left out.
func TestEveryImportIsListed(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasSuffix(name, "test") || name == strings.TrimSuffix(module, "/") {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(p.Imports), func(i string) bool { return !strings.HasPrefix(i, module) })
		for i := range own {
			own[i] = strings.TrimPrefix(own[i], module)
		}
		lines = append(lines, strings.TrimSpace(name+": "+strings.Join(own, " ")))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("imports.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(want)), "\n")
	for _, line := range lines {
		if !slices.Contains(listed, line) {
			t.Errorf(
				"not in imports.txt: %s\nif the import is right, run go test ./internal/arch -run TestEveryImportIsListed -update",
				line,
			)
		}
	}
	for _, line := range listed {
		if !slices.Contains(lines, line) {
			t.Errorf("imports.txt lists what is not there any more: %s", line)
		}
	}
}
