// Package need finds the programs that some tests use beside Go.
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

// Program returns the path of the first program that is in PATH. The names are those of one
// program. Without it the test is skipped, or fails if KAIROS_REQUIRE lists the first name.
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

// Missing ends a test that lacks what a program needs, such as its packages: the test is
// skipped, or fails if KAIROS_REQUIRE lists the program.
func Missing(t testing.TB, name, format string, args ...any) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv(Env), ","), name) {
		t.Fatalf(Env+" lists "+name+": "+format, args...)
	}
	t.Skipf(format, args...)
}
