package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/walk"
)

// script creates an executable for the test.
func script(tb testing.TB, body string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		tb.Fatal(err)
	}
	return path
}

func execSet(tb testing.TB, path string) *tool.Set {
	tb.Helper()
	return builtin(tb, tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{path}, Env: map[string]string{"LANG": "C"}}}, nil)
}

// M02, C12: arguments are passed unchanged. Not parallel, because it sets the environment that the
// command must not see (M03).
func TestExec(t *testing.T) {
	t.Setenv("KAIROS_SECRET", "hidden")
	path := script(t, `for a in "$@"; do printf '[%s]' "$a"; done; cat; env | sort >&2`)
	out, f := call(
		t,
		execSet(t, path),
		"exec",
		`{"command": "`+path+`", "args": ["; rm -rf /", "$(id)", "--output=/etc/x", "a b"], "stdin": "in"}`,
	)
	if f != nil {
		t.Fatal(f)
	}
	if !strings.Contains(out, `"stdout":"[; rm -rf /][$(id)][--output=/etc/x][a b]in"`) || !strings.Contains(out, `"exit_code":0`) {
		t.Errorf("got %s", out)
	}
	if strings.Contains(out, "hidden") || !strings.Contains(out, "KAIROS_IDEMPOTENCY_KEY=key-1") || !strings.Contains(out, "LANG=C") {
		t.Errorf("environment of %s", out)
	}
}

func TestExecRefuses(t *testing.T) {
	t.Parallel()
	path := script(t, "exit 3")
	set := execSet(t, path)
	for args, want := range map[string]string{
		`{"command": "/bin/sh"}`: "must be", `{"command": "script"}`: "must be", `{"command": "` + path + `/../sh"}`: "must be",
		`{"command": "` + path + `", "args": "-x"}`: "args", `{}`: "command",
		`{"command": "` + path + `", "args": ["a\u0000b"]}`: "NUL", `{"command": "` + path + `", "timeout": "soon"}`: "not a duration",
	} {
		refuses(t, set, "exec", args, want)
	}
	// M01: another file in the place of the allowed one is rejected.
	if err := os.WriteFile(path+"2", []byte("#!/bin/sh\necho other\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	refuses(t, set, "exec", `{"command": "`+path+`"}`, "has changed")
	for _, c := range []tool.ExecConfig{{Allow: []string{"sh"}}, {Allow: []string{"/bin/../bin/sh"}}, {Allow: []string{"/nowhere"}},
		{Allow: []string{"/etc/passwd"}}, {Allow: []string{"/tmp"}}, {Env: map[string]string{"A=B": ""}}} {
		c.Enabled = true
		if _, err := tool.Builtin(tool.Config{Exec: c}, nil); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	// M02: only matching arguments are passed.
	other := script(t, `printf %s "$1"`)
	bound := builtin(
		t,
		tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{other}, Patterns: map[string]string{other: "[a-z]+|--fast"}}},
		nil,
	)
	for _, arg := range []string{"-x", "--output=/etc/cron.d/x", "a; b", "", "abc\\n-x"} {
		refuses(t, bound, "exec", `{"command": "`+other+`", "args": ["`+arg+`"]}`, "is not allowed")
	}
	if out, f := call(t, bound, "exec", `{"command": "`+other+`", "args": ["--fast"]}`); f != nil || !strings.Contains(out, "--fast") {
		t.Errorf("%s %v", out, f)
	}
	// M02: Data is never interpreted as an option. `--` comes before it if the command supports
	// that, and data that looks like an option is rejected otherwise.
	shows := script(t, `for a in "$@"; do printf '[%s]' "$a"; done`)
	plain := execSet(t, shows)
	refuses(
		t,
		plain,
		"exec",
		`{"command": "`+shows+`", "args": ["-v"], "operands": ["a", "--output=/etc/cron.d/x"]}`,
		"would be taken for an option",
	)
	if out, f := call(t, plain, "exec", `{"command": "`+shows+`", "args": ["-v"], "operands": ["a", "; rm -rf /"]}`); f != nil ||
		!strings.Contains(out, `[-v][a][; rm -rf /]`) {
		t.Errorf("%s %v", out, f)
	}
	supports := builtin(t, tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{shows}, EndOfOptions: []string{shows}}}, nil)
	if out, f := call(t, supports, "exec", `{"command": "`+shows+
		`", "args": ["-v"], "operands": ["--output=/etc/cron.d/x", "-"]}`); f != nil ||
		!strings.Contains(out, `[-v][--][--output=/etc/cron.d/x][-]`) {
		t.Errorf("%s %v", out, f)
	}
	refuses(t, supports, "exec", `{"command": "`+shows+`", "operands": ["a\u0000b"]}`, "NUL")
	if _, err := tool.Builtin(tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{shows},
		EndOfOptions: []string{"/bin/ls"}}}, nil); err == nil {
		t.Error("a command that is not allowed was accepted in end_of_options")
	}
	for _, bad := range []map[string]string{{other: "("}, {"/bin/ls": "a"}} {
		if _, err := tool.Builtin(tool.Config{Exec: tool.ExecConfig{Enabled: true, Allow: []string{other}, Patterns: bad}},
			nil); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	if _, ok := builtin(t, tool.Config{Exec: tool.ExecConfig{Allow: []string{"/bin/sh"}}}, nil).Lookup("exec"); ok {
		t.Error("exec exists although it is not enabled")
	}
}

// M07: the exit code determines the result.
func TestExecExitCodes(t *testing.T) {
	t.Parallel()
	path := script(t, `echo broken >&2; case $1 in kill) kill -9 $$;; *) exit $1;; esac`)
	set := execSet(t, path)
	for args, want := range map[string]string{`"args": ["3"]`: "exit code 3", `"args": ["kill"]`: "signal killed",
		`"args": ["0"], "expect": [1]`: "exit code 0"} {
		_, f := call(t, set, "exec", `{"command": "`+path+`", `+args+`}`)
		if f == nil || f.Code != tool.CodeExit || !strings.Contains(f.Message, want) || f.NoEffect ||
			!strings.Contains(f.Detail, "broken") {
			t.Errorf("%s: got %+v, want %s with its effect open", args, f, want)
		}
	}
	if _, f := call(t, set, "exec", `{"command": "`+path+`", "args": ["4"], "rejects": [4]}`); f == nil || !f.NoEffect {
		t.Errorf("a rejection: %+v", f)
	}
	if out, f := call(t, set, "exec", `{"command": "`+path+`", "args": ["3"], "expect": [0, 3]}`); f != nil ||
		!strings.Contains(out, `"exit_code":3`) {
		t.Errorf("an expected code: %s, %v", out, f)
	}
}

// M04, M05: timeouts also end grandchildren, and output is limited.
func TestExecLimits(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]string{
		"sleep 300 & sleep 300":   walk.CodeTimeout,
		"trap '' TERM; sleep 300": walk.CodeTimeout,
		"yes":                     tool.CodeTooLarge,
		"yes | tr -d '\\n'":       tool.CodeTooLarge,
	} {
		path := script(t, body)
		start, timeout := time.Now(), "1m"
		if code == walk.CodeTimeout {
			timeout = "200ms"
		}
		_, f := call(t, execSet(t, path), "exec", `{"command": "`+path+`", "timeout": "`+timeout+`"}`)
		if f == nil || f.Code != code || f.NoEffect {
			t.Errorf("%s: got %+v, want %s", body, f, code)
		}
		if took := time.Since(start); took > 2*time.Minute { // the call waited for a process
			t.Errorf("%s: took %s", body, took)
		}
	}
	// A grandchild that holds the output open does not block the call.
	path := script(t, "echo done; sleep 300 &")
	start := time.Now()
	if out, f := call(t, execSet(t, path), "exec", `{"command": "`+path+`"}`); f != nil || !strings.Contains(out, "done") ||
		time.Since(start) > 2*time.Minute {
		t.Errorf("got %s, %v after %s", out, f, time.Since(start))
	}
}

// M06: a command that uses too much memory, too many processes, or too much space is ended before
// it exhausts the machine.
func TestExecQuotas(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 300 & done; wait":      "more than 8 processes",
		"dd if=/dev/zero of=big bs=1048576 count=8 2>/dev/null; sleep 300":    "more than 4 MiB into its directory",
		"dd if=/dev/zero of=/dev/null bs=134217728 count=1000000 2>/dev/null": "more than 64 MiB of memory",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			path := script(t, body)
			set := builtin(
				t,
				tool.Config{
					Exec: tool.ExecConfig{Enabled: true, Allow: []string{path}, MaxProcesses: 8, MaxDisk: 4 << 20, MaxMemory: 64 << 20},
				},
				nil,
			)
			_, f := call(t, set, "exec", `{"command": "`+path+`", "timeout": "1m"}`)
			if f == nil || f.Code != tool.CodeQuota || !strings.Contains(f.Message, want) || f.NoEffect {
				t.Errorf("got %+v", f)
			}
		})
	}
}
