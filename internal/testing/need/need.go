// Package need finds programs that some tests use in addition to Go.
package need

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Env lists programs, separated by commas. A test that needs one of them fails without it.
const Env = "KAIROS_REQUIRE"

// Program returns the path of the first of the names that is in PATH. All names are names of one
// program. If none is found, the test is skipped, or fails if KAIROS_REQUIRE lists the first name.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, names[0], "%s is not in PATH", names[0])
	return ""
}

// Missing ends a test that lacks a requirement of a program, such as its packages. The test is
// skipped, or fails if KAIROS_REQUIRE lists the program.
func Missing(t testing.TB, name, format string, args ...any) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv(Env), ","), name) {
		t.Fatalf(Env+" lists "+name+": "+format, args...)
	}
	t.Skipf(format, args...)
}
