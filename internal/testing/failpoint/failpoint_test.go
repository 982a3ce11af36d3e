package failpoint_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

func TestMain(m *testing.M) {
	if os.Getenv(failpoint.Env) == "" {
		os.Exit(m.Run())
	}
	if err := failpoint.ArmFromEnv(); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(3)
	}
	for _, name := range []string{"a", "b", "a", "c", "a"} {
		failpoint.Hit(name)
		if name == "b" {
			os.WriteFile("now", nil, 0o600)
		}
	}
}

func child(t *testing.T, spec string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), failpoint.Env+"="+spec)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTheProcessEndsOnlyAtTheFailpoint(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"kill=a:1": "a", "kill=a:2": "a b a", "kill=c:1": "a b a c",
		"kill=a:4": "a b a c a", "kill=other:1": "a b a c a", // never reached
		"from=now;kill=a:1": "a", "from=now;kill=a:2": "a c a", "from=never;kill=a:1": "",
	} {
		trace := filepath.Join(t.TempDir(), "trace")
		_, err := child(t, spec+";trace="+trace)
		b, readErr := os.ReadFile(trace)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if got := strings.Join(strings.Fields(string(b)), " "); got != want {
			t.Errorf("%s: went through %q, want %q", spec, got, want)
		}
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if wantKilled := want != "a b a c a" && want != ""; killed != wantKilled || !wantKilled && err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestMistakesAreReported(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"kill=a", "kill=a:0", "kill=:1", "stop=a", "trace=/no/such/directory/file"} {
		if out, err := child(t, spec); err == nil || !strings.Contains(out, failpoint.Env) {
			t.Errorf("%s: %v, %q", spec, err, out)
		}
	}
}

func BenchmarkUnarmed(b *testing.B) {
	for b.Loop() {
		failpoint.Hit("x")
	}
}
