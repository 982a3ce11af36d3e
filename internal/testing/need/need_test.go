package need_test

import (
	"runtime"
	"testing"

	"github.com/kairosd/kairosd/internal/testing/need"
)

// fakeTest is a test that records its result.
type fakeTest struct {
	testing.TB
	end string
}

func (t *fakeTest) Helper()               {}
func (t *fakeTest) Skipf(string, ...any)  { t.end = "skipped"; runtime.Goexit() }
func (t *fakeTest) Fatalf(string, ...any) { t.end = "failed"; runtime.Goexit() }

// A test is skipped without its program, and fails if the program is required.
func TestAMissingProgramIsReported(t *testing.T) {
	for required, want := range map[string]string{"": "skipped", "other": "skipped", "other,none-such": "failed"} {
		t.Setenv(need.Env, required)
		fake, done := &fakeTest{TB: t}, make(chan struct{})
		go func() {
			defer close(done)
			need.Program(fake, "none-such", "nor-this")
		}()
		if <-done; fake.end != want {
			t.Errorf("%s=%s: the test %q, want %s", need.Env, required, fake.end, want)
		}
	}
	if path := need.Program(t, "none-such", "sh"); path == "" {
		t.Error("sh is not found")
	}
}
